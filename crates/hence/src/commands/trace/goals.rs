//! `hence trace goals`: the goals that are met, by which evidence, and whether the criteria can be trusted.

use hence_review::goals::{GoalResolution, ItemResolution, Stakes, resolve};
use hence_review::lineage::Lineage;

use super::document::Document;
use crate::args::TraceGoalsArgs;
use crate::prelude::*;

/// The goals of a trace.
#[derive(Serialize, JsonSchema)]
pub(crate) struct GoalsReport {
    /// The trace's id, if it has one.
    trace_id: Option<String>,
    /// The goals in the order of the trace.
    goals: Vec<GoalRow>,
    /// The ids of actions that serve no goal.
    exploration: Vec<i64>,
    /// The number of goals that are met.
    met: usize,
    /// The number of goals whose criteria someone else approved.
    certified: usize,
}

/// One goal.
#[derive(Serialize, JsonSchema)]
struct GoalRow {
    /// Its id.
    id: String,
    /// The intent.
    intent: String,
    /// 0 to 1.
    progress: f64,
    /// Whether all required items are done.
    met: bool,
    /// Whether someone who authored none of the items approved them, and they cover the intent.
    certified: bool,
    /// Whether no required item is hard evidence.
    weakly_specified: bool,
    /// The strongest kind among the required items: `change`, `gap`, `obligation` or `property`.
    strongest: Option<&'static str>,
    /// Clauses of the intent that no item covers.
    uncovered_clauses: Vec<String>,
    /// The number of open gaps that concern it.
    open_gaps: usize,
    /// The ids of the actions it rests on.
    cone: Vec<i64>,
    /// Its acceptance items.
    items: Vec<ItemRow>,
}

/// One acceptance item.
#[derive(Serialize, JsonSchema)]
struct ItemRow {
    /// Its id.
    id: String,
    /// The kind of evidence it is bound to.
    kind: Option<&'static str>,
    /// Its status.
    status: &'static str,
    /// Whether the trace decided that, rather than the author of the item.
    from_trace: bool,
    /// The id of the evidence that decided it.
    evidence: Option<String>,
    /// Whether it was written down after the evidence that fulfils it.
    retrofitted: bool,
}

impl Text for GoalsReport {
    fn text(&self) -> String {
        if self.goals.is_empty() {
            return "the trace states no goals\n".to_owned();
        }
        let mut text = String::new();
        for goal in &self.goals {
            text.push_str(&goal.text());
        }
        let (total, met, certified) = (self.goals.len(), self.met, self.certified);
        text.push_str(&format!("{met} of {total} met, {certified} of {total} certified\n"));
        if !self.exploration.is_empty() {
            let ids: Vec<String> = self.exploration.iter().map(ToString::to_string).collect();
            text.push_str(&format!("actions that serve no goal: {}\n", ids.join(", ")));
        }
        text
    }
}

impl GoalRow {
    fn of(found: GoalResolution, intent: &str) -> Self {
        Self {
            id: found.id,
            intent: intent.to_owned(),
            progress: found.progress,
            met: found.faithfulness.met,
            certified: found.faithfulness.certified,
            weakly_specified: found.faithfulness.weakly_specified,
            strongest: found.faithfulness.strongest.map(|strength| strength.as_str()),
            uncovered_clauses: found.faithfulness.uncovered_clauses,
            open_gaps: found.open_gaps,
            cone: found.cone,
            items: found.items.into_iter().map(ItemRow::of).collect(),
        }
    }

    fn text(&self) -> String {
        let met = if self.met { "met" } else { "not met" };
        let certified = if self.certified { "certified" } else { "not certified" };
        let mut text = format!(
            "{}  {}\n  {:.0}% done, {met}, {certified}, {} open gaps\n",
            escape(&self.id),
            escape(&self.intent),
            self.progress * 100.0,
            self.open_gaps
        );
        if self.weakly_specified {
            text.push_str("  weakly specified: no required item is hard evidence\n");
        }
        for clause in &self.uncovered_clauses {
            text.push_str(&format!("  not covered: {}\n", escape(clause)));
        }
        let rows: Vec<[String; 4]> = self.items.iter().map(ItemRow::row).collect();
        text.push_str(&columns(&rows));
        text
    }
}

impl ItemRow {
    fn of(item: ItemResolution) -> Self {
        Self {
            id: item.id,
            kind: item.kind.map(|kind| kind.as_str()),
            status: item.status.as_str(),
            from_trace: item.from_trace,
            evidence: item.evidence,
            retrofitted: item.retrofitted,
        }
    }

    fn row(&self) -> [String; 4] {
        let by = match (&self.evidence, self.from_trace) {
            (Some(evidence), _) => format!("by {}", escape(evidence)),
            (None, true) => "by the trace".to_owned(),
            (None, false) => "as its author says".to_owned(),
        };
        let by = if self.retrofitted { format!("{by}, written after it") } else { by };
        [
            format!("    {}", escape(&self.id)),
            self.kind.unwrap_or("unknown kind").to_owned(),
            self.status.to_owned(),
            by,
        ]
    }
}

pub(super) fn run(context: &Context, args: &TraceGoalsArgs) -> Result<Exit, CliError> {
    let document = Document::of_file_or_run(context, &args.file)?;
    let trace = document.trace();
    let stakes = if args.high_stakes { Stakes::High } else { Stakes::Normal };
    let found = resolve(&trace, &Lineage::of(&trace), stakes);
    let intents: Vec<String> =
        trace.goals().map(|goal| goal.text("intent").unwrap_or("").to_owned()).collect();
    let fails = args.strict
        && found.goals.iter().any(|goal| {
            goal.faithfulness.weakly_specified || !goal.faithfulness.uncovered_clauses.is_empty()
        });
    let (met, certified) = (found.summary.goals_met, found.summary.goals_certified);
    let goals =
        found.goals.into_iter().zip(&intents).map(|(goal, intent)| GoalRow::of(goal, intent)).collect();
    context.print(&GoalsReport {
        trace_id: trace.trace_id().map(str::to_owned),
        goals,
        exploration: found.exploration,
        met,
        certified,
    })?;
    Ok(if fails { Exit::No } else { Exit::Yes })
}
