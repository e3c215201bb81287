//! The time for which jobs wait for a worker, and jobs that nobody will drive.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

use hence_fleet::{
    CancelReply, ClaimRequest, Millis, NewJob, NewWorker, QueueState, Settlement, Time, Wait, WorkerId,
    WorkerName,
};
use hence_store::RunId;

fn run(text: &str) -> RunId {
    RunId::new(text).unwrap()
}

fn at(seconds: u64) -> Time {
    Time::from_millis(1_000_000).plus(Millis::seconds(seconds))
}

fn register(state: &mut QueueState, now: Time) -> WorkerId {
    let new = NewWorker {
        name: WorkerName::new("w").unwrap(),
        about: "a test".to_owned(),
        queues: Default::default(),
        concurrency: 4,
        lease: Millis::seconds(3600),
        nonce: 1,
    };
    state.register(&new, now).unwrap()
}

#[test]
fn a_job_does_not_wait_before_it_is_submitted() {
    let mut state = QueueState::new();
    let early = NewJob { not_before: Some(Time::from_millis(1)), ..NewJob::of(run("early")) };
    state.submit(&early, at(10)).unwrap();
    let later = NewJob { not_before: Some(at(60)), ..NewJob::of(run("later")) };
    state.submit(&later, at(10)).unwrap();
    assert_eq!(state.queues(at(15))[0].ready_since, Some(at(10)));
    let worker = register(&mut state, at(70));
    let claims = state.claim(&ClaimRequest { worker, request: 1, max: 4 }, at(70)).unwrap().claims;
    let lags: Vec<(&str, u64)> =
        claims.iter().map(|claim| (claim.run.as_str(), claim.lag.get() / 1000)).collect();
    assert_eq!(lags, [("early", 60), ("later", 10)]);
}

#[test]
fn a_run_that_waits_for_a_person_waits_for_no_worker() {
    let mut state = QueueState::new();
    for name in ["person", "timer"] {
        state.submit(&NewJob::of(run(name)), at(0)).unwrap();
    }
    let worker = register(&mut state, at(0));
    let request = ClaimRequest { worker: worker.clone(), request: 1, max: 4 };
    for claim in state.claim(&request, at(0)).unwrap().claims {
        let wait = match claim.run.as_str() {
            "person" => Wait::Person("step ask".to_owned()),
            _ => Wait::Until(at(100_000)),
        };
        state.settle(&claim.run, claim.token, &Settlement::Parked(wait), at(1)).unwrap();
    }
    // A worker would look at it by now, in case that a wake was lost.
    assert!(state.job(&run("person")).unwrap().due_at().unwrap() < at(90_000));
    assert_eq!(state.queues(at(90_000))[0].ready_since, None);
    assert_eq!(state.queues(at(100_001))[0].ready_since, Some(at(100_000)));
    let request = ClaimRequest { worker, request: 2, max: 4 };
    let claims = state.claim(&request, at(1000)).unwrap().claims;
    assert_eq!((claims[0].run.as_str(), claims[0].lag.get()), ("person", 0));
}

#[test]
fn a_dead_job_can_be_cancelled() {
    let mut state = QueueState::new();
    state.submit(&NewJob::of(run("r")), at(0)).unwrap();
    let worker = register(&mut state, at(0));
    let claim = state.claim(&ClaimRequest { worker, request: 1, max: 1 }, at(0)).unwrap().claims.remove(0);
    let reason = "no run r".to_owned();
    state.settle(&claim.run, claim.token, &Settlement::Hopeless { reason }, at(1)).unwrap();
    assert!(matches!(state.cancel(&run("r"), at(2)).unwrap(), CancelReply::Cancelled(_)));
    assert!(matches!(state.cancel(&run("r"), at(3)).unwrap(), CancelReply::Settled(_)));
    assert_eq!(state.job(&run("r")).unwrap().state.word(), "cancelled");
}
