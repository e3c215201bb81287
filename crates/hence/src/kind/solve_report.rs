//! The report of a run of `hence solve`.

use std::collections::BTreeSet;

use hence_canon::Value;
use hence_solve::{ContextKind, Entry, Progress, Read, Spec};

use super::RunEnd;
use crate::prelude::*;

/// The parts of contexts that a report lists.
const CITATIONS_MAX: usize = 20;

/// The characters of an answer in a report for people.
const ANSWER_CHARACTERS_MAX: usize = 20_000;

/// The answer to a question over a long input.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SolveReport {
    /// The question.
    question: String,
    /// The answer: the value of `Final`; null when there is none.
    answer: Option<Data>,
    /// The best partial answer of a run that a limit ended.
    partial_answer: Option<String>,
    /// The limit that ended the run.
    limit: Option<LimitRow>,
    /// The parts of the input that the code read, at most 20.
    citations: Vec<CitationRow>,
    /// The number of parts that are not listed.
    citations_left_out: usize,
    /// Turns of this run.
    turns: u64,
    /// Turns of this run and its children.
    tree_turns: u64,
    /// Sub-calls of this run and its children.
    sub_calls: u64,
    /// Sub-calls that an equal earlier one answered.
    cached: u64,
    /// The child runs.
    children: Vec<String>,
    /// `completed`, `failed`, or `running` for a run that stopped.
    status: String,
    /// The run's id.
    run: String,
    #[serde(flatten)]
    end: RunEnd,
}

/// A limit that ended a run.
#[derive(Serialize, JsonSchema)]
struct LimitRow {
    name: String,
    message: String,
}

/// A part of a context that a block read.
#[derive(Serialize, JsonSchema)]
struct CitationRow {
    /// `part`: exactly these characters were read. `value`: the code had the whole value, and which parts it looked at is not known.
    read_as: &'static str,
    /// The name of the context.
    context: String,
    /// The file.
    path: String,
    /// The number of the file in a list of files.
    item: Option<u64>,
    /// The first character.
    start: u64,
    /// The character after the last.
    end: u64,
}

impl SolveReport {
    pub(super) fn of(progress: &Progress, spec: &Spec, end: RunEnd) -> Self {
        let (mut reads, mut used_whole) = (BTreeSet::<Read>::new(), BTreeSet::<u64>::new());
        let (mut children, mut left_out) = (Vec::new(), 0);
        for (_, entry) in progress.path() {
            match &**entry {
                Entry::Block(block) => {
                    reads.extend(&block.reads);
                    used_whole.extend(&block.uses);
                    left_out += block.reads_left_out;
                }
                Entry::Call(call) => children.extend(call.child.as_ref().map(|child| child.run.to_string())),
                _ => {}
            }
        }
        let row = |read: &Read| {
            let pin = usize::try_from(read.context).ok().and_then(|number| spec.contexts.get(number));
            let is_list = pin.is_some_and(|pin| pin.kind == ContextKind::Files);
            CitationRow {
                read_as: "part",
                context: format!("context_{}", read.context),
                path: pin.map(|pin| pin.path.to_string()).unwrap_or_default(),
                item: is_list.then_some(read.item),
                start: read.start,
                end: read.end,
            }
        };
        let whole = |number: &u64| {
            let pin = usize::try_from(*number).ok().and_then(|number| spec.contexts.get(number));
            CitationRow {
                read_as: "value",
                context: format!("context_{number}"),
                path: pin.map(|pin| pin.path.to_string()).unwrap_or_default(),
                item: None,
                start: 0,
                end: pin.map(|pin| pin.characters).unwrap_or_default(),
            }
        };
        let listed = reads.iter().map(row).chain(used_whole.iter().map(whole));
        let more = (reads.len() + used_whole.len()).saturating_sub(CITATIONS_MAX);
        let ended = progress.end();
        let used = progress.used();
        Self {
            question: spec.question.to_string(),
            answer: progress.variables().answer().map(Data),
            partial_answer: ended.and_then(|end| end.partial.as_ref().map(ToString::to_string)),
            limit: ended.map(|end| LimitRow {
                name: end.exhausted.limit.clone(),
                message: end.exhausted.message.clone(),
            }),
            citations_left_out: more.saturating_add(usize::try_from(left_out).unwrap_or(usize::MAX)),
            citations: listed.take(CITATIONS_MAX).collect(),
            turns: progress.turns(),
            tree_turns: used.turns,
            sub_calls: used.sub_calls,
            cached: used.cached,
            children,
            status: end.status.clone(),
            run: end.run.clone(),
            end,
        }
    }
}

impl Text for SolveReport {
    fn text(&self) -> String {
        let mut text = String::new();
        let shown = |text: &str| -> String {
            let text: String = text.chars().take(ANSWER_CHARACTERS_MAX).collect();
            text.lines().map(escape).collect::<Vec<_>>().join("\n")
        };
        match (&self.answer, &self.partial_answer) {
            (Some(Data(Value::String(answer))), _) => text.push_str(&shown(answer)),
            (Some(Data(answer)), _) => text.push_str(&shown(&hence_canon::pretty(answer))),
            (None, Some(partial)) => {
                text.push_str(&format!("No answer. Best partial answer:\n{}", shown(partial)))
            }
            (None, None) => text.push_str("No answer."),
        }
        text.push_str("\n\n");
        let mut rows = Vec::new();
        rows.extend(
            self.limit.as_ref().map(|limit| ("limit", format!("{}: {}", limit.name, escape(&limit.message)))),
        );
        for (place, citation) in self.citations.iter().enumerate() {
            let item = citation.item.map(|item| format!(" file {item}")).unwrap_or_default();
            let part = match citation.read_as {
                "value" => " as a value; which parts is not known".to_owned(),
                _ => format!(" {}–{}", citation.start, citation.end),
            };
            let read = format!("{}{item}{part}", escape(&citation.path));
            rows.push((if place == 0 { "read" } else { "" }, read));
        }
        if self.citations_left_out > 0 {
            rows.push(("", format!("and {} more parts", self.citations_left_out)));
        }
        let mut work = vec![counted(self.turns, "turn"), counted(self.sub_calls, "sub-call")];
        if self.cached > 0 {
            work.push(format!("{} of them answered by earlier ones", self.cached));
        }
        if !self.children.is_empty() {
            let count = self.children.len();
            work.push(if count == 1 { "1 child run".to_owned() } else { format!("{count} child runs") });
        }
        rows.push(("work", work.join(", ")));
        rows.extend(self.end.rows());
        text.push_str(&pairs(&rows));
        text
    }
}
