//! Queues, limits, schedules and reports.

use std::collections::BTreeMap;

use super::{Place, job, queue_name, run, submit, worker};
use crate::{
    JobKind, JobQueue, Limit, LimitScope, Millis, NewJob, Refusal, Schedule, ScheduleName, Settlement, Wait,
};

pub(super) fn unknown_queues_are_refused_by_name(place: &dyn Place) {
    let queue = place.open();
    let night = queue_name("night");
    queue.add_queue(&queue_name("day")).unwrap();
    let message = "there is no queue night; the queues are default, day";
    let errors = [
        queue.submit(&NewJob { queue: night.clone(), ..NewJob::of(run("a")) }).unwrap_err(),
        queue.pause(&night).unwrap_err(),
        queue.resume(&night).unwrap_err(),
        queue.remove_queue(&night).unwrap_err(),
        queue.set_limit(&LimitScope::Queue(night.clone()), Limit::default()).unwrap_err(),
        queue.put_schedule(&schedule(&*queue, "s", "night")).unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.to_string(), message);
    }
    assert_eq!(queue.job(&run("a")).unwrap(), None);
}

pub(super) fn a_queue_is_removed_when_nothing_uses_it(place: &dyn Place) {
    let queue = place.open();
    let night = queue_name("night");
    queue.add_queue(&night).unwrap();
    queue.submit(&NewJob { queue: night.clone(), ..NewJob::of(run("a")) }).unwrap();
    let refused = queue.remove_queue(&night).unwrap_err();
    assert_eq!(refused.refusal(), Some(&Refusal::QueueInUse { queue: night.clone(), jobs: 1, schedules: 0 }));
    queue.cancel(&run("a")).unwrap();
    queue.remove_queue(&night).unwrap();
    assert!(queue.pause(&night).is_err());
    let default = queue.remove_queue(&queue_name("default")).unwrap_err();
    assert_eq!(default.refusal(), Some(&Refusal::DefaultQueue));
}

pub(super) fn unreasonable_limits_are_refused(place: &dyn Place) {
    let queue = place.open();
    let scope = LimitScope::Queue(queue_name("default"));
    let spacing = |millis: u64| Limit { concurrency: None, spacing: Some(Millis::new(millis)) };
    for bad in [Limit { concurrency: Some(0), spacing: None }, spacing(0), spacing(86_400_001)] {
        let refused = queue.set_limit(&scope, bad).unwrap_err();
        assert!(matches!(refused.refusal(), Some(Refusal::OutOfRange { .. })));
    }
    queue.set_limit(&scope, spacing(86_400_000)).unwrap();
    queue.set_limit(&scope, spacing(1)).unwrap();
}

pub(super) fn queues_report_their_jobs(place: &dyn Place) {
    let queue = place.open();
    for name in ["a", "b", "c"] {
        submit(&*queue, name);
    }
    let submitted = job(&*queue, "a").submitted_at;
    let worker = worker(&*queue, "w");
    let claim = worker.claim_one();
    worker.settle(&claim, Settlement::Parked(Wait::Person("x".to_owned())));
    worker.claim_one();
    let reports = queue.queues().unwrap();
    let [report] = reports.as_slice() else { panic!("one queue, found {reports:?}") };
    let expected = BTreeMap::from([(JobKind::Ready, 1), (JobKind::Claimed, 1), (JobKind::Parked, 1)]);
    assert_eq!(report.jobs, expected);
    assert!(report.ready_since.unwrap() >= submitted);
}

fn schedule(queue: &dyn JobQueue, name: &str, of: &str) -> Schedule {
    Schedule {
        name: ScheduleName::new(name).unwrap(),
        cron: "@hourly".to_owned(),
        zone: "UTC".to_owned(),
        queue: queue_name(of),
        payload: r#"{"skill":"x"}"#.to_owned(),
        next_at: Some(queue.now().unwrap().plus(Millis::seconds(60))),
        last_at: None,
        paused_at: None,
        note: None,
        failures: 0,
        retry_at: None,
    }
}

pub(super) fn a_schedule_fires_once_for_each_time(place: &dyn Place) {
    let queue = place.open();
    let nightly = schedule(&*queue, "nightly", "default");
    queue.put_schedule(&nightly).unwrap();
    assert!(queue.due_schedules().unwrap().is_empty());
    place.pass(Millis::seconds(60));
    let due = queue.due_schedules().unwrap();
    assert_eq!(due, std::slice::from_ref(&nightly));
    let (name, at) = (&nightly.name, nightly.next_at.unwrap());
    queue.fired(name, at, Some(at), Err("no such skill")).unwrap();
    assert_eq!(queue.schedules().unwrap()[0].note.as_deref(), Some("no such skill"));
    // A submission that fails is tried again after a wait that doubles, for the same time.
    for wait in [1, 2, 4] {
        assert!(queue.due_schedules().unwrap().is_empty(), "not before {wait} s");
        place.pass(Millis::seconds(wait));
        assert_eq!(queue.due_schedules().unwrap()[0].next_at, Some(at));
        queue.fired(name, at, Some(at), Err("no such skill")).unwrap();
    }
    let next = at.plus(Millis::seconds(3600));
    // Times were missed: the run is that of the last one.
    let submitted = at.plus(Millis::seconds(60));
    queue.fired(name, at, Some(next), Ok(submitted)).unwrap();
    // Another worker that fired the same time, only later.
    queue.fired(name, at, Some(at.plus(Millis::seconds(1))), Ok(at)).unwrap();
    let stored = queue.schedules().unwrap();
    assert_eq!(
        (stored[0].next_at, stored[0].last_at, stored[0].note.as_deref()),
        (Some(next), Some(submitted), None)
    );
    assert!(queue.due_schedules().unwrap().is_empty());
    queue.remove_schedule(name).unwrap();
    assert!(matches!(queue.remove_schedule(name).unwrap_err().refusal(), Some(Refusal::NoSuchSchedule(_))));
}

pub(super) fn everything_is_there_when_the_queue_is_opened_again(place: &dyn Place) {
    let queue = place.open();
    queue.add_queue(&queue_name("night")).unwrap();
    queue.pause(&queue_name("night")).unwrap();
    queue
        .set_limit(&LimitScope::Queue(queue_name("night")), Limit { concurrency: Some(3), spacing: None })
        .unwrap();
    queue.put_schedule(&schedule(&*queue, "nightly", "night")).unwrap();
    for name in ["a", "b", "c"] {
        submit(&*queue, name);
    }
    let claim = worker(&*queue, "w").claim_one();
    let all = crate::JobFilter { limit: 100, ..crate::JobFilter::default() };
    let before = (queue.jobs(&all).unwrap(), queue.queues().unwrap(), queue.workers().unwrap());
    let schedules = queue.schedules().unwrap();
    drop(queue);
    let queue = place.open();
    assert_eq!((queue.jobs(&all).unwrap(), queue.queues().unwrap(), queue.workers().unwrap()), before);
    assert_eq!(queue.schedules().unwrap(), schedules);
    let job = queue.settle(&claim.run, claim.token, &Settlement::Released).unwrap();
    assert_eq!(job.state.word(), "ready");
}
