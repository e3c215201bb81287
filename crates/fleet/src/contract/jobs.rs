//! The life of a job.

use std::collections::BTreeSet;

use super::{Place, job, run, submit, word, worker};
use crate::{
    BACKOFF_FIRST, CancelReply, FAILURES_MAX, JobQueue, LOOK_MIN, Millis, NewJob, Refusal, Settlement,
    SubmitReply, Wait, WakeReply,
};

fn person() -> Settlement {
    Settlement::Parked(Wait::Person("review".to_owned()))
}

fn failed() -> Settlement {
    Settlement::Failed { reason: "the model does not answer".to_owned() }
}

pub(super) fn a_run_is_queued_once(place: &dyn Place) {
    let queue = place.open();
    let new = NewJob { priority: 3, ..NewJob::of(run("a")) };
    assert!(matches!(queue.submit(&new).unwrap(), SubmitReply::Queued(job) if job.priority == 3));
    let again = queue.submit(&NewJob::of(run("a"))).unwrap();
    assert!(
        matches!(again, SubmitReply::AlreadyQueued(job) if job.priority == 3),
        "the first submission holds"
    );
    let worker = worker(&*queue, "w");
    assert_eq!(worker.runs(10), ["a"]);
    assert!(matches!(queue.submit(&new).unwrap(), SubmitReply::AlreadyQueued(_)));
}

pub(super) fn a_settled_run_is_queued_afresh_unless_it_ended(place: &dyn Place) {
    let queue = place.open();
    submit(&*queue, "a");
    submit(&*queue, "b");
    queue.cancel(&run("a")).unwrap();
    assert!(matches!(queue.submit(&NewJob::of(run("a"))).unwrap(), SubmitReply::QueuedAgain(_)));
    let worker = worker(&*queue, "w");
    let claims = worker.claim(2);
    assert_eq!(
        claims.iter().map(|claim| claim.run.as_str()).collect::<Vec<_>>(),
        ["b", "a"],
        "a is the younger now"
    );
    worker.end(&claims[0]);
    assert!(matches!(queue.submit(&NewJob::of(run("b"))).unwrap(), SubmitReply::AlreadyEnded(_)));
}

pub(super) fn a_parked_run_waits_until_it_is_woken(place: &dyn Place) {
    let queue = place.open();
    submit(&*queue, "a");
    let worker = worker(&*queue, "w");
    let claim = worker.claim_one();
    worker.settle(&claim, person());
    assert!(worker.claim(1).is_empty());
    assert_eq!(queue.wake(&run("a")).unwrap(), WakeReply::Woken);
    assert_eq!(queue.wake(&run("a")).unwrap(), WakeReply::Nothing);
    assert_eq!(queue.wake(&run("nobody")).unwrap(), WakeReply::Nothing);
    assert_eq!(worker.runs(1), ["a"]);
}

pub(super) fn a_wake_during_a_drive_is_not_lost(place: &dyn Place) {
    let queue = place.open();
    submit(&*queue, "a");
    let worker = worker(&*queue, "w");
    let claim = worker.claim_one();
    assert_eq!(queue.wake(&run("a")).unwrap(), WakeReply::Noted);
    assert_eq!(worker.settle(&claim, person()).state.word(), "ready");
    let claim = worker.claim_one();
    assert_eq!(worker.settle(&claim, person()).state.word(), "parked", "one wake is one more drive");
}

pub(super) fn a_parked_run_is_looked_at_now_and_then(place: &dyn Place) {
    let queue = place.open();
    submit(&*queue, "a");
    let worker = worker(&*queue, "w");
    let claim = worker.claim_one();
    worker.settle(&claim, person());
    place.pass(LOOK_MIN);
    worker.beat(&[]);
    let claim = worker.claim_one();
    worker.settle(&claim, person());
    let (first, second) = (job(&*queue, "a").waiting_since.unwrap(), queue.now().unwrap());
    assert!(second.since(first) >= LOOK_MIN, "the wait began with the first time");
    assert!(worker.claim(1).is_empty());
}

pub(super) fn a_timer_is_due_at_its_time(place: &dyn Place) {
    let queue = place.open();
    submit(&*queue, "a");
    let worker = worker(&*queue, "w");
    let claim = worker.claim_one();
    let at = queue.now().unwrap().plus(Millis::seconds(3));
    worker.settle(&claim, Settlement::Parked(Wait::Until(at)));
    assert!(worker.claim(1).is_empty());
    place.pass(Millis::seconds(3));
    assert_eq!(worker.runs(1), ["a"]);
}

fn children() -> BTreeSet<hence_store::RunId> {
    [run("b"), run("c")].into()
}

pub(super) fn a_parent_is_ready_when_its_last_child_is_over(place: &dyn Place) {
    let queue = place.open();
    submit(&*queue, "a");
    let worker = worker(&*queue, "w");
    let parent = worker.claim_one();
    submit(&*queue, "b");
    submit(&*queue, "c");
    worker.settle(&parent, Settlement::Parked(Wait::Children(children())));
    let claims = worker.claim(3);
    assert_eq!(claims.len(), 2);
    worker.end(&claims[0]);
    assert_eq!(word(&*queue, "a"), "parked");
    worker.settle(&claims[1], Settlement::Hopeless { reason: "no".to_owned() });
    assert_eq!(worker.runs(3), ["a"]);
}

pub(super) fn a_child_that_ends_before_its_parent_parks_is_noticed(place: &dyn Place) {
    let queue = place.open();
    submit(&*queue, "a");
    let worker = worker(&*queue, "w");
    let parent = worker.claim_one();
    submit(&*queue, "b");
    submit(&*queue, "c");
    for claim in worker.claim(2) {
        worker.end(&claim);
    }
    let parent = worker.settle(&parent, Settlement::Parked(Wait::Children(children())));
    assert_eq!(parent.state.word(), "ready");
    // Once it has seen that they are over and still waits, it is not driven in a circle.
    place.pass(Millis::new(5));
    let parent = worker.claim_one();
    assert_eq!(worker.settle(&parent, Settlement::Parked(Wait::Children(children()))).state.word(), "parked");
}

pub(super) fn cancelling_a_parent_cancels_what_it_waits_for(place: &dyn Place) {
    let queue = place.open();
    submit(&*queue, "a");
    let worker = worker(&*queue, "w");
    let parent = worker.claim_one();
    submit(&*queue, "b");
    submit(&*queue, "c");
    worker.settle(&parent, Settlement::Parked(Wait::Children(children())));
    let child = worker.claim_one();
    queue.cancel(&run("a")).unwrap();
    assert_eq!(word(&*queue, "a"), "cancelled");
    // One is driven, and is asked to stop; the other is not driven at all.
    let asked = queue.job(&child.run).unwrap().unwrap();
    assert!(asked.cancel_wanted);
    let other = if child.run == run("b") { "c" } else { "b" };
    assert_eq!(word(&*queue, other), "cancelled");
    assert_eq!(worker.settle(&child, Settlement::Released).state.word(), "cancelled");
    // A parent that is cancelled while it is driven cancels what it comes to wait for.
    for name in ["a", "b", "c"] {
        submit(&*queue, name);
    }
    let parent = worker.claim_one();
    queue.cancel(&run("a")).unwrap();
    worker.settle(&parent, Settlement::Parked(Wait::Children(children())));
    for name in ["a", "b", "c"] {
        assert_eq!(word(&*queue, name), "cancelled", "{name}");
    }
}

pub(super) fn a_failed_drive_is_tried_again_later_and_later_until_it_is_dead(place: &dyn Place) {
    let queue = place.open();
    submit(&*queue, "a");
    let worker = worker(&*queue, "w");
    let mut wait = BACKOFF_FIRST;
    for failure in 1..=FAILURES_MAX {
        let claim = worker.claim_one();
        let job = worker.settle(&claim, failed());
        assert_eq!(job.failures, failure);
        if failure < FAILURES_MAX {
            assert!(worker.claim(1).is_empty(), "after failure {failure} it waits");
            place.pass(wait);
            wait = Millis::new(wait.get() * 2);
            worker.beat(&[]);
        }
    }
    assert_eq!(word(&*queue, "a"), "dead");
    assert_eq!(job(&*queue, "a").note.unwrap(), "the model does not answer");
    assert!(worker.claim(1).is_empty());
}

pub(super) fn a_hopeless_run_is_dead_at_once(place: &dyn Place) {
    let queue = place.open();
    submit(&*queue, "a");
    let worker = worker(&*queue, "w");
    let claim = worker.claim_one();
    worker.settle(&claim, Settlement::Hopeless { reason: "the journal is damaged".to_owned() });
    assert_eq!(word(&*queue, "a"), "dead");
    queue.submit(&NewJob::of(run("a"))).unwrap();
    assert_eq!(job(&*queue, "a").note, None, "a new submission starts afresh");
}

pub(super) fn a_busy_run_is_tried_again_without_counting(place: &dyn Place) {
    let queue = place.open();
    submit(&*queue, "a");
    let worker = worker(&*queue, "w");
    for _ in 0..2 * FAILURES_MAX {
        let claim = worker.claim_one();
        let job = worker.settle(&claim, Settlement::Busy { holder: "process 7".to_owned() });
        assert_eq!((job.state.word(), job.failures, job.crashes), ("ready", 0, 0));
        assert!(worker.claim(1).is_empty());
        place.pass(Millis::seconds(30));
        worker.beat(&[]);
    }
}

pub(super) fn a_run_that_a_worker_declined_goes_to_another(place: &dyn Place) {
    let queue = place.open();
    submit(&*queue, "a");
    let (one, two) = (worker(&*queue, "one"), worker(&*queue, "two"));
    let claim = one.claim_one();
    one.settle(&claim, Settlement::Declined { reason: "no capability mail.send".to_owned() });
    assert!(one.claim(1).is_empty());
    let declined = job(&*queue, "a").declined;
    assert_eq!(declined[&one.id.instance].reason, "no capability mail.send");
    assert_eq!(two.runs(1), ["a"]);
}

pub(super) fn cancelling_a_waiting_job_ends_it(place: &dyn Place) {
    let queue = place.open();
    submit(&*queue, "a");
    submit(&*queue, "b");
    let worker = worker(&*queue, "w");
    let claim = worker.claim_one();
    worker.settle(&claim, person());
    for name in ["a", "b"] {
        assert!(matches!(queue.cancel(&run(name)).unwrap(), CancelReply::Cancelled(_)));
        assert!(matches!(queue.cancel(&run(name)).unwrap(), CancelReply::Settled(_)));
    }
    assert!(worker.claim(2).is_empty());
    let unknown = queue.cancel(&run("nobody")).unwrap_err();
    assert_eq!(unknown.refusal(), Some(&Refusal::NoSuchJob(run("nobody"))));
}

pub(super) fn cancelling_a_claimed_job_asks_its_worker(place: &dyn Place) {
    let queue: Box<dyn JobQueue> = place.open();
    submit(&*queue, "a");
    submit(&*queue, "b");
    let worker = worker(&*queue, "w");
    let claims = worker.claim(2);
    for claim in &claims {
        assert!(matches!(queue.cancel(&claim.run).unwrap(), CancelReply::Asked(_)));
    }
    let told = worker.beat(&claims.iter().collect::<Vec<_>>());
    assert_eq!(told.cancelled, claims.iter().map(|claim| claim.token).collect());
    assert_eq!(worker.settle(&claims[0], Settlement::Released).state.word(), "cancelled");
    worker.end(&claims[1]);
    assert_eq!(word(&*queue, "b"), "ended", "a run that ended in spite of it has ended");
}
