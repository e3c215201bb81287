//! The order and the limits of claims.

use std::collections::BTreeSet;
use std::sync::Mutex;

use super::{Place, new_worker, queue_name, run, submit, worker, worker_of};
use crate::{
    CapabilityName, GroupName, JobFilter, JobKind, Limit, LimitScope, Millis, NewJob, Refusal, Settlement,
};

fn concurrency(most: u32) -> Limit {
    Limit { concurrency: Some(most), spacing: None }
}

pub(super) fn the_highest_priority_comes_first_then_the_oldest(place: &dyn Place) {
    let queue = place.open();
    queue.add_queue(&queue_name("night")).unwrap();
    for (name, priority, of) in [
        ("low", -5, "default"),
        ("a", 0, "default"),
        ("b", 0, "night"),
        ("high", 9, "night"),
        ("c", 0, "default"),
    ] {
        queue.submit(&NewJob { priority, queue: queue_name(of), ..NewJob::of(run(name)) }).unwrap();
    }
    let worker = worker(&*queue, "w");
    let mut order = worker.runs(2);
    order.extend(worker.runs(10));
    assert_eq!(order, ["high", "a", "b", "c", "low"]);
}

pub(super) fn a_job_is_not_claimed_before_its_time(place: &dyn Place) {
    let queue = place.open();
    let at = queue.now().unwrap().plus(Millis::seconds(5));
    queue.submit(&NewJob { not_before: Some(at), priority: 9, ..NewJob::of(run("later")) }).unwrap();
    submit(&*queue, "now");
    let worker = worker(&*queue, "w");
    assert_eq!(worker.runs(10), ["now"]);
    place.pass(Millis::seconds(5));
    assert_eq!(worker.runs(10), ["later"]);
}

pub(super) fn a_worker_claims_only_from_its_queues(place: &dyn Place) {
    let queue = place.open();
    queue.add_queue(&queue_name("night")).unwrap();
    queue.submit(&NewJob { queue: queue_name("night"), ..NewJob::of(run("n")) }).unwrap();
    submit(&*queue, "d");
    let night = worker_of(&*queue, new_worker("night", &["night"], 10));
    assert_eq!(night.runs(10), ["n"]);
    let all = worker(&*queue, "all");
    assert_eq!(all.runs(10), ["d"]);
}

pub(super) fn a_paused_queue_keeps_its_jobs(place: &dyn Place) {
    let queue = place.open();
    submit(&*queue, "a");
    let (worker, default) = (worker(&*queue, "w"), queue_name("default"));
    queue.pause(&default).unwrap();
    queue.pause(&default).unwrap();
    assert!(worker.claim(1).is_empty());
    queue.resume(&default).unwrap();
    assert_eq!(worker.runs(1), ["a"]);
}

pub(super) fn a_queue_obeys_its_concurrency(place: &dyn Place) {
    let queue = place.open();
    let default = LimitScope::Queue(queue_name("default"));
    queue.set_limit(&default, concurrency(2)).unwrap();
    for name in ["a", "b", "c"] {
        submit(&*queue, name);
    }
    let (one, two) = (worker(&*queue, "one"), worker(&*queue, "two"));
    let claim = one.claim_one();
    assert_eq!(two.runs(10), ["b"]);
    assert!(one.claim(10).is_empty());
    one.settle(&claim, Settlement::Parked(crate::Wait::Person("x".to_owned())));
    assert_eq!(two.runs(10), ["c"], "a parked run counts for nothing");
    queue.set_limit(&default, Limit::default()).unwrap();
    submit(&*queue, "d");
    assert_eq!(one.runs(10), ["d"]);
}

pub(super) fn each_group_obeys_its_own_concurrency(place: &dyn Place) {
    let queue = place.open();
    queue.set_limit(&LimitScope::GroupsOf(queue_name("default")), concurrency(1)).unwrap();
    for (name, group) in [("a1", Some("a")), ("a2", Some("a")), ("b1", Some("b")), ("x1", None), ("x2", None)]
    {
        let group = group.map(|group| GroupName::new(group).unwrap());
        queue.submit(&NewJob { group, ..NewJob::of(run(name)) }).unwrap();
    }
    let worker = worker(&*queue, "w");
    let claims = worker.claim(10);
    assert_eq!(claims.iter().map(|claim| claim.run.as_str()).collect::<Vec<_>>(), ["a1", "b1", "x1", "x2"]);
    worker.end(&claims[0]);
    assert_eq!(worker.runs(10), ["a2"]);
}

pub(super) fn a_capability_obeys_its_concurrency(place: &dyn Place) {
    let queue = place.open();
    let mail = CapabilityName::new("mail.send").unwrap();
    queue.set_limit(&LimitScope::Capability(mail.clone()), concurrency(1)).unwrap();
    for (name, mails) in [("a", true), ("b", true), ("c", false)] {
        let capabilities: BTreeSet<CapabilityName> = mails.then(|| mail.clone()).into_iter().collect();
        queue.submit(&NewJob { capabilities, ..NewJob::of(run(name)) }).unwrap();
    }
    let worker = worker(&*queue, "w");
    assert_eq!(worker.runs(10), ["a", "c"]);
    assert_eq!(queue.capability_limits().unwrap(), [(mail, concurrency(1))]);
}

pub(super) fn starts_of_a_queue_are_spaced(place: &dyn Place) {
    let queue = place.open();
    let limit = Limit { concurrency: None, spacing: Some(Millis::seconds(2)) };
    queue.set_limit(&LimitScope::Queue(queue_name("default")), limit).unwrap();
    for name in ["a", "b", "c"] {
        submit(&*queue, name);
    }
    let worker = worker(&*queue, "w");
    assert_eq!(worker.runs(10), ["a"]);
    assert!(worker.claim(10).is_empty());
    place.pass(Millis::seconds(2));
    assert_eq!(worker.runs(10), ["b"]);
    assert!(worker.claim(10).is_empty());
}

pub(super) fn of_many_that_claim_each_job_goes_to_one(place: &dyn Place) {
    let queue = place.open();
    let names: BTreeSet<String> = (0..60).map(|number| format!("run-{number:02}")).collect();
    for name in &names {
        submit(&*queue, name);
    }
    let claimed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for number in 0..4 {
            let claimed = &claimed;
            scope.spawn(move || {
                let queue = place.open();
                let worker = worker(&*queue, &format!("w{number}"));
                loop {
                    let runs = worker.runs(3);
                    if runs.is_empty() {
                        break;
                    }
                    claimed.lock().unwrap().extend(runs);
                }
            });
        }
    });
    let claimed = claimed.into_inner().unwrap();
    assert_eq!(claimed.len(), names.len());
    assert_eq!(claimed.into_iter().collect::<BTreeSet<String>>(), names);
}

pub(super) fn a_settled_claim_cannot_be_settled_again(place: &dyn Place) {
    let queue = place.open();
    submit(&*queue, "a");
    let worker = worker(&*queue, "w");
    let first = worker.claim_one();
    worker.settle(&first, Settlement::Released);
    let again = queue.settle(&first.run, first.token, &Settlement::Released).unwrap_err();
    assert_eq!(again.refusal(), Some(&Refusal::ClaimLost(run("a"))));
    let second = worker.claim_one();
    assert!(second.token > first.token);
    assert!(queue.settle(&first.run, first.token, &Settlement::Released).is_err(), "the old token stays old");
    worker.end(&second);
}

pub(super) fn jobs_are_listed_in_pages(place: &dyn Place) {
    let queue = place.open();
    for name in ["a", "b", "c", "d"] {
        submit(&*queue, name);
    }
    queue.cancel(&run("b")).unwrap();
    let ready = JobFilter { kinds: [JobKind::Ready].into(), limit: 2, ..JobFilter::default() };
    let names = |filter: &JobFilter| -> Vec<String> {
        queue.jobs(filter).unwrap().iter().map(|job| job.run.to_string()).collect()
    };
    assert_eq!(names(&ready), ["a", "c"]);
    assert_eq!(names(&JobFilter { after: Some(run("c")), ..ready.clone() }), ["d"]);
    let night = JobFilter { queue: Some(queue_name("night")), ..ready };
    assert_eq!(names(&night), Vec::<String>::new());
}
