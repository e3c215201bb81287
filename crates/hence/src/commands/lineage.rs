//! `hence blame` and `hence impact`: where a value came from, and what came of it.

use hence_cognition::lineage::{Lineage, Written};
use hence_cognition::reference::{Namespace, Reference};

use crate::args::skill::{BlameArgs, ImpactArgs};
use crate::kind::{self, Purpose, StoredSkillRun};
use crate::prelude::*;
use crate::target::Journal;

/// Steps that had a part in something.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LineageReport {
    /// The run's id.
    run: String,
    /// What was asked about.
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
    /// What it wrote.
    writes: Vec<String>,
    /// What it read, and the steps that wrote it; nobody for what the caller gave.
    reads: Vec<ReadRow>,
}

/// One thing a step read.
#[derive(Serialize, JsonSchema)]
struct ReadRow {
    /// What was read.
    reference: String,
    /// The steps that wrote it.
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
    let journal = Journal::of_run(context, &args.run)?;
    kind::open(&journal, &[], Purpose::Read)?.blame(context, &journal, args)
}

pub(super) fn impact(context: &Context, args: &ImpactArgs) -> Result<Exit, CliError> {
    let journal = Journal::of_run(context, &args.run)?;
    kind::open(&journal, &[], Purpose::Read)?.impact(context, &journal, args)
}

/// Reports where a place in the memory of a skill came from.
pub(crate) fn blame_skill(
    context: &Context,
    journal: &Journal,
    run: &StoredSkillRun,
    args: &BlameArgs,
) -> Result<Exit, CliError> {
    let read = run.read_back(journal)?;
    let (skill, outcomes) = (run.prepared.skill(), read.program().outcomes());
    let is_step = skill.step(&args.place).is_some();
    let reference = reference(&args.place, "a place in the memory").map_err(|error| match is_step {
        // A step is no value; what became of it is another question.
        true => error.with_hint(hint::impact(context, &journal.name, &args.place)),
        false => error,
    })?;
    let lineage = Lineage::of(skill, outcomes);
    let steps = lineage.blame(&reference);
    let nothing = match reference.namespace() {
        Namespace::Inputs | Namespace::Frame => "the caller gives it; no step of the run wrote it",
        _ => "no step of the run wrote it",
    };
    report(context, &journal.name, reference.to_string(), &steps, outcomes, nothing)
}

/// Reports what depends on a place in the memory of a skill, or on a step.
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

/// Reads a place of the memory, written with dots or as a JSON pointer.
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
