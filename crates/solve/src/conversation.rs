//! The conversation with the model of the turns: it follows from the records, so every request can be built again.

use std::fmt::Write as _;
use std::sync::Arc;

use hence_canon::{Canonical, Digest, Object, Value};

use crate::block::NAMES_LIMIT;
use crate::record::{Block, BlockEnd};
use crate::spec::{ContextKind, ContextPin, Spec};

/// The characters of one block's output that the model sees.
pub(crate) const SHOWN_CHARACTERS_MAX: usize = 20_000;

/// The names of variables that the model sees after a block.
const SHOWN_VARIABLES_MAX: usize = 50;

/// The characters of a question that the first message shows. A child is often given a long text as its question.
const QUESTION_CHARACTERS_MAX: usize = 8000;

/// The author of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The loop.
    User,
    /// The model.
    Assistant,
}

/// One message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The author.
    pub role: Role,
    /// The text.
    pub text: Arc<str>,
}

impl Message {
    /// Makes a message of the loop.
    pub fn user(text: impl Into<Arc<str>>) -> Self {
        Self { role: Role::User, text: text.into() }
    }

    /// Makes a message of the model. An endpoint may refuse an empty one.
    pub fn assistant(text: &Arc<str>) -> Self {
        let text = if text.trim().is_empty() { "(no text)".into() } else { text.clone() };
        Self { role: Role::Assistant, text }
    }
}

/// A request to a model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The system prompt; none for sub-calls.
    pub system: Option<Arc<str>>,
    /// The messages.
    pub messages: Vec<Message>,
}

impl Request {
    /// Returns the bytes of all texts.
    pub fn bytes(&self) -> u64 {
        let messages: usize = self.messages.iter().map(|message| message.text.len()).sum();
        (messages + self.system.as_ref().map_or(0, |system| system.len())) as u64
    }

    /// Returns the digest of the request, whichever model it goes to.
    pub fn digest(&self) -> Digest {
        let message = |message: &Message| {
            let role = match message.role {
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            Object::from_iter([("role", Value::from(role)), ("text", message.text.clone().into())])
        };
        let members: [(&str, Value); 2] = [
            ("system", self.system.clone().map_or(Value::Null, Value::from)),
            ("messages", self.messages.iter().map(message).collect()),
        ];
        Canonical::of(&members.into_iter().collect::<Object>().into()).digest()
    }
}

/// Returns the first message: the question and the sizes of the contexts.
pub(crate) fn first_message(spec: &Spec) -> String {
    let question: String = spec.question.chars().take(QUESTION_CHARACTERS_MAX).collect();
    let mut text = format!("Question: {question}");
    if question.len() < spec.question.len() {
        text.push_str("\n(The question is longer: the variable `prompt` holds all of it.)");
    }
    text.push_str("\n\n");
    match spec.contexts.as_slice() {
        [] => text.push_str("There is no input: `context` does not exist."),
        [only] => {
            let _ = write!(text, "The variable `context` holds the input: {}.", describe(only));
        }
        several => {
            let _ = writeln!(text, "There are {} inputs; `context` is `context_0`.", several.len());
            for (number, pin) in several.iter().enumerate() {
                let _ = writeln!(text, "- `context_{number}`: {}", describe(pin));
            }
        }
    }
    text
}

fn describe(pin: &ContextPin) -> String {
    let ContextPin { path, characters, files, bytes, .. } = pin;
    match pin.kind {
        ContextKind::Text => {
            let way = if *bytes > crate::context::LOADED_BYTES_MAX {
                ", too large to be a `str`: use `len`, `context[a:b]`, `find`, `count`, `slice` and `search`"
            } else {
                ""
            };
            format!("a str of {characters} characters from {path}{way}")
        }
        ContextKind::Files => {
            let way = if *bytes > crate::context::LOADED_BYTES_MAX {
                "; too large for one list: take files with `context[i]`, `slice(…, item=i)` and `search`"
            } else {
                ""
            };
            format!(
                "a list of {files} files {{\"path\", \"text\"}} of {characters} characters from {path}{way}"
            )
        }
        ContextKind::Json => format!("a value read from JSON of {characters} characters from {path}"),
        ContextKind::JsonLines => format!("a list of values, one from each line of {path}"),
        ContextKind::Csv => format!("a list of rows, each a dict by the names in the first line of {path}"),
        ContextKind::Blob => format!("a value of {characters} characters"),
    }
}

/// Returns the line that says which turn comes next.
pub(crate) fn turn_line(turn: u64, turns: u64) -> String {
    match turn {
        1 => format!("Turn 1 of {turns}. Look at the input before you answer."),
        _ if turn == turns => format!("Turn {turn} of {turns}, the last one: assign `Final`."),
        _ => format!("Turn {turn} of {turns}."),
    }
}

/// Returns the text that tells the model what a block did.
pub(crate) fn block_feedback(block: &Block, names: &[(String, &'static str)]) -> String {
    let mut text = format!("Block {}:\n", block.block);
    let shown: String = block.printed.chars().take(SHOWN_CHARACTERS_MAX).collect();
    if shown.is_empty() {
        text.push_str("(it printed nothing)\n");
    } else {
        text.push_str(&shown);
        if !shown.ends_with('\n') {
            text.push('\n');
        }
    }
    let dropped = block.printed.chars().count().saturating_sub(SHOWN_CHARACTERS_MAX);
    if dropped > 0 {
        let _ = writeln!(text, "(… {dropped} more characters were printed)");
    }
    match &block.end {
        BlockEnd::Completed => {}
        BlockEnd::Raised(error) => {
            let line = error.line.map(|line| format!(" (line {line})")).unwrap_or_default();
            let _ = writeln!(text, "{}: {}{line}", error.kind, error.message);
        }
        BlockEnd::Stopped { limit } if &**limit == NAMES_LIMIT => {
            text.push_str("The block was stopped: it changes names with leading underscores that the session needs. Its variables are lost; those of earlier blocks are there.\n");
        }
        BlockEnd::Stopped { limit } => {
            let _ = writeln!(
                text,
                "The block was stopped: limit of {limit}. Its variables are lost; those of earlier blocks are there."
            );
        }
    }
    if let Some((_, kind)) = block.others.iter().find(|(name, _)| &**name == "Final") {
        let _ = writeln!(text, "(`Final` holds a {kind} that is no data, so it is no answer)");
    }
    for (name, reason) in &block.refused {
        let _ = writeln!(text, "(variable {name} is not stored: {reason})");
    }
    let listed: Vec<String> =
        names.iter().take(SHOWN_VARIABLES_MAX).map(|(name, kind)| format!("{name} ({kind})")).collect();
    if !listed.is_empty() {
        let more = names.len().saturating_sub(SHOWN_VARIABLES_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let _ = writeln!(text, "Variables: {}{more}", listed.join(", "));
    }
    text
}

/// The text that tells the model that nothing ran.
pub(crate) const NOTHING_RAN: &str = "Your reply has no fenced `repl` block, so nothing ran. Write code in one; assign `Final` when you know the answer.";

/// The text that tells the model that its reply was cut.
pub(crate) const CUT: &str = "Your reply was cut off at its limit of tokens. Write shorter replies.";

/// The text that tells the model that the last block of a reply that was cut did not run.
pub(crate) const CUT_BLOCK: &str =
    " Its last block has no closing fence, so that block was not run: write it again.";

/// The text that asks the model for a summary of the conversation.
pub(crate) const SUMMARIZE: &str = "The conversation becomes too long. Summarize it for yourself: what is known about the input, which variables hold what, what was tried, what is left to do. The turns stay available as a variable. Reply with the summary alone.";

/// Returns the message that replaces the turns that a summary covers.
pub(crate) fn summary_message(first: &str, summary: &str, variable: &str) -> String {
    format!(
        "{first}\n\nSummary of the turns so far (the turns themselves: `get(\"{variable}\")`):\n{summary}\n\nContinue from there."
    )
}
