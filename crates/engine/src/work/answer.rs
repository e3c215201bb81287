//! The answer: sentences made of the conclusions, each with the ids of its evidence.

use std::sync::Arc;

use hence_canon::{Object, Value};

use super::text::spoken;
use super::verify::accepted;
use super::{BY, INTERMEDIATE, list_of, text_of, texts_of};

/// The most ids that one sentence shows. The statement lists all of them.
const SHOWN_IDS_MAX: usize = 6;

/// One sentence of an answer.
struct Statement {
    /// `concluded`, `disputed`, `undecided`, `rejected`, `broken` or `unjudged`; `unchecked` for the words of a capability.
    kind: &'static str,
    text: String,
    evidence: Vec<Arc<str>>,
}

impl Statement {
    fn value(&self) -> Value {
        let members: [(&str, Value); 3] = [
            ("kind", self.kind.into()),
            ("text", self.text.as_str().into()),
            ("evidence", self.evidence.iter().cloned().collect()),
        ];
        members.into_iter().collect::<Object>().into()
    }

    fn sentence(&self) -> String {
        let Self { text, evidence, .. } = self;
        if evidence.is_empty() {
            return format!("{text}.");
        }
        let shown: Vec<&str> = evidence.iter().take(SHOWN_IDS_MAX).map(|id| &**id).collect();
        match evidence.len().saturating_sub(SHOWN_IDS_MAX) {
            0 => format!("{text} [{}].", shown.join(", ")),
            more => format!("{text} [{} and {more} more].", shown.join(", ")),
        }
    }
}

/// Writes the answer from conclusions and their verification.
pub(crate) fn answer(conclusions: &[Value], verification: &Value) -> Value {
    let asked = |conclusion: &&Value| conclusion.get(INTERMEDIATE).is_none();
    let concluded = accepted(conclusions, verification).into_iter().filter(asked).map(concluded);
    let statements: Vec<Statement> = concluded.chain(open(conclusions, verification)).collect();
    output(&statements)
}

fn concluded(conclusion: &Value) -> Statement {
    let value = conclusion.get("value").map(spoken).unwrap_or_default();
    Statement {
        kind: "concluded",
        text: format!("{}: {value}", subject(text_of(conclusion, "goal"))),
        evidence: texts_of(conclusion, "evidence"),
    }
}

/// Returns a goal without the marks at its end.
fn subject(goal: &str) -> &str {
    goal.trim_end_matches(['.', ':', '?', '!', ' '])
}

/// Returns the statements about everything that is not established. They follow every answer, whoever wrote it.
fn open(conclusions: &[Value], verification: &Value) -> Vec<Statement> {
    let about = |kind, word: &str, subject: &str, value: &Value| Statement {
        kind,
        text: format!("{word}: {subject} ({})", text_of(value, "reason")),
        evidence: texts_of(value, "evidence"),
    };
    let mut found: Vec<Statement> = Vec::new();
    for conclusion in conclusions {
        let Some(other) = conclusion.get("disagrees") else { continue };
        let value = other.get("value").map(spoken).unwrap_or_default();
        let goal = subject(text_of(conclusion, "goal"));
        found.push(Statement {
            kind: "disputed",
            text: format!("Disputed: {goal} ({} says {value}; the method decided)", text_of(other, BY)),
            evidence: Vec::new(),
        });
    }
    for conclusion in conclusions.iter().filter(|conclusion| text_of(conclusion, "status") == "undecided") {
        found.push(about("undecided", "Not decided", subject(text_of(conclusion, "goal")), conclusion));
    }
    for rejected in list_of(verification, "rejected") {
        let goal =
            rejected.get("conclusion").map(|conclusion| text_of(conclusion, "goal")).unwrap_or_default();
        found.push(about("rejected", "Rejected", subject(goal), rejected));
    }
    for constraint in list_of(verification, "constraints") {
        let text = subject(text_of(constraint, "constraint"));
        match text_of(constraint, "status") {
            "broken" => found.push(about("broken", "Constraint broken", text, constraint)),
            "unjudged" => found.push(about("unjudged", "Constraint not judged", text, constraint)),
            _ => {}
        }
    }
    found
}

fn output(statements: &[Statement]) -> Value {
    let summary: Vec<String> = statements.iter().map(Statement::sentence).collect();
    let members: [(&str, Value); 2] = [
        ("summary", summary.join("\n").into()),
        ("statements", statements.iter().map(Statement::value).collect()),
    ];
    members.into_iter().collect::<Object>().into()
}

/// Puts the sentences that a capability proposes beside the answer, which is made of the conclusions in any case: nothing here can
/// tell whether the words of a sentence say what its evidence says. A sentence stays if it cites evidence, all of it from
/// conclusions that the verification left standing.
///
/// A capability that gives a `summary` without sentences writes the answer in its own words, which nothing can check; the
/// output says so.
///
/// # Errors
/// The expected and the found value, in words.
pub(crate) fn check_answer(
    conclusions: &[Value],
    verification: &Value,
    capability: &str,
    reply: &Value,
) -> Result<Value, String> {
    let own = answer(conclusions, verification);
    let own = own.as_object().cloned().unwrap_or_default();
    let Some(sentences) = reply.get("sentences").and_then(Value::as_array) else {
        let Some(summary) = reply.get("summary").and_then(Value::as_str).filter(|text| !text.is_empty())
        else {
            return Err(
                "expected an object with `sentences`, a list, or `summary`, a text that is not empty"
                    .to_owned(),
            );
        };
        return Ok(own.with("summary", summary).with("unchecked", true).with(BY, capability).into());
    };
    let cited: Vec<Arc<str>> = accepted(conclusions, verification)
        .into_iter()
        .flat_map(|conclusion| texts_of(conclusion, "evidence"))
        .collect();
    let (mut words, mut rejected) = (Vec::new(), Vec::new());
    for sentence in sentences {
        let (text, evidence) = (text_of(sentence, "text"), texts_of(sentence, "evidence"));
        let defect = match evidence.iter().find(|id| !cited.contains(id)) {
            _ if text.trim().is_empty() => Some("it is empty".to_owned()),
            _ if evidence.is_empty() => Some("it cites no evidence".to_owned()),
            Some(id) => Some(format!("it cites `{id}`, on which no accepted conclusion stands")),
            None => None,
        };
        match defect {
            None => {
                let statement = Statement { kind: "unchecked", text: subject(text).to_owned(), evidence };
                words.push(statement);
            }
            Some(reason) => {
                let members = [("reason", Value::from(reason)), ("sentence", sentence.clone())];
                rejected.push(Value::from(Object::from_iter(members)));
            }
        }
    }
    let own = own.with("rejected", rejected).with(BY, capability);
    if words.is_empty() {
        return Ok(own.into());
    }
    let text: Vec<String> = words.iter().map(Statement::sentence).collect();
    let sentences: Vec<Value> = words.iter().map(Statement::value).collect();
    Ok(own.with("words", text.join("\n")).with("sentences", sentences).into())
}
