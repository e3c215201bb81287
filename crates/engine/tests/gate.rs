//! Runs with policies: blocked steps are recorded, retried, amended, replayed and verified.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::num::NonZeroUsize;

use hence_canon::{Canonical, Object, Value, parse};
use hence_engine::{
    BookError, Engine, Evidence, FinalVerdict, Gate, GateError, Judgement, MemorySink, POLICIES_STEP, Reason,
    Request, ResumeError, Run, RunError, Sink, VERDICTS_STEP, observe_journal, without_defects,
};
use hence_journal::verify::{Completeness, Level};
use hence_journal::{Reader, Record, RecordIndex};
use hence_state::{POLICY_VIOLATION, Profile, Status, StepError, StepResult};

/// A gate that blocks the steps a document lists, remarks on others, and blocks completion if the document says so.
struct List {
    policies: Value,
    seen: u64,
}

impl List {
    fn names(&self, key: &str, step: &str) -> bool {
        let list = self.policies.get(key).and_then(Value::as_array).unwrap_or(&[]);
        list.iter().any(|name| name.as_str() == Some(step))
    }
}

fn list() -> Box<List> {
    Box::new(List { policies: Value::Null, seen: 0 })
}

impl Gate for List {
    fn set_policies(&mut self, _: RecordIndex, policies: &Value) -> Result<(), GateError> {
        if policies.get("bad").is_some() {
            return Err(GateError::Policies("bad".to_owned()));
        }
        self.policies = policies.clone();
        Ok(())
    }

    fn judge(&mut self, index: RecordIndex, result: &StepResult) -> Judgement {
        let mut judgement = Judgement::default();
        if self.names("block", result.step()) {
            let message = format!("record {index} after {} others", self.seen);
            judgement.blocks.push(StepError::new(POLICY_VIOLATION, message));
        }
        if self.names("warn", result.step()) {
            judgement.remarks.push("careful".into());
        }
        judgement
    }

    fn observe(&mut self, _: RecordIndex, _: &Record) {
        self.seen += 1;
    }

    fn final_verdict(&mut self) -> FinalVerdict {
        let blocks = match self.policies.get("end") {
            Some(_) => vec![StepError::new(POLICY_VIOLATION, "not yet")],
            None => Vec::new(),
        };
        FinalVerdict { blocks, verdicts: Object::from_iter([("seen", self.seen)]).into() }
    }
}

fn engine() -> Engine {
    Engine::new()
}

fn problem(policies: &Value) -> Value {
    let json = format!(
        r#"{{"version":"1.0.0","id":"r","created_at":"2026-02-02T00:00:00Z",
            "inputs":{{"prompt":"x","goals":["a"],"context":{{"evidence":[{{"id":"e"}}]}}}},
            "settings":{{"policies":{{"sha256":"{}"}},
                "loop":{{"enabled":true,"start_step":"Compute","end_step":"Verify","max_iterations":2,
                    "stop_condition":{{"path":"artifacts.verification.status","operator":"eq","value":"never"}}}}}}}}"#,
        Canonical::of(policies).digest()
    );
    // There is no loop: its limit would fail the run.
    let value = parse(json.as_bytes()).unwrap();
    let settings = value.get("settings").unwrap().as_object().unwrap().without("loop");
    value.as_object().unwrap().with("settings", settings).into()
}

fn policies(json: &str) -> Value {
    parse(json.as_bytes()).unwrap()
}

/// Starts a run with policies and runs it until it ends or is blocked.
fn start(engine: &Engine, policies: &Value, sink: &mut MemorySink) -> Result<(), RunError> {
    let plan = engine.plan(&Request::of_value(problem(policies), Profile::STRICT)).unwrap();
    let (run, header) = Run::start(Reason::new(plan))?;
    let mut run = run.with_gate(Some(list()));
    sink.append(&header).unwrap();
    run.install_policies(policies, sink)?;
    run.finish(sink, |_| {}).map(|_| ())
}

fn resume(
    engine: &Engine,
    policies: &Value,
    sink: &mut MemorySink,
    amended: Option<&Value>,
) -> Result<Status, RunError> {
    let plan = engine.plan(&Request::of_value(problem(policies), Profile::STRICT)).unwrap();
    let journal = sink.journal.clone();
    let run = Run::resume(Reason::new(plan), &journal, &sink.blobs).map_err(|error| match error {
        ResumeError::Run(error) => error,
        other => panic!("{other}"),
    })?;
    assert!(!run.has_ended());
    let mut gate = list();
    observe_journal(&mut *gate, &journal, &sink.blobs).unwrap();
    let mut run = run.with_gate(Some(gate));
    if let Some(amended) = amended {
        run.install_policies(amended, sink)?;
    }
    run.finish(sink, |_| {}).map(|finished| finished.state.status())
}

fn steps(journal: &[u8]) -> Vec<String> {
    let (_, reader) = Reader::open(journal).unwrap();
    reader
        .map(|chained| match chained.unwrap().record {
            Record::Step(step) => {
                format!("{} {}", step.result.step(), step.result.outcome().status().as_str())
            }
            _ => "control".to_owned(),
        })
        .collect()
}

fn holds(engine: &Engine, problem: &Value, sink: &MemorySink, completeness: Completeness) {
    let document = without_defects(problem.clone());
    let evidence = Evidence {
        problem: Some(&document),
        threads: NonZeroUsize::MIN,
        gate: Some(&|| Ok(list())),
        ..Evidence::of_journal(&sink.journal, &sink.blobs)
    };
    let report = engine.verify(&evidence, Level::Replay);
    assert!(report.holds(), "{report:?}");
    assert_eq!(report.completeness, Some(completeness));
}

#[test]
fn a_blocked_step_is_recorded_tried_again_and_amended() {
    let (engine, mut sink) = (engine(), MemorySink::default());
    let first = policies(r#"{"block":["Verify"],"warn":["Decompose"]}"#);
    let Err(RunError::Blocked(blocked)) = start(&engine, &first, &mut sink) else { panic!("not blocked") };
    assert_eq!(
        blocked.to_string(),
        "record 6: step Verify was executed, then blocked: record 6 after 4 others"
    );
    holds(&engine, &problem(&first), &sink, Completeness::Incomplete);

    // Nothing was fixed: the same step is blocked again, and the first blocked attempt stays in the journal.
    assert!(matches!(resume(&engine, &first, &mut sink, None), Err(RunError::Blocked(_))));
    holds(&engine, &problem(&first), &sink, Completeness::Incomplete);

    let second = policies(r#"{"end":true}"#);
    let Err(RunError::Blocked(blocked)) = resume(&engine, &first, &mut sink, Some(&second)) else {
        panic!("not blocked at the end")
    };
    assert_eq!(&*blocked.step, VERDICTS_STEP);
    assert_eq!(resume(&engine, &first, &mut sink, Some(&policies("{}"))).unwrap(), Status::Completed);
    assert_eq!(
        steps(&sink.journal),
        [
            "$policies success",
            "Normalize success",
            "Decompose success",
            "AcquireEvidence success",
            "Compute success",
            "Verify failed",
            "Verify failed",
            "$policies success",
            "Verify success",
            "Synthesize success",
            "Audit success",
            "$verdicts failed",
            "$policies success",
            "$verdicts success",
            "control",
        ]
    );
    holds(&engine, &problem(&first), &sink, Completeness::Complete);
    let text = String::from_utf8(sink.journal.clone()).unwrap();
    assert_eq!(text.matches(r#""policy":["careful"]"#).count(), 1);
    assert!(text.contains(r#""output":{"seen":7}"#), "{text}");
}

#[test]
fn every_cut_of_the_journal_is_taken_up_to_the_same_bytes() {
    let engine = engine();
    let only = policies(r#"{"warn":["Compute"]}"#);
    let mut whole = MemorySink::default();
    start(&engine, &only, &mut whole).unwrap();
    let lines: Vec<&[u8]> = whole.journal.split_inclusive(|byte| *byte == b'\n').collect();
    for kept in 2..lines.len() {
        let mut cut = MemorySink { journal: lines[..kept].concat(), blobs: whole.blobs.clone() };
        assert_eq!(resume(&engine, &only, &mut cut, None).unwrap(), Status::Completed);
        assert_eq!(cut.journal, whole.journal, "cut behind {kept} records");
    }
}

#[test]
fn policies_cannot_be_left_out_changed_or_ignored() {
    let only = policies(r#"{"block":["Audit"]}"#);
    let engine = engine();
    let plan = engine.plan(&Request::of_value(problem(&only), Profile::STRICT)).unwrap();
    let (mut run, header) = Run::start(Reason::new(plan)).unwrap();
    // There is no gate to enforce the policies.
    let mut sink = MemorySink::default();
    let error = run.install_policies(&only, &mut sink).unwrap_err();
    assert!(matches!(error, RunError::Book(BookError::Gate(GateError::Unguarded))), "{error}");
    // The installed policies are not the pinned ones.
    let mut run = run.with_gate(Some(list()));
    sink.append(&header).unwrap();
    let error = run.install_policies(&policies("{}"), &mut sink).unwrap_err();
    assert!(matches!(error, RunError::Book(BookError::Gate(GateError::OtherPolicies { .. }))), "{error}");
    // No policies are installed.
    assert!(run.finish(&mut sink, |_| {}).is_err());
    assert_eq!(steps(&sink.journal), [""; 0]);
    // An amendment although nothing is blocked.
    let plan = engine.plan(&Request::of_value(problem(&only), Profile::STRICT)).unwrap();
    let mut run = Run::start(Reason::new(plan)).unwrap().0.with_gate(Some(list()));
    run.install_policies(&only, &mut sink).unwrap();
    let error = run.install_policies(&policies("{}"), &mut sink).unwrap_err();
    assert!(error.to_string().contains("nothing is blocked"), "{error}");
}

#[test]
fn a_replay_without_a_gate_says_what_it_did_not_check() {
    let only = policies("{}");
    let mut sink = MemorySink::default();
    start(&engine(), &only, &mut sink).unwrap();
    let document = without_defects(problem(&only));
    let evidence = Evidence { problem: Some(&document), ..Evidence::of_journal(&sink.journal, &sink.blobs) };
    let report = Engine::new().verify(&evidence, Level::Replay);
    assert!(report.outcome(Level::Spec).unwrap().holds());
    assert!(matches!(report.outcome(Level::Replay), Some(hence_journal::verify::Outcome::NotChecked(_))));
}

#[test]
fn a_journal_that_says_otherwise_than_its_policies_does_not_replay() {
    let engine = engine();
    let only = policies(r#"{"block":["Verify"]}"#);
    let mut sink = MemorySink::default();
    start(&engine, &only, &mut sink).unwrap_err();
    // The same run with a gate that blocks nothing: a forger records the step as if it had not been blocked.
    let lenient = policies("{}");
    let mut forged = MemorySink::default();
    start(&engine, &lenient, &mut forged).unwrap();
    let document = without_defects(problem(&only));
    let evidence =
        Evidence { problem: Some(&document), ..Evidence::of_journal(&forged.journal, &forged.blobs) };
    assert!(!engine.verify(&evidence, Level::Spec).holds());
    let policies_line = steps(&sink.journal);
    assert_eq!(policies_line.first().map(String::as_str), Some(&*format!("{POLICIES_STEP} success")));
}
