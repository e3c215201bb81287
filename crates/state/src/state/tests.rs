use hence_canon::{Value, parse};
use proptest::prelude::*;

use super::*;
use crate::{Clock, Outcome, StepResult};

fn problem() -> Arc<ProblemSpec> {
    let json = br#"{"version":"1.0.0","id":"r","created_at":"2026-02-02T00:00:00Z",
                    "inputs":{"prompt":"x","constraints":["c"]}}"#;
    Arc::new(ProblemSpec::decode(&parse(json).unwrap(), &Profile::STRICT).unwrap())
}

fn clock() -> Clock {
    Clock::ticking(Timestamp::parse("2026-02-02T00:00:00Z").unwrap())
}

fn pending(profile: Profile) -> ReasoningState {
    ReasoningState::Pending(State::new(problem(), "run", clock().at(0).unwrap(), profile))
}

fn result(step: &str, mutation: u64, outcome: Outcome) -> StepResult {
    let at = |mutation| clock().at(mutation).unwrap();
    StepResult::new(step, &Value::Null, at(mutation - 1), at(mutation), outcome)
}

fn success(output: &str) -> Outcome {
    Outcome::Success(parse(output.as_bytes()).unwrap().into())
}

#[test]
fn the_first_output_stays_and_later_ones_are_listed() {
    let mut state = pending(Profile::STRICT);
    for (mutation, output) in [(1, "{\"n\":1}"), (2, "{\"n\":2}"), (3, "{\"n\":3}")] {
        state = state.apply("verification", &result("Verify", mutation, success(output))).unwrap();
    }
    assert_eq!(state.artifacts().first("verification").unwrap().text(), "{\"n\":1}");
    assert_eq!(state.artifacts().newest("verification").unwrap().text(), "{\"n\":3}");
    assert_eq!(state.artifacts().all("verification").count(), 3);
    let iterations: hence_canon::JsonPointer = "/artifacts/iterations/1".parse().unwrap();
    assert_eq!(
        state.canonical().value().pointer(&iterations).unwrap().to_string(),
        r#"{"key":"verification","output":{"n":3},"step":"Verify","step_index":2}"#
    );
}

#[test]
fn the_compat_profile_overwrites_and_stands_still() {
    let mut state = pending(Profile::COMPAT);
    for output in ["1", "2"] {
        let at = clock().at(0).unwrap();
        let result = StepResult::new("Verify", &Value::Null, at.clone(), at, success(output));
        state = state.apply("verification", &result).unwrap();
    }
    assert_eq!(state.canonical().value().get("artifacts").unwrap().to_string(), r#"{"verification":2}"#);
}

#[test]
fn a_failed_step_ends_the_run_and_counts_in_the_strict_profile() {
    let failed = || result("Verify", 1, Outcome::Failed(vec![StepError::new("code", "message")]));
    let strict = pending(Profile::STRICT).apply("verification", &failed()).unwrap();
    assert_eq!((strict.status(), strict.step_index().get(), strict.errors().len()), (Status::Failed, 1, 1));
    let compat = pending(Profile::COMPAT).apply("verification", &failed()).unwrap();
    assert_eq!(compat.step_index().get(), 0);
    let (after, error) = strict.apply("x", &result("X", 2, success("1"))).unwrap_err();
    assert_eq!((after.status(), error), (Status::Failed, None));
}

#[test]
fn a_blocked_step_counts_and_the_run_stands_where_policies_are_pinned() {
    let blocked = || result("Verify", 1, Outcome::Failed(vec![StepError::new("policy_violation", "no")]));
    let pinned = format!(
        r#"{{"version":"1.0.0","id":"r","created_at":"2026-02-02T00:00:00Z","inputs":{{"prompt":"x"}},
            "settings":{{"policies":{{"sha256":"{}"}}}}}}"#,
        "0".repeat(64)
    );
    let problem = ProblemSpec::decode(&parse(pinned.as_bytes()).unwrap(), &Profile::STRICT).unwrap();
    let state = State::new(Arc::new(problem), "run", clock().at(0).unwrap(), Profile::STRICT);
    let stands = ReasoningState::Pending(state).apply("verification", &blocked()).unwrap();
    assert_eq!((stands.status(), stands.step_index().get(), stands.errors().len()), (Status::Running, 1, 1));
    let goes_on = stands.apply("verification", &result("Verify", 2, success("{}"))).unwrap();
    assert_eq!(
        (goes_on.status(), goes_on.step_index().get(), goes_on.errors().len()),
        (Status::Running, 2, 1)
    );
    // Without policies nothing can have blocked the step.
    let failed = pending(Profile::STRICT).apply("verification", &blocked()).unwrap();
    assert_eq!(failed.status(), Status::Failed);
}

#[test]
fn a_refused_result_leaves_the_state_as_it_was() {
    let before = pending(Profile::STRICT);
    let bytes = before.canonical();
    let stale =
        StepResult::new("X", &Value::Null, clock().at(0).unwrap(), clock().at(0).unwrap(), success("1"));
    let (state, error) = before.apply("x", &stale).unwrap_err();
    assert!(matches!(error, Some(ApplyError::TimeNotAdvanced { .. })));
    assert_eq!((state.status(), state.canonical()), (Status::Pending, bytes.clone()));

    let reversed =
        StepResult::new("X", &Value::Null, clock().at(2).unwrap(), clock().at(1).unwrap(), success("1"));
    let (state, error) = state.apply("x", &reversed).unwrap_err();
    assert!(matches!(error, Some(ApplyError::TimeReversed { .. })));

    let (state, error) = state.apply("x", &result("X", 1, Outcome::Failed(vec![]))).unwrap_err();
    assert!(matches!(error, Some(ApplyError::NoErrors { .. })));

    let (state, error) = state.apply("iterations", &result("X", 1, success("1"))).unwrap_err();
    assert!(matches!(error, Some(ApplyError::ReservedKey { .. })));

    let good = result("X", 1, success("1"));
    let lying = StepResult::restore(
        "1.0.0",
        "X",
        good.input_hash(),
        Digest::of(b"other"),
        good.started_at().clone(),
        good.finished_at().clone(),
        good.outcome().clone(),
        hence_canon::Object::new(),
    );
    let (state, error) = state.apply("x", &lying).unwrap_err();
    assert!(matches!(error, Some(ApplyError::OutputHash { .. })));
    assert_eq!(state.canonical(), bytes);
}

proptest! {
    #[test]
    fn the_digest_is_that_of_the_canonical_bytes_after_every_step(
        steps in proptest::collection::vec(("[a-z]{1,2}|iter|iterations2|j", 0..200usize, any::<bool>()), 1..30),
        overwrite: bool,
    ) {
        let mut profile = Profile::STRICT;
        if overwrite {
            profile.artifacts = crate::ArtifactRule::Overwrite;
        }
        let mut state = pending(profile);
        let mut unasked = pending(profile);
        prop_assert_eq!(state.digest(), state.canonical().digest());
        for (mutation, (key, size, skip)) in steps.into_iter().enumerate() {
            let outcome = if skip { Outcome::Skipped } else { success(&format!("[\"{}\"]", "x".repeat(size))) };
            let result = result("S", mutation as u64 + 1, outcome);
            state = state.apply(&key, &result).unwrap();
            unasked = unasked.apply(&key, &result).unwrap();
            prop_assert_eq!(state.digest(), state.canonical().digest());
            prop_assert_eq!(unasked.canonical(), state.canonical());
            prop_assert_eq!(state.step_index().get(), mutation as u64 + 1);
        }
        prop_assert_eq!(unasked.digest(), state.digest());
    }

    #[test]
    fn a_state_that_continues_without_its_outputs_has_the_hash_of_the_whole_one(
        outputs in proptest::collection::vec(0..200usize, 2..20), more in proptest::collection::vec(0..200usize, 1..5),
    ) {
        let mut whole = pending(Profile::STRICT);
        let mut mutation = 0;
        let mut next = |size: usize| {
            mutation += 1;
            result("S", mutation, success(&format!("[\"{}\"]", "x".repeat(size))))
        };
        for size in outputs {
            whole = whole.apply("vars", &next(size)).unwrap();
        }
        let cut = whole.cut().unwrap();
        let ReasoningState::Pending(fresh) = pending(Profile::STRICT) else {
            return Err(TestCaseError::fail("a new state is pending"));
        };
        let mut continued = ReasoningState::Running(fresh.continued(cut));
        prop_assert_eq!(continued.digest(), whole.digest());
        for size in more {
            let result = next(size);
            whole = whole.apply("vars", &result).unwrap();
            continued = continued.apply("vars", &result).unwrap();
            prop_assert_eq!(continued.digest(), whole.digest());
            prop_assert_eq!(continued.step_index(), whole.step_index());
        }
        prop_assert_eq!(continued.cut().unwrap().midstate.to_hex(), whole.cut().unwrap().midstate.to_hex());
    }
}
