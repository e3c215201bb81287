//! Verify: checks conclusions, paths and constraints; in profiles whose steps only count, that there are tasks and, where it
//! is required, evidence.

use hence_canon::{Object, Value};
use hence_state::{EvidenceRule, Settings, StepError, VerificationPath, is_blank};

use crate::step::{InputUnavailable, Step, View, object};
use crate::work;

pub(super) struct Verify;

impl Step for Verify {
    fn name(&self) -> &'static str {
        "Verify"
    }

    fn artifact_key(&self) -> &'static str {
        "verification"
    }

    fn input(&self, view: &View<'_>) -> Result<Value, InputUnavailable> {
        if !view.is_worked() {
            return Ok(object([("tasks", view.artifact_member("decomposition", "tasks")?)]));
        }
        let conclusions = view.artifact_member("computation", "conclusions")?;
        Ok(object([("conclusions", conclusions), ("evidence", view.all_items("evidence")?.into())]))
    }

    fn run(&self, view: &View<'_>, input: &Value) -> Result<Value, Vec<StepError>> {
        if view.is_worked() {
            let problem = view.problem().map_err(InputUnavailable::into_errors)?;
            let list = |key: &str| input.get(key).and_then(Value::as_array).unwrap_or_default();
            return Ok(work::verification(problem, list("conclusions"), list("evidence")));
        }
        let facts = Facts::gather(view, input).map_err(InputUnavailable::into_errors)?;
        let settings = view.problem().map_err(InputUnavailable::into_errors)?.settings();
        if settings.verification_paths.is_empty() {
            let (checks, status) = facts.check(settings.evidence_required);
            return Ok(facts.output(vec![("checks", checks), ("status", status.into())]));
        }
        Ok(facts.along_paths(settings))
    }

    fn check_reply(&self, view: &View<'_>, capability: &str, reply: &Value) -> Result<Value, String> {
        let known = || -> Result<_, InputUnavailable> {
            let conclusions = view.artifact_list("computation", "conclusions")?;
            Ok((view.problem()?, conclusions, view.all_items("evidence")?))
        };
        let (problem, conclusions, items) = known().map_err(|error| error.to_string())?;
        work::check_verification(problem, &conclusions, &items, capability, reply)
    }
}

struct Facts {
    task_count: usize,
    evidence_count: u64,
    /// Whether the output has the count, for stop conditions: true in the strict profile.
    states_count: bool,
}

impl Facts {
    fn gather(view: &View<'_>, input: &Value) -> Result<Self, InputUnavailable> {
        let task_count = input.get("tasks").and_then(Value::as_array).map_or(0, <[Value]>::len);
        let evidence_count = match view.profile().evidence {
            EvidenceRule::Batches => view.items("evidence"),
            EvidenceRule::Whole => view.artifact_member("evidence", "evidence_count")?.as_u64().unwrap_or(0),
        };
        let states_count = view.profile().evidence == EvidenceRule::Batches;
        Ok(Self { task_count, evidence_count, states_count })
    }

    fn check(&self, evidence_required: bool) -> (Value, &'static str) {
        let (tasks_present, evidence_present) = (self.task_count > 0, self.evidence_count > 0);
        let passed = tasks_present && (!evidence_required || evidence_present);
        let checks = object([
            ("tasks_present", tasks_present.into()),
            ("task_count", self.task_count.into()),
            ("evidence_present", evidence_present.into()),
            ("evidence_required", evidence_required.into()),
        ]);
        (checks, if passed { "passed" } else { "failed" })
    }

    /// Makes the output, with the count where the profile has it.
    fn output(&self, mut members: Vec<(&str, Value)>) -> Value {
        if self.states_count {
            members.push(("evidence_count", self.evidence_count.into()));
        }
        members.into_iter().collect::<Object>().into()
    }

    fn along_paths(&self, settings: &Settings) -> Value {
        let mut failed = 0usize;
        let judge = |path: &VerificationPath| {
            let (checks, status) = self.check(path.evidence_required.unwrap_or(settings.evidence_required));
            failed += usize::from(status == "failed");
            object([("name", path.name.clone().into()), ("checks", checks), ("status", status.into())])
        };
        // The lax schema accepts blank names, which are ignored here; the strict schema refuses them.
        let named = settings.verification_paths.iter().filter(|path| !is_blank(&path.name));
        let paths: Vec<Value> = named.map(judge).collect();
        let status = if failed == 0 { "passed" } else { "failed" };
        let aggregate = object([
            ("status", status.into()),
            ("total", paths.len().into()),
            ("failed_count", failed.into()),
        ]);
        self.output(vec![("paths", paths.into()), ("aggregate", aggregate), ("status", status.into())])
    }
}
