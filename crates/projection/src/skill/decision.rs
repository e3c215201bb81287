//! Control blocks and answers of people as decisions: the options, the chosen one, and the reasons against the rest.

use hence_canon::{Object, Value};
use hence_cognition::failure::ErrorClass;
use hence_cognition::run::StepOutcome;
use hence_cognition::skill::{Flow, Foreach, Router, Scatter, ScatterMerge, Step, While};
use hence_cognition::state::StepStatus;
use hence_journal::RecordIndex;
use hence_review::model::{
    Action, ActionCommon, ActionId, ActionStep, ArtifactId, DecisionOption, GatewayPayload,
};
use hence_review::vocabulary::{ActionType, Determinism as Repeatability, GatewayType};

use super::kind::matched;
use crate::run_info::action_common;
use crate::text;
use crate::view::Context;

/// A decision without an action number.
pub(super) struct Decision {
    pub(super) word: GatewayType,
    pub(super) label: String,
    pub(super) rationale: String,
    pub(super) basis: String,
    pub(super) options: Vec<DecisionOption>,
}

impl Decision {
    pub(super) fn action(
        self,
        context: &Context<'_>,
        id: ActionId,
        index: RecordIndex,
        step: &str,
        inputs: &[ArtifactId],
    ) -> Action {
        let payload = GatewayPayload {
            decision_basis: Some(text::shortened(&self.basis).into()),
            supporting_inputs: inputs.to_vec(),
            options: self.options,
        };
        let common = ActionCommon {
            inputs: inputs.to_vec(),
            evidence: vec![context.run.evidence(index)],
            execution: Some(context.run.execution(step, Repeatability::Deterministic)),
            ..action_common(id, &self.label, &self.rationale)
        };
        Action { common, step: ActionStep::Gateway(self.word, payload), extra: Object::new() }
    }
}

fn chosen(label: impl Into<String>) -> DecisionOption {
    option(label.into(), None)
}

fn rejected(label: impl Into<String>, because: impl Into<String>) -> DecisionOption {
    option(label.into(), Some(because.into()))
}

fn option(label: String, because: Option<String>) -> DecisionOption {
    DecisionOption {
        label: text::shortened(&label).into(),
        chosen: because.is_none(),
        rejected_because: because.map(|why| text::shortened(&why).into()),
        ..DecisionOption::default()
    }
}

/// Returns the decisions made before a step's call, in the order they were made.
pub(super) fn before(step: &Step, outcome: &StepOutcome) -> Vec<Decision> {
    let mut decisions: Vec<Decision> = condition(step, outcome).into_iter().collect();
    if outcome.status != StepStatus::Completed && outcome.called.is_empty() {
        return decisions;
    }
    if let Flow::Scatter(scatter_block) = &step.control.flow {
        decisions.push(scatter(step, scatter_block, outcome));
        return decisions;
    }
    decisions.extend(step.control.router.as_ref().and_then(|router| route(step, router, outcome)));
    if let Flow::Foreach(foreach) = &step.control.flow {
        decisions.push(each(step, foreach, outcome));
    }
    decisions
}

/// Returns the decision made after a step's calls.
pub(super) fn after(step: &Step, outcome: &StepOutcome) -> Option<Decision> {
    match &step.control.flow {
        Flow::While(whiles) if outcome.status == StepStatus::Completed => Some(left(step, whiles, outcome)),
        _ => None,
    }
}

fn condition(step: &Step, outcome: &StepOutcome) -> Option<Decision> {
    let text = step.control.condition.as_ref()?.text();
    // An expression that cannot be evaluated decides nothing.
    let undecided = outcome.status == StepStatus::Failed
        && outcome.called.is_empty()
        && outcome.failure.as_ref().is_some_and(|failure| failure.class == ErrorClass::Expression);
    if undecided {
        return None;
    }
    let (run, skip) = (format!("run {}", step.id), format!("skip {}", step.id));
    let skipped = outcome.status == StepStatus::Skipped;
    let options = if skipped {
        vec![rejected(run, format!("`{text}` does not hold")), chosen(skip)]
    } else {
        vec![chosen(run), rejected(skip, format!("`{text}` holds"))]
    };
    Some(Decision {
        word: GatewayType::ExclusiveDecision,
        label: format!("Decide whether {} runs", step.id),
        rationale: format!("The skill runs {} only under its condition.", step.id),
        basis: format!("`{text}` {}", if skipped { "does not hold" } else { "holds" }),
        options,
    })
}

fn route(step: &Step, router: &Router, outcome: &StepOutcome) -> Option<Decision> {
    let (case, _) = matched(step, outcome)?;
    let on = router.on().text();
    let mut options: Vec<DecisionOption> = Vec::new();
    for (key, uses) in &router.cases {
        let label = format!("{key}: {uses}");
        let taken = case.as_ref() == Some(key);
        options.push(if taken { chosen(label) } else { rejected(label, format!("`{on}` is not {key}")) });
    }
    options.extend(router.default.as_ref().map(|uses| {
        let label = format!("anything else: {uses}");
        match &case {
            None => chosen(label),
            Some(key) => rejected(label, format!("`{on}` is {key}, which has a case")),
        }
    }));
    let basis = match &case {
        Some(key) => format!("`{on}` is {key}"),
        None => format!("`{on}` matches no case"),
    };
    Some(Decision {
        word: GatewayType::ExclusiveDecision,
        label: format!("Choose what {} calls", step.id),
        rationale: format!("The skill lets a value choose what {} calls.", step.id),
        basis,
        options,
    })
}

fn scatter(step: &Step, scatter: &Scatter, outcome: &StepOutcome) -> Decision {
    let winner = outcome.meta.get("scatter_winner").and_then(Value::as_str);
    let branch = |uses: String| match winner {
        Some(winner) if winner != uses => rejected(
            uses,
            format!(
                "it was called, but the result of {winner}, declared before it or successful where it failed, was taken"
            ),
        ),
        _ => chosen(uses),
    };
    let options = scatter.branches.iter().map(|uses| branch(uses.to_string())).collect();
    let merge = match scatter.merge {
        ScatterMerge::Collect => "every result is kept under its name",
        ScatterMerge::ConcatLists => "the results are joined",
        ScatterMerge::FirstSuccess => "the first that succeeded, in declared order, is taken",
    };
    Decision {
        word: GatewayType::ParallelSplit,
        label: format!("Call {} capabilities on one input for {}", scatter.branches.len(), step.id),
        rationale: format!("The skill asks several capabilities the same thing; {merge}."),
        basis: format!("scatter with {}: {merge}", scatter.merge.name()),
        options,
    }
}

fn each(step: &Step, foreach: &Foreach, outcome: &StepOutcome) -> Decision {
    let items = foreach.items().text();
    let count = outcome.meta.get("foreach_count").and_then(Value::as_u64);
    let (call, none) = (format!("call once for each item of `{items}`"), "call nothing".to_owned());
    let options = match count {
        Some(0) => vec![rejected(call, "there is no item"), chosen(none)],
        _ => vec![chosen(call), rejected(none, "there are items")],
    };
    let side_by_side = foreach.parallel > 1;
    Decision {
        word: if side_by_side { GatewayType::ParallelSplit } else { GatewayType::LoopGateway },
        label: format!("Go through the items of {}", step.id),
        rationale: format!(
            "The skill calls {} for each item, {} at a time.",
            step.uses,
            foreach.parallel.max(1)
        ),
        basis: match count {
            Some(count) => format!("`{items}` has {count} items"),
            None => format!("`{items}` has items, and one of the calls ended the step"),
        },
        options,
    }
}

fn left(step: &Step, whiles: &While, outcome: &StepOutcome) -> Decision {
    let condition = whiles.condition().text();
    let made = outcome.commits.len();
    let exhausted = outcome.meta.get("while_exhausted") == Some(&Value::Bool(true));
    let options = if exhausted {
        let limit = format!("{made} iterations are all that are allowed");
        vec![
            rejected("repeat", limit),
            rejected("leave the loop", "nobody asked the condition once the limit was reached"),
            chosen("stop at the limit"),
        ]
    } else {
        let over = format!("`{condition}` no longer holds");
        vec![rejected("repeat", over.clone()), chosen("leave the loop"), rejected("stop at the limit", over)]
    };
    let state = if exhausted { "the limit is reached" } else { "the condition no longer holds" };
    Decision {
        word: GatewayType::LoopGateway,
        label: format!("Leave the loop of {}", step.id),
        rationale: format!("The skill repeats {} while `{condition}`, within a limit.", step.id),
        basis: format!("after {made} iterations {state}"),
        options,
    }
}

/// Members of an input that hold the question, in order of preference.
const QUESTION: &[&str] = &["question", "prompt", "message", "text", "title"];
/// Members of an input that hold the possible answers.
const OPTIONS: &[&str] = &["options", "choices"];
/// Members of an output that hold the answer.
const ANSWER: &[&str] = &["answer", "choice", "decision", "selected", "value", "approved", "confirmed"];
/// Members of an output that hold the reason.
const REASON: &[&str] = &["reason", "because", "note", "comment"];

/// Returns the answer in an output.
pub(super) fn answer_in(produced: &Value) -> Option<&Value> {
    first(produced, ANSWER)
}

/// Returns the question an input asks.
pub(super) fn question(input: &Value) -> Option<String> {
    first(input, QUESTION).map(shown)
}

/// Returns the labels an input offers.
pub(super) fn offered(input: &Value) -> Vec<String> {
    let items = first(input, OPTIONS).and_then(Value::as_array).unwrap_or_default();
    let label = |item: &Value| first(item, &["label", "value", "id"]).map_or_else(|| shown(item), shown);
    items.iter().map(label).collect()
}

/// Returns a person's answer as a decision among the offered options.
pub(super) fn of_person(step: &str, kind: ActionType, outcome: &StepOutcome) -> Option<Decision> {
    let produced = outcome.produced.as_ref()?;
    let answer = answer_in(produced)?;
    let because = first(produced, REASON).map(shown);
    let by = first(produced, &["by"]).map_or_else(|| "a person".to_owned(), shown);
    let answered = match answer {
        Value::Bool(true) => "approve".to_owned(),
        Value::Bool(false) => "reject".to_owned(),
        other => shown(other),
    };
    let mut labels = offered(&outcome.input);
    let mut seen = std::collections::BTreeSet::new();
    labels.retain(|label| seen.insert(label.clone()));
    if let (Value::Bool(_), []) = (answer, labels.as_slice()) {
        labels = vec!["approve".to_owned(), "reject".to_owned()];
    }
    if !labels.contains(&answered) {
        labels.push(answered.clone());
    }
    let why_not = match &because {
        Some(because) => format!("{by} chose {answered}: {because}"),
        None => format!("{by} chose {answered}"),
    };
    let option = |label: String| -> DecisionOption {
        if label == answered { chosen(label) } else { rejected(label, why_not.clone()) }
    };
    let asked = question(&outcome.input).unwrap_or_else(|| format!("what {step} should do"));
    Some(Decision {
        word: match kind {
            ActionType::Gateway(word) => word,
            _ => GatewayType::ExclusiveDecision,
        },
        label: text::shortened(&asked),
        rationale: format!("The skill leaves this to a person, and {step} takes the answer in."),
        basis: because.unwrap_or_else(|| format!("{by} answered")),
        options: labels.into_iter().map(option).collect(),
    })
}

fn first<'v>(value: &'v Value, keys: &[&str]) -> Option<&'v Value> {
    keys.iter().find_map(|key| value.get(key).filter(|found| !found.is_null()))
}

fn shown(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if text.trim().is_empty() { "(nothing)".to_owned() } else { text::shortened(&text) }
}
