//! `hence blame` and `hence impact`: the sources of a value, and its dependants.

use hence_canon::Value;
use hence_cognition::lineage::{Lineage, Written};
use hence_cognition::reference::{Namespace, Reference};
use hence_journal::Lines;
use hence_projection::{Program, RecordedRun, trace_of_run};

use super::show::{find_record, step_at};
use crate::address::Address;
use crate::args::skill::{BlameArgs, ImpactArgs};
use crate::kind::{self, Purpose, StoredSkillRun, with_blobs};
use crate::prelude::*;
use crate::target::Journal;

/// The steps that a value came from, or that depend on it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LineageReport {
    /// The run's id.
    run: String,
    /// The path or step in question.
    of: String,
    /// The steps: newest first for blame, oldest first for impact.
    steps: Vec<LineageRow>,
    #[serde(skip)]
    nothing: &'static str,
}

/// One step.
#[derive(Serialize, JsonSchema)]
struct LineageRow {
    /// The step's id.
    step: String,
    /// The values that the step wrote.
    writes: Vec<String>,
    /// The values that the step read, each with the steps that wrote it; inputs of the caller have none.
    reads: Vec<ReadRow>,
}

/// One value that a step read.
#[derive(Serialize, JsonSchema)]
struct ReadRow {
    /// The path of the value.
    reference: String,
    /// The steps that wrote the value.
    from: Vec<String>,
}

impl Text for LineageReport {
    fn text(&self) -> String {
        if self.steps.is_empty() {
            return format!("{}: {}", escape(&self.of), self.nothing);
        }
        let mut text = String::new();
        for step in &self.steps {
            text.push_str(&format!("{}\n", escape(&step.step)));
            for target in &step.writes {
                text.push_str(&format!("  wrote {}\n", escape(target)));
            }
            for read in &step.reads {
                let from = if read.from.is_empty() { "the caller".to_owned() } else { read.from.join(", ") };
                text.push_str(&format!("  read  {} from {}\n", escape(&read.reference), escape(&from)));
            }
        }
        text
    }
}

pub(super) fn blame(context: &Context, args: &BlameArgs) -> Result<Exit, CliError> {
    let (journal, place) = place_of(context, &args.run, &args.place)?;
    let args = &BlameArgs { run: journal.name.as_str().into(), place };
    kind::open(&journal, &[], Purpose::Read)?.blame(context, &journal, args)
}

/// Reads the run, and the path or step that is named with it or by itself. The index of a record means its step.
fn place_of(context: &Context, run: &str, place: &str) -> Result<(Journal, String), CliError> {
    let address = Address::find(context, run)?;
    let place = address.required(place)?;
    let journal = Journal::of_run(context, &address.run)?;
    if place.parse::<u64>().is_err() {
        return Ok((journal, place));
    }
    let index = find_record(&journal, &place)?;
    match step_at(&Lines::of(&journal.bytes), &journal.profile(), index) {
        Some(step) => Ok((journal, step)),
        None => {
            let message = format!("run {}: record {place} is no step, so it wrote no value", journal.name);
            Err(CliError::new(Code::NoSuchPlace, message).with_hint(hint::records(&journal.name)))
        }
    }
}

pub(super) fn impact(context: &Context, args: &ImpactArgs) -> Result<Exit, CliError> {
    let (journal, place) = place_of(context, &args.run, &args.place)?;
    let args = &ImpactArgs { run: journal.name.as_str().into(), place };
    kind::open(&journal, &[], Purpose::Read)?.impact(context, &journal, args)
}

/// Reports the sources of a path in the memory of a skill.
pub(crate) fn blame_skill(
    context: &Context,
    journal: &Journal,
    run: &StoredSkillRun,
    args: &BlameArgs,
) -> Result<Exit, CliError> {
    let read = run.read_back(journal)?;
    let (skill, outcomes) = (run.prepared.skill(), read.program().outcomes());
    let lineage = Lineage::of(skill, outcomes);
    if skill.step(&args.place).is_some() {
        let (of, steps) = (args.place.clone(), lineage.blame_step(&args.place));
        return report(context, &journal.name, of, &steps, outcomes, "the run has not executed it");
    }
    let reference = reference(&args.place, "a place in the memory or a step's id")?;
    let steps = lineage.blame(&reference);
    let nothing = match reference.namespace() {
        Namespace::Inputs | Namespace::Frame => "the caller gives it; no step of the run wrote it",
        _ => "no step of the run wrote it",
    };
    report(context, &journal.name, reference.to_string(), &steps, outcomes, nothing)
}

/// Reports the dependants of a path in the memory of a skill, or of a step.
pub(crate) fn impact_skill(
    context: &Context,
    journal: &Journal,
    run: &StoredSkillRun,
    args: &ImpactArgs,
) -> Result<Exit, CliError> {
    let read = run.read_back(journal)?;
    let (skill, outcomes) = (run.prepared.skill(), read.program().outcomes());
    let lineage = Lineage::of(skill, outcomes);
    let is_step = skill.step(&args.place).is_some();
    let (of, steps) = if is_step {
        (args.place.clone(), lineage.impact_of_step(&args.place))
    } else {
        let reference = reference(&args.place, "a place in the memory or a step's id")?;
        (reference.to_string(), lineage.impact_of(&reference))
    };
    report(context, &journal.name, of, &steps, outcomes, "nothing in the run depends on it")
}

/// Reads a path of the memory, written with dots or as a JSON pointer.
fn reference(text: &str, expected: &str) -> Result<Reference, CliError> {
    let dotted = match text.strip_prefix('/') {
        Some(path) => {
            let tokens = path.split('/').map(|token| token.replace("~1", "/").replace("~0", "~"));
            tokens.collect::<Vec<String>>().join(".")
        }
        None => text.to_owned(),
    };
    Reference::parse(&dotted).ok_or_else(|| {
        let message = format!("expected {expected}, found {text:?}");
        CliError::new(Code::NoSuchPlace, message).with_hint(hint::MEMORY_PLACE)
    })
}

fn report(
    context: &Context,
    run: &str,
    of: String,
    steps: &[Written],
    outcomes: &[hence_cognition::run::StepOutcome],
    nothing: &'static str,
) -> Result<Exit, CliError> {
    let name = |position: &usize| outcomes.get(*position).map(|outcome| outcome.step_id.to_string());
    let row = |written: &Written| LineageRow {
        step: written.step_id.to_string(),
        writes: written.writes.iter().map(ToString::to_string).collect(),
        reads: written
            .sources
            .iter()
            .map(|source| ReadRow {
                reference: source.reference.to_string(),
                from: source.from.iter().filter_map(name).collect(),
            })
            .collect(),
    };
    let steps: Vec<LineageRow> = steps.iter().map(row).collect();
    let found = !steps.is_empty();
    context.print(&LineageReport { run: run.to_owned(), of, steps, nothing })?;
    Ok(if found { Exit::Yes } else { Exit::No })
}

/// Reports the sources of an artifact of a problem or of a variable, by the trace of the run.
pub(crate) fn blame_trace(
    context: &Context,
    journal: &Journal,
    program: Program<'_>,
    args: &BlameArgs,
) -> Result<Exit, CliError> {
    let flow = Flow::of(journal, program)?;
    let mut found = flow.artifacts_of_step(&args.place);
    if found.is_empty() {
        found = flow.artifacts_at(&args.place);
    }
    let Some(newest) = found.last() else { return Err(no_artifact(journal, &args.place)) };
    let mut steps = flow.sources(newest);
    steps.reverse();
    flow.report(context, journal, &args.place, &steps, "no step of the run wrote it")
}

/// Reports the dependants of an artifact of a problem, of a variable or of a step, by the trace of the run.
pub(crate) fn impact_trace(
    context: &Context,
    journal: &Journal,
    program: Program<'_>,
    args: &ImpactArgs,
) -> Result<Exit, CliError> {
    let flow = Flow::of(journal, program)?;
    let mut found = flow.artifacts_of_step(&args.place);
    if found.is_empty() {
        found = flow.artifacts_at(&args.place);
    }
    if found.is_empty() {
        return Err(no_artifact(journal, &args.place));
    }
    let steps = flow.dependants(&found);
    flow.report(context, journal, &args.place, &steps, "nothing in the run depends on it")
}

fn no_artifact(journal: &Journal, place: &str) -> CliError {
    let message = format!("run {}: no step wrote anything called {place:?}", journal.name);
    CliError::new(Code::NoSuchPlace, message).with_hint(hint::places(&journal.name))
}

/// Returns the newest artifact of a trace that a step wrote, or that a path names.
pub(crate) fn artifact_named(trace: &Value, place: &str) -> Option<String> {
    let flow = Flow::of_trace(trace);
    let of_step = flow.artifacts_of_step(place);
    let named = if of_step.is_empty() { flow.artifacts_at(place) } else { of_step };
    named.last().map(|id| (*id).to_owned())
}

/// The steps of a run, with the artifacts they read and wrote, in the order of its trace.
struct Flow {
    actions: Vec<Acted>,
    /// The id and name of every artifact, oldest first.
    artifacts: Vec<(String, String)>,
}

struct Acted {
    step: String,
    inputs: Vec<String>,
    outputs: Vec<String>,
}

impl Flow {
    fn of(journal: &Journal, program: Program<'_>) -> Result<Self, CliError> {
        let problem = journal.required_problem()?;
        let trace = with_blobs(journal, |blobs| {
            let run = RecordedRun { journal: &journal.bytes, problem, blobs, links: &[], calls: None };
            trace_of_run(program, &run)
        });
        let trace = trace.map_err(|error| CliError::of_run(Code::Diverged, &journal.name, error))?;
        Ok(Self::of_trace(&trace))
    }

    fn of_trace(trace: &Value) -> Self {
        let list =
            |value: &Value, key: &str| value.get(key).and_then(Value::as_array).unwrap_or_default().to_vec();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let texts = |value: &Value, key: &str| list(value, key).iter().map(text).collect();
        let member = |value: &Value, key: &str| value.get(key).map(text).unwrap_or_default();
        let actions = list(trace, "actions").into_iter().map(|action| Acted {
            step: action.get("execution").map(|execution| member(execution, "method")).unwrap_or_default(),
            inputs: texts(&action, "inputs"),
            outputs: texts(&action, "outputs"),
        });
        let artifacts = list(trace, "artifacts")
            .iter()
            .map(|artifact| (member(artifact, "artifact_id"), member(artifact, "name")))
            .collect();
        Self { actions: actions.collect(), artifacts }
    }

    /// Returns the artifacts that a step wrote, oldest first.
    fn artifacts_of_step(&self, step: &str) -> Vec<&str> {
        let of_step = self.actions.iter().filter(|action| action.step == step);
        of_step.flat_map(|action| action.outputs.iter().map(String::as_str)).collect()
    }

    /// Returns the artifacts that a path names: `verification`, `artifacts.verification.status`, `vars.NAME`, or a
    /// JSON pointer of these. A path in the problem names the problem.
    fn artifacts_at(&self, place: &str) -> Vec<&str> {
        let dotted = place.strip_prefix('/').map_or(place.to_owned(), |pointer| pointer.replace('/', "."));
        let mut tokens = dotted.split('.');
        let first = tokens.next().unwrap_or_default();
        let key = match first {
            "artifacts" | "vars" => tokens.next().unwrap_or_default(),
            "inputs" | "settings" => "problem",
            other => other,
        };
        let is_named = |(id, name): &&(String, String)| {
            name == key || id == key || id.rsplit_once('#').is_some_and(|(before, _)| before == key)
        };
        self.artifacts.iter().filter(is_named).map(|(id, _)| id.as_str()).collect()
    }

    /// Returns the steps that an artifact came from, oldest first.
    fn sources(&self, artifact: &str) -> Vec<usize> {
        let mut wanted: Vec<&str> = vec![artifact];
        let mut found = Vec::new();
        for (at, action) in self.actions.iter().enumerate().rev() {
            if action.outputs.iter().any(|output| wanted.contains(&output.as_str())) {
                wanted.extend(action.inputs.iter().map(String::as_str));
                found.push(at);
            }
        }
        found.reverse();
        found
    }

    /// Returns the steps that read one of the artifacts, directly or indirectly, oldest first.
    fn dependants(&self, artifacts: &[&str]) -> Vec<usize> {
        let mut known: Vec<&str> = artifacts.to_vec();
        let mut found = Vec::new();
        for (at, action) in self.actions.iter().enumerate() {
            if action.inputs.iter().any(|input| known.contains(&input.as_str())) {
                known.extend(action.outputs.iter().map(String::as_str));
                found.push(at);
            }
        }
        found
    }

    fn report(
        &self,
        context: &Context,
        journal: &Journal,
        of: &str,
        steps: &[usize],
        nothing: &'static str,
    ) -> Result<Exit, CliError> {
        let writers = |artifact: &String| {
            let wrote = |action: &&Acted| action.outputs.contains(artifact);
            self.actions.iter().filter(wrote).map(|action| action.step.clone()).collect()
        };
        let row = |action: &Acted| LineageRow {
            step: action.step.clone(),
            writes: action.outputs.clone(),
            reads: action
                .inputs
                .iter()
                .map(|input| ReadRow { reference: input.clone(), from: writers(input) })
                .collect(),
        };
        let steps: Vec<LineageRow> = steps.iter().filter_map(|at| self.actions.get(*at)).map(row).collect();
        let found = !steps.is_empty();
        let (run, of) = (journal.name.clone(), of.to_owned());
        context.print(&LineageReport { run, of, steps, nothing })?;
        Ok(if found { Exit::Yes } else { Exit::No })
    }
}
