//! Workers and the expiry of their claims.

use std::collections::BTreeSet;

use super::{LEASE, Place, TestWorker, job, new_worker, submit, word, worker, worker_of};
use crate::{CRASHES_MAX, ClaimRequest, JobQueue, Millis, NewWorker, Refusal, Settlement};

/// Lets more than a lease pass.
fn let_expire(place: &dyn Place) {
    place.pass(Millis::new(LEASE.get() + 1));
}

pub(super) fn a_heartbeat_keeps_claims_alive(place: &dyn Place) {
    let queue = place.open();
    submit(&*queue, "a");
    let (one, two) = (worker(&*queue, "one"), worker(&*queue, "two"));
    let claim = one.claim_one();
    for _ in 0..4 {
        place.pass(Millis::new(LEASE.get() / 2));
        assert_eq!(one.beat(&[&claim]), crate::Heartbeat::default());
        two.beat(&[]);
        assert!(two.claim(1).is_empty());
    }
    one.end(&claim);
}

pub(super) fn a_claim_that_is_not_renewed_goes_to_another_worker(place: &dyn Place) {
    let queue = place.open();
    submit(&*queue, "a");
    let (one, two) = (worker(&*queue, "one"), worker(&*queue, "two"));
    let lost = one.claim_one();
    let_expire(place);
    let claim = two.claim_one();
    assert_eq!(job(&*queue, "a").crashes, 1);
    let late = queue.settle(&lost.run, lost.token, &Settlement::Released).unwrap_err();
    assert!(matches!(late.refusal(), Some(Refusal::ClaimLost(_))));
    assert_eq!(one.beat(&[&lost]).lost, BTreeSet::from([lost.token]));
    two.end(&claim);
}

pub(super) fn a_run_that_kills_its_workers_is_quarantined(place: &dyn Place) {
    let queue = place.open();
    submit(&*queue, "poison");
    for crash in 1..=CRASHES_MAX {
        let worker = worker(&*queue, &format!("w{crash}"));
        worker.claim_one();
        let_expire(place);
    }
    let last = worker(&*queue, "last");
    assert!(last.claim(1).is_empty());
    assert_eq!(word(&*queue, "poison"), "quarantined");
    assert!(job(&*queue, "poison").note.unwrap().contains("worker w5 died"));
}

pub(super) fn a_run_whose_worker_died_is_driven_alone(place: &dyn Place) {
    let queue = place.open();
    submit(&*queue, "suspect");
    worker(&*queue, "dead").claim_one();
    let_expire(place);
    for name in ["b", "c", "d"] {
        submit(&*queue, name);
    }
    let (one, two) = (worker(&*queue, "one"), worker(&*queue, "two"));
    assert_eq!(one.runs(10), ["suspect"], "nothing else at the same time");
    assert!(one.claim(10).is_empty());
    let others = two.claim(10);
    assert_eq!(others.len(), 3);
    one.queue.unregister(&one.id).unwrap();
    assert!(two.claim(10).is_empty(), "it waits for a worker with nothing else to do");
    place.pass(Millis::new(crate::SUSPECT_PATIENCE.get() + 1));
    // The others are renewed in one go: they all were given by one request.
    let busy = worker(&*queue, "busy");
    let claimed = busy.claim(1);
    assert_eq!(claimed.len(), 1);
    assert_eq!(claimed[0].run.as_str(), "suspect");
}

pub(super) fn a_claim_whose_reply_was_lost_is_released_by_the_next_heartbeat(place: &dyn Place) {
    let queue = place.open();
    submit(&*queue, "a");
    submit(&*queue, "b");
    let worker = worker(&*queue, "w");
    let known = worker.claim_one();
    worker.claim_one();
    assert_eq!(worker.beat(&[&known]).lost, BTreeSet::new());
    let job = job(&*queue, "b");
    assert_eq!((job.state.word(), job.crashes), ("ready", 0));
    assert_eq!(word(&*queue, "a"), "claimed");
}

pub(super) fn a_late_request_is_refused(place: &dyn Place) {
    let queue = place.open();
    submit(&*queue, "a");
    let worker = worker(&*queue, "w");
    worker.beat(&[]);
    let late = queue.claim(&ClaimRequest { worker: worker.id.clone(), request: 1, max: 1 }).unwrap_err();
    assert!(matches!(late.refusal(), Some(Refusal::LateRequest { found: 1, seen: 1, .. })));
    assert_eq!(word(&*queue, "a"), "ready");
    assert_eq!(worker.runs(1), ["a"]);
}

pub(super) fn two_live_workers_never_have_one_name(place: &dyn Place) {
    let queue = place.open();
    let first = worker(&*queue, "w");
    let other = NewWorker { nonce: 99, ..new_worker("w", &[], 1) };
    let refused = queue.register(&other).unwrap_err();
    assert_eq!(refused.to_string(), "a worker named w is alive: the test worker w");
    let_expire(place);
    let second = worker_of(&*queue, other);
    assert!(second.id.instance > first.id.instance);
    let gone = queue.heartbeat(&first.id, 1, &BTreeSet::new()).unwrap_err();
    assert!(matches!(gone.refusal(), Some(Refusal::UnknownWorker(_))));
    second.beat(&[]);
}

pub(super) fn a_repeated_registration_is_the_same_one(place: &dyn Place) {
    let queue = place.open();
    let first = queue.register(&new_worker("w", &[], 1)).unwrap();
    assert_eq!(queue.register(&new_worker("w", &[], 1)).unwrap(), first);
}

pub(super) fn a_worker_that_ends_releases_its_claims(place: &dyn Place) {
    let queue = place.open();
    submit(&*queue, "a");
    let worker: TestWorker<'_> = worker(&*queue, "w");
    worker.claim_one();
    queue.unregister(&worker.id).unwrap();
    queue.unregister(&worker.id).unwrap();
    let job = job(&*queue, "a");
    assert_eq!((job.state.word(), job.crashes), ("ready", 0));
    assert!(queue.workers().unwrap().is_empty());
}

pub(super) fn a_worker_is_told_to_drain(place: &dyn Place) {
    let queue: Box<dyn JobQueue> = place.open();
    let worker = worker(&*queue, "w");
    assert!(!worker.beat(&[]).drain);
    queue.drain(&worker.id.name).unwrap();
    assert!(worker.beat(&[]).drain);
    let nobody = crate::WorkerName::new("nobody").unwrap();
    assert_eq!(queue.drain(&nobody).unwrap_err().refusal(), Some(&Refusal::NoSuchWorker(nobody)));
}

pub(super) fn a_restored_queue_knows_no_claims_and_no_workers(place: &dyn Place) {
    let queue = place.open();
    submit(&*queue, "a");
    let before = worker(&*queue, "w");
    let claim = before.claim_one();
    queue.restored().unwrap();
    let job = job(&*queue, "a");
    assert_eq!((job.state.word(), job.crashes), ("ready", 0));
    let gone = queue.heartbeat(&before.id, 9, &BTreeSet::from([claim.token])).unwrap_err();
    assert!(matches!(gone.refusal(), Some(Refusal::UnknownWorker(_))));
    let after = worker(&*queue, "w");
    assert!(
        after.id.instance > before.id.instance + 1000 && after.claim_one().token.0 > claim.token.0 + 1000
    );
}

pub(super) fn unreasonable_workers_are_refused(place: &dyn Place) {
    let queue = place.open();
    let good = new_worker("w", &[], 1);
    let leases = [999, 3_600_001].map(|lease| NewWorker { lease: Millis::new(lease), ..good.clone() });
    let sizes = [0, 1001].map(|concurrency| NewWorker { concurrency, ..good.clone() });
    for bad in leases.into_iter().chain(sizes) {
        let refused = queue.register(&bad).unwrap_err();
        assert!(matches!(refused.refusal(), Some(Refusal::OutOfRange { .. })), "{bad:?}");
    }
    let lost = queue.register(&new_worker("w", &["nigth"], 1)).unwrap_err();
    assert_eq!(lost.to_string(), "there is no queue nigth; the queues are default");
    let (least, most) = (Millis::seconds(1), Millis::seconds(3600));
    queue.register(&NewWorker { lease: least, concurrency: 1000, ..good.clone() }).unwrap();
    place.pass(Millis::seconds(2));
    queue.register(&NewWorker { lease: most, nonce: 8, ..good }).unwrap();
}
