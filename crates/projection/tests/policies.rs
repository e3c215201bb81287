//! Runs of problems under policies: blocked at the right step, amended, replayed, and evaluated in the trace.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use hence_canon::{Canonical, Object, Value, parse};
use hence_engine::{
    Engine, Evidence, Gate, GateError, MemorySink, NoBlobs, Plan, Reason, Request, Run, RunError, Sink,
    VERDICTS_STEP, observe_journal, without_defects,
};
use hence_journal::verify::Level;
use hence_journal::{Header, Reader, Record};
use hence_policy::policy::{Document, Policy, PolicySet};
use hence_projection::{PolicyGate, Program, RecordedRun, policies_document, trace_of_run};
use hence_review::validate::validate_canonical;
use hence_state::Profile;

fn rules(policies: &str) -> Vec<Policy> {
    let value = parse(format!("[{policies}]").as_bytes()).unwrap();
    PolicySet::load(&[Document { name: "rules".into(), value }]).unwrap().policies().to_vec()
}

fn problem(policies: &Value) -> Value {
    let json = format!(
        r#"{{"version":"1.0.0","id":"case","created_at":"2026-02-02T00:00:00Z",
            "inputs":{{"prompt":"Is it so?","goals":["a","b"],"context":{{"evidence":[{{"id":"e"}}]}}}},
            "settings":{{"policies":{{"sha256":"{}"}}}}}}"#,
        Canonical::of(policies).digest()
    );
    parse(json.as_bytes()).unwrap()
}

fn header(journal: &[u8]) -> Header {
    match Reader::open(journal).unwrap().0.record {
        Record::Header(header) => header,
        _ => panic!("no header"),
    }
}

struct Case {
    engine: Engine,
    problem: Value,
}

impl Case {
    fn new(policies: &Value) -> Self {
        Self { engine: Engine::new(), problem: problem(policies) }
    }

    fn plan(&self) -> Plan {
        self.engine.plan(&Request::of_value(self.problem.clone(), Profile::STRICT)).unwrap()
    }

    fn gate(&self, journal: &[u8]) -> Result<Box<dyn Gate + '_>, GateError> {
        let (header, program) = (header(journal), Program::Reason(&self.engine));
        Ok(Box::new(PolicyGate::begin(&header, self.plan().problem(), program, &NoBlobs)?))
    }

    fn start(&self, policies: &Value) -> (MemorySink, Result<(), RunError>) {
        let (run, line) = Run::start(Reason::new(self.plan())).unwrap();
        let mut run = run.with_gate(Some(self.gate(line.line()).unwrap()));
        let mut sink = MemorySink::default();
        sink.append(&line).unwrap();
        run.install_policies(policies, &mut sink).unwrap();
        let outcome = run.finish(&mut sink, |_| {}).map(|_| ());
        (sink, outcome)
    }

    fn resume(&self, mut sink: MemorySink, amended: Option<&Value>) -> (MemorySink, Result<(), RunError>) {
        let journal = sink.journal.clone();
        let run = Run::resume(Reason::new(self.plan()), &journal, &NoBlobs).unwrap();
        assert!(!run.has_ended());
        let mut gate = self.gate(&journal).unwrap();
        observe_journal(&mut *gate, &journal, &NoBlobs).unwrap();
        let mut run = run.with_gate(Some(gate));
        if let Some(amended) = amended {
            run.install_policies(amended, &mut sink).unwrap();
        }
        let outcome = run.finish(&mut sink, |_| {}).map(|_| ());
        (sink, outcome)
    }

    fn holds(&self, sink: &MemorySink) {
        let document = without_defects(self.problem.clone());
        let open = || self.gate(&sink.journal);
        let evidence = Evidence {
            problem: Some(&document),
            gate: Some(&open),
            ..Evidence::of_journal(&sink.journal, &sink.blobs)
        };
        let report = self.engine.verify(&evidence, Level::Replay);
        assert!(report.holds(), "{report:?}");
    }

    fn trace(&self, sink: &MemorySink) -> Value {
        let journal = &sink.journal;
        let document = without_defects(self.problem.clone());
        let run = RecordedRun { journal, problem: &document, blobs: &sink.blobs, links: &[], calls: None };
        let trace = trace_of_run(Program::Reason(&self.engine), &run).unwrap();
        let report = validate_canonical(&trace);
        assert!(report.findings().is_empty(), "{:?}", report.findings());
        trace
    }
}

fn statuses(trace: &Value) -> Vec<(String, String)> {
    let text = |record: &Value, key: &str| record.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
    let list = trace.get("policy_evaluations").and_then(Value::as_array).unwrap();
    list.iter().map(|record| (text(record, "policy_id"), text(record, "status"))).collect()
}

#[test]
fn a_past_rule_blocks_at_the_step_that_would_break_it() {
    let strict = policies_document(&rules(
        r#"{"id": "explained", "severity": "error", "formula": "G(RunTests -> P(Explain))"},
           {"id": "planned", "severity": "warning", "formula": "G(DecomposeTask -> P(FormulatePlan))"},
           {"id": "closed", "severity": "error", "formula": "G(RunTests -> F(RecordAudit))"}"#,
    ));
    let case = Case::new(&strict);
    let (sink, outcome) = case.start(&strict);
    let Err(RunError::Blocked(blocked)) = outcome else { panic!("not blocked") };
    assert_eq!(&*blocked.step, "Verify");
    assert_eq!(
        blocked.why(),
        "policy explained: action 6 (RunTests): `RunTests` holds; no earlier action in scope of `P(Explain)` \
         satisfies `Explain`"
    );
    case.holds(&sink);
    let trace = case.trace(&sink);
    // A blocked step is not an action, so the rule does not apply.
    assert_eq!(statuses(&trace)[0], ("explained".to_owned(), "not_applicable".to_owned()));
    assert_eq!(statuses(&trace)[1], ("planned".to_owned(), "failed".to_owned()));
    let events = |at: usize| {
        let record = trace.get("policy_evaluations").unwrap().at(at).unwrap();
        record.get("events").unwrap().at(0).unwrap().get("decision").unwrap().as_str().unwrap().to_owned()
    };
    assert_eq!((events(0), events(1)), ("blocked".to_owned(), "remarked".to_owned()));

    let lenient = policies_document(&rules(
        r#"{"id": "closed", "severity": "error", "formula": "G(RunTests -> F(RecordAudit))"}"#,
    ));
    let (sink, outcome) = case.resume(sink, Some(&lenient));
    outcome.unwrap();
    case.holds(&sink);
    assert_eq!(statuses(&case.trace(&sink)), [("closed".to_owned(), "passed".to_owned())]);
}

#[test]
fn policies_about_the_future_are_judged_before_the_run_completes() {
    let policies = policies_document(&rules(
        r#"{"id": "committed", "severity": "error", "formula": "G(RunTests -> F(GitCommit))"},
           {"id": "proper", "severity": "error", "formula": "start_event /\\ F(end_event)"}"#,
    ));
    let case = Case::new(&policies);
    let (sink, outcome) = case.start(&policies);
    let Err(RunError::Blocked(blocked)) = outcome else { panic!("not blocked") };
    assert_eq!(&*blocked.step, VERDICTS_STEP);
    assert!(blocked.why().starts_with("policy committed: action 6 (RunTests)"), "{}", blocked.why());
    case.holds(&sink);
    let (sink, outcome) = case.resume(sink, None);
    assert!(matches!(outcome, Err(RunError::Blocked(_))));
    case.holds(&sink);
}

#[test]
fn a_budget_of_actions_blocks_the_first_that_exceeds_it() {
    let policies =
        policies_document(&rules(r#"{"id": "short", "severity": "error", "formula": "count(action) <= 3"}"#));
    let case = Case::new(&policies);
    let (sink, outcome) = case.start(&policies);
    let Err(RunError::Blocked(blocked)) = outcome else { panic!("not blocked") };
    // The problem is taken in by the first action, so the third step is one too many.
    assert_eq!(&*blocked.step, "AcquireEvidence");
    let (sink, outcome) = case.resume(sink, None);
    assert!(matches!(outcome, Err(RunError::Blocked(_))));
    case.holds(&sink);
    // Refusals are no actions: the trace keeps its budget.
    assert_eq!(statuses(&case.trace(&sink)), [("short".to_owned(), "passed".to_owned())]);
}

#[test]
fn the_gate_and_a_check_of_the_finished_trace_agree() {
    let set = hence_policy::policy::built_in();
    let policies = policies_document(set.policies());
    let case = Case::new(&policies);
    let (sink, outcome) = case.start(&policies);
    outcome.unwrap();
    case.holds(&sink);
    let (_, reader) = Reader::open(&sink.journal).unwrap();
    let verdicts = reader.map(Result::unwrap).find_map(|chained| match chained.record {
        Record::Step(step) if &**step.result.step() == VERDICTS_STEP => {
            Some(hence_engine::resolve(step.result.outcome().output()?, &sink.blobs).unwrap())
        }
        _ => None,
    });
    let recorded =
        Object::from_iter([("policy_evaluations", verdicts.unwrap().get("verdicts").unwrap().clone())]);
    assert_eq!(statuses(&recorded.into()), statuses(&case.trace(&sink)));
}
