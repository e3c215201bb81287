//! `hence trace grade`: the grade of a trace as a record, with advice.

use hence_review::grade::{Compliance, Dimension, Grade, grade};
use hence_review::lineage::Lineage;
use hence_review::validate::validate;
use hence_review::wire::Trace;

use super::document::Document;
use crate::args::TraceFileArgs;
use crate::prelude::*;

/// The grade of a trace.
#[derive(Serialize, JsonSchema)]
pub(crate) struct GradeReport {
    /// The trace's id, if it has one.
    trace_id: Option<String>,
    /// The mark, 0 to 100.
    overall: u32,
    /// The mark as a letter.
    letter: &'static str,
    /// The dimensions of the rubric.
    dimensions: Vec<DimensionRow>,
    /// The recorded verdicts of policies; nothing when there are none.
    policies: Option<PoliciesRow>,
}

/// One dimension of the rubric.
#[derive(Serialize, JsonSchema)]
struct DimensionRow {
    /// Its name.
    name: &'static str,
    /// 0 to 1; nothing when it does not apply.
    score: Option<f64>,
    /// Its weight.
    weight: u32,
    /// The observation.
    seen: String,
    /// Advice to raise it; nothing at full score.
    raise: Option<String>,
}

/// Verdicts of policies, counted.
#[derive(Serialize, JsonSchema)]
struct PoliciesRow {
    /// The number that passed.
    passed: usize,
    /// The number that applied.
    total: usize,
    /// The names of those that failed.
    failed: Vec<String>,
}

impl Text for GradeReport {
    fn text(&self) -> String {
        let mut text = format!("{} ({}/100)\n", self.letter, self.overall);
        let rows: Vec<[String; 4]> = self.dimensions.iter().map(DimensionRow::row).collect();
        text.push_str(&columns(&rows));
        if let Some(policies) = &self.policies {
            text.push_str(&format!("policies: {} of {} passed\n", policies.passed, policies.total));
            for name in &policies.failed {
                text.push_str(&format!("  failed: {}\n", escape(name)));
            }
        }
        let advice: Vec<&DimensionRow> = self.dimensions.iter().filter(|row| row.raise.is_some()).collect();
        if !advice.is_empty() {
            text.push_str("what would raise it\n");
        }
        for row in advice {
            text.push_str(&format!("  {}: {}\n", row.name, escape(row.raise.as_deref().unwrap_or(""))));
        }
        text
    }
}

impl DimensionRow {
    fn of(dimension: &Dimension) -> Self {
        Self {
            name: dimension.kind.name(),
            score: dimension.score,
            weight: dimension.weight(),
            seen: dimension.note.clone(),
            raise: dimension.raise.clone(),
        }
    }

    fn row(&self) -> [String; 4] {
        let score = self.score.map_or_else(|| "n/a".to_owned(), |score| format!("{:.0}%", score * 100.0));
        [format!("  {}", self.name), score, format!("weight {}", self.weight), escape(&self.seen)]
    }
}

/// Grades a document.
pub(super) fn graded(document: &Document, trace: &Trace) -> Grade {
    grade(trace, &Lineage::of(trace), &validate(&document.value))
}

pub(super) fn run(context: &Context, args: &TraceFileArgs) -> Result<Exit, CliError> {
    let document = Document::of_file_or_run(context, &args.file)?;
    let trace = document.trace();
    let grade = graded(&document, &trace);
    let policies = Compliance::recorded(&trace).map(|found| PoliciesRow {
        passed: found.passed,
        total: found.total,
        failed: found.failed,
    });
    context.print(&GradeReport {
        trace_id: trace.trace_id().map(str::to_owned),
        overall: grade.overall,
        letter: grade.letter.as_str(),
        dimensions: grade.dimensions.iter().map(DimensionRow::of).collect(),
        policies,
    })?;
    Ok(Exit::Yes)
}
