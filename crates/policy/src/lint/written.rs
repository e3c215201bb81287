//! Parts of a formula that nothing in the product ever writes: no run of a skill, and no imported log.

use hence_review::vocabulary::ArtifactType;

use super::finding::{Finding, FindingKind};
use crate::formula::{Expr, Formula, Term, Word};
use crate::vocabulary::Atom;

/// The members of `execution` that runs and importers write.
const EXECUTION: &[&str] = &[
    "calls",
    "cost",
    "cost_exact",
    "currency",
    "determinism",
    "duration_ms",
    "duration_source",
    "exit_code",
    "method",
    "model",
    "status",
    "tokens",
    "tokens_in",
    "tokens_out",
    "tool",
    "version",
];
/// The members of `request` that runs and importers write.
const REQUEST: &[&str] = &[
    "approves",
    "arguments",
    "contains_secret",
    "context",
    "force",
    "input",
    "input_sha256",
    "options",
    "part",
    "parts",
    "path",
    "private_files",
    "program",
    "question",
    "rejects",
    "tool",
    "uses",
];
/// The members of an artifact's `metadata` that runs and importers write.
const METADATA: &[&str] = &[
    "bytes",
    "cites",
    "contains_secret",
    "decision",
    "record",
    "rejected_claims",
    "sha256",
    "steps",
    "timestamp",
    "version",
];
/// Lists of a trace that nothing writes.
const LISTS: &[(&str, &str)] = &[
    ("telemetry", "importers make actions of spans; ask for actions"),
    ("reference_models", "ask for `reference_artifacts`"),
];

/// The members of an object that runs and importers write, by the name of the object.
///
/// A test compares them with what the exporters and importers write.
pub const WRITTEN: [(&str, &[&str]); 3] =
    [("execution", EXECUTION), ("request", REQUEST), ("metadata", METADATA)];

/// Finds atoms and fields that nothing writes, so that a rule about them never applies.
pub(super) fn lint(formula: &Formula, findings: &mut Vec<Finding>) {
    expr(formula, formula.expr(), findings);
}

fn report(formula: &Formula, word: &Word, what: String, instead: String, findings: &mut Vec<Finding>) {
    let location = Some(formula.location(word.offset()));
    findings.push(Finding { kind: FindingKind::NeverWritten { what, instead }, location });
}

fn expr(formula: &Formula, whole: &Expr, findings: &mut Vec<Finding>) {
    match whole {
        Expr::Atom(word) => atom(formula, word, findings),
        Expr::Typed { name, conditions } => {
            atom(formula, name, findings);
            // A plain word is a status to compare with.
            let compound = conditions.iter().filter(|condition| !matches!(condition, Expr::Atom(_)));
            compound.for_each(|condition| expr(formula, condition, findings));
        }
        Expr::Quantified { set, body, .. } => {
            set.iter().for_each(|set| term(formula, set, findings));
            expr(formula, body, findings);
        }
        Expr::Compare { left, right, .. } => {
            term(formula, left, findings);
            term(formula, right, findings);
        }
        Expr::Member { element, set } => {
            term(formula, element, findings);
            term(formula, set, findings);
        }
        Expr::Holds(held) => term(formula, held, findings),
        _ => whole.parts().for_each(|part| expr(formula, part, findings)),
    }
}

fn atom(formula: &Formula, word: &Word, findings: &mut Vec<Finding>) {
    let instead = match Atom::of(word.as_str()) {
        Atom::Conformance(_) => {
            "a result of a conformance check is written by no exporter or importer; ask for `completed`"
        }
        Atom::ArtifactType(ArtifactType::ConformanceResult) => "ask for the action `ConformanceCheck`",
        Atom::ArtifactType(ArtifactType::ReproductionBundle) => "ask for `reproducibility.status`",
        Atom::ToolArtifactType => "ask for `RunTests ∧ completed`",
        _ => return,
    };
    report(formula, word, format!("`{word}`"), instead.to_owned(), findings);
}

fn term(formula: &Formula, whole: &Term, findings: &mut Vec<Finding>) {
    match whole {
        Term::Word(word) => {
            if let Some((_, instead)) = LISTS.iter().find(|(list, _)| *list == word.as_str()) {
                report(formula, word, format!("the list `{word}`"), (*instead).to_owned(), findings);
            }
        }
        Term::Field { base, path } => field(formula, base, path, findings),
        Term::Call { arguments, .. } => arguments.iter().for_each(|part| term(formula, part, findings)),
        Term::List(items) => items.iter().for_each(|item| term(formula, item, findings)),
        Term::Comprehension { body, guard } => {
            term(formula, body, findings);
            expr(formula, guard, findings);
        }
        Term::Text(_) | Term::Int(_) | Term::Empty => {}
    }
}

/// Checks `execution.x`, `request.x`, and the same below a variable, as well as `x.metadata.y`.
fn field(formula: &Formula, base: &Word, path: &[Word], findings: &mut Vec<Finding>) {
    let names: Vec<&Word> = std::iter::once(base).chain(path).collect();
    for pair in names.windows(2) {
        let [parent, member] = pair else { continue };
        let known = match parent.as_str() {
            "execution" => EXECUTION,
            "request" => REQUEST,
            "metadata" => METADATA,
            // Below the input of a call anything may be.
            "input" | "result" => return,
            _ => continue,
        };
        if !known.contains(&member.as_str()) {
            let what = format!("`{parent}.{member}`");
            report(formula, member, what, format!("`{parent}` has {}", known.join(", ")), findings);
        }
    }
}
