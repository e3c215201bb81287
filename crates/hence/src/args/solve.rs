//! The arguments of `hence solve` and `hence task`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap::builder::NonEmptyStringValueParser;

use super::{Output, RunRef, limits::LimitArgs};

#[derive(ClapArgs)]
#[command(
    after_help = "Examples:\n  hence solve \"Which service failed first?\" --context logs.txt --model http://127.0.0.1:11434/v1#qwen3\n  \
    hence solve \"Who is named most?\" --context 'mail/**/*.txt' --model openai:gpt-5-mini --max-tokens 500000\n\n\
    Exit codes: 0 answered, 1 failed or refused, 2 usage, 4 store, 5 a limit ended it with a partial answer, or it was stopped"
)]
pub(crate) struct SolveArgs {
    /// The question
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) question: String,
    /// An input: a file, a folder, or a pattern with *, ? and **; .json, .jsonl and .csv are read as values, text:FILE always as text; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) context: Vec<String>,
    /// The model: openai:NAME, anthropic:NAME, or an address and a name as http://127.0.0.1:11434/v1#NAME
    #[arg(long, value_name = "NAME")]
    pub(crate) model: String,
    /// The model of sub-calls and children [default: the model]
    #[arg(long, value_name = "NAME")]
    pub(crate) sub_model: Option<String>,
    /// The system prompt, instead of the built-in one
    #[arg(long, value_name = "FILE")]
    pub(crate) system: Option<PathBuf>,
    /// The run's id. A run that has it already is resumed, or shown when it has ended [default: a new run]
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) run_id: Option<String>,
    /// The time the run is created, as 2026-02-02T00:00:00Z [default: now]
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
    /// Accept FINAL(…), FINAL_VAR(…) and the dict `answer` of other runtimes besides `Final` (compat)
    #[arg(long, value_name = "final|compat", default_value = "final")]
    pub(crate) answer_forms: hence_solve::AnswerForms,
    /// After a crash, ask a model again whose call was under way (retry), or stop until `hence resume --repeat-undecided` (ask)
    #[arg(long, value_name = "retry|ask", default_value = "retry")]
    pub(crate) recovery: hence_solve::Recovery,
    /// Make at most this many calls at the same time
    #[arg(long, value_name = "CALLS", default_value_t = 8)]
    pub(crate) concurrency: usize,
    /// Stop after this many seconds; `hence resume` continues
    #[arg(long, value_name = "SECONDS", value_parser = super::skill::seconds)]
    pub(crate) deadline: Option<std::time::Duration>,
    #[command(flatten)]
    pub(crate) models: ModelArgs,
    #[command(flatten)]
    pub(crate) budget: BudgetArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

/// The parameters of models.
#[derive(ClapArgs)]
#[command(next_help_heading = "Models")]
pub(crate) struct ModelArgs {
    /// The most tokens of one reply
    #[arg(long, value_name = "TOKENS", default_value_t = 4096)]
    pub(crate) reply_tokens: u64,
    /// The window of the model; the conversation is summarized before it is full
    #[arg(long, value_name = "TOKENS", default_value_t = hence_solve::WINDOW_TOKENS_DEFAULT)]
    pub(crate) window: u64,
    /// The temperature
    #[arg(long, value_name = "NUMBER")]
    pub(crate) temperature: Option<f64>,
    /// The seed
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// The price of a million tokens sent and received, as USD:2.50:10
    #[arg(long, value_name = "CURRENCY:IN:OUT")]
    pub(crate) price: Option<String>,
}

/// The limits of the loop.
#[derive(ClapArgs)]
#[command(next_help_heading = "Limits")]
pub(crate) struct BudgetArgs {
    /// The turns of one run
    #[arg(long, value_name = "TURNS")]
    pub(crate) max_turns: Option<u64>,
    /// The turns of the run and all its children
    #[arg(long, value_name = "TURNS")]
    pub(crate) max_tree_turns: Option<u64>,
    /// The levels of children, at most 5
    #[arg(long, value_name = "LEVELS")]
    pub(crate) max_depth: Option<u64>,
    /// The sub-calls of the run and all its children
    #[arg(long, value_name = "CALLS")]
    pub(crate) max_sub_calls: Option<u64>,
    /// The bytes of texts and values that the run and its children record
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_bytes: Option<u64>,
    /// The seconds in which all blocks together may compute
    #[arg(long, value_name = "SECONDS")]
    pub(crate) max_interpreter_seconds: Option<u64>,
    /// The milliseconds in which one block may compute
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    pub(crate) block_milliseconds: Option<u64>,
    /// The memory of the interpreter, in bytes
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..=68_719_476_736))]
    pub(crate) block_memory: Option<u64>,
    /// The text that one block may print, in bytes
    #[arg(long, value_name = "BYTES")]
    pub(crate) block_output: Option<usize>,
}

/// The limits that a fork of a run of the loop may change.
#[derive(ClapArgs, Clone, Default)]
#[command(next_help_heading = "Limits of `hence solve`")]
pub(crate) struct RaisedArgs {
    /// The turns of one run
    #[arg(long, value_name = "TURNS")]
    max_turns: Option<u64>,
    /// The turns of the run and all its children
    #[arg(long, value_name = "TURNS")]
    max_tree_turns: Option<u64>,
    /// The sub-calls of the run and all its children
    #[arg(long, value_name = "CALLS")]
    max_sub_calls: Option<u64>,
    /// The bytes of texts and values that the run and its children record
    #[arg(long, value_name = "BYTES")]
    max_bytes: Option<u64>,
    /// The seconds in which all blocks together may compute
    #[arg(long, value_name = "SECONDS")]
    max_interpreter_seconds: Option<u64>,
}

impl RaisedArgs {
    /// Returns whether a limit is given.
    pub(crate) fn is_given(&self) -> bool {
        let all = [
            self.max_turns,
            self.max_tree_turns,
            self.max_sub_calls,
            self.max_bytes,
            self.max_interpreter_seconds,
        ];
        all.iter().any(Option::is_some)
    }

    /// Returns limits with the given ones in their place.
    pub(crate) fn raised(&self, limits: &hence_solve::SolveLimits) -> hence_solve::SolveLimits {
        hence_solve::SolveLimits {
            turns: self.max_turns.unwrap_or(limits.turns),
            tree_turns: self.max_tree_turns.unwrap_or(limits.tree_turns),
            sub_calls: self.max_sub_calls.unwrap_or(limits.sub_calls),
            bytes: self.max_bytes.unwrap_or(limits.bytes),
            interpreter_seconds: self.max_interpreter_seconds.unwrap_or(limits.interpreter_seconds),
            ..limits.clone()
        }
    }
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence task answer-1 --document cost")]
pub(crate) struct TaskArgs {
    #[command(flatten)]
    pub(crate) run: RunRef,
    /// The document: the task tree, the trajectory of one run, or the cost of the tree
    #[arg(long, value_name = "tree|trajectory|cost", default_value = "tree")]
    pub(crate) document: TaskDocument,
    #[command(flatten)]
    pub(crate) output: Output,
}

hence_canon::words! {
    /// A document about a run of the loop.
    pub(crate) enum TaskDocument {
        /// The task tree.
        Tree = "tree",
        /// The trajectory.
        Trajectory = "trajectory",
        /// The cost.
        Cost = "cost",
    }
}
