//! The answer that a log records for an approval: only a yes approves.

use hence_canon::{Value, parse};

/// The answer to a question for approval.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub(super) enum Answer {
    /// Nothing says what was answered.
    Unstated,
    /// It affirms.
    Yes,
    /// It neither affirms nor refuses: nobody answered, or not yet, or with a condition.
    Neither,
    /// It refuses.
    No,
}

/// Members that hold an answer, without the marks inside of their names.
#[rustfmt::skip]
const ANSWERS: &[&str] = &[
    "approved", "isapproved", "approve", "approval", "approvalstatus", "approvaldecision", "approvalresult", "decision",
    "userdecision", "humandecision", "reviewdecision", "verdict", "answer", "useranswer", "response", "userresponse",
    "humanresponse", "reply", "choice", "chosen", "selected", "selection", "vote", "granted", "accepted", "accept",
    "allowed", "allow", "confirmed", "confirm", "confirmation", "permitted", "permission", "authorized", "authorised",
    "consent", "feedback", "humanfeedback",
];
/// Members that may hold an answer, or only say that the question was carried out.
#[rustfmt::skip]
const MAYBE_ANSWERS: &[&str] = &[
    "value", "result", "outcome", "status", "state", "output", "text", "content", "message", "action", "label", "data",
    "payload", "body", "returnvalue",
];
/// Members that refuse if they are true.
#[rustfmt::skip]
const REFUSALS: &[&str] = &[
    "rejected", "isrejected", "reject", "denied", "deny", "declined", "decline", "refused", "disapproved", "vetoed",
    "blocked", "revoked",
];
/// Members that say, if they are true, that nobody answered.
#[rustfmt::skip]
const NO_ANSWERS: &[&str] = &[
    "timedout", "timeout", "expired", "cancelled", "canceled", "skipped", "pending", "ignored", "dismissed",
    "aborted", "deferred", "abstained",
];

/// Words that grant, which mean nothing else.
#[rustfmt::skip]
const GRANTING: &[&str] = &[
    "approved", "approve", "approves", "approving", "granted", "grant", "grants", "accepted", "accept", "accepts",
    "allowed", "allow", "confirmed", "confirm", "confirms", "authorized", "authorised", "authorize", "authorise",
    "permitted", "permit", "agreed", "agree", "agrees", "consented", "consent", "lgtm", "yes", "yep", "yeah", "yup",
    "ja", "oui", "si", "sí", "affirmative",
];
/// Words that grant where they are the answer to a question, and otherwise say that something was carried out.
#[rustfmt::skip]
const GRANTING_AS_ANSWER: &[&str] = &["true", "ok", "okay", "y", "sure", "proceed", "go", "ship", "signed", "fine"];
/// Words that refuse wherever they stand.
#[rustfmt::skip]
const REFUSING: &[&str] = &[
    "rejected", "reject", "rejects", "rejecting", "rejection", "denied", "deny", "denies", "denial", "declined", "decline",
    "declines", "refused", "refuse", "refuses", "refusal", "disapproved", "disapprove", "disapproves", "unapproved",
    "vetoed", "veto", "nope", "nah", "nein", "non", "nay", "negative", "false", "forbidden", "disallowed", "disallow",
    "unauthorized", "unauthorised", "blocked", "prohibited", "revoked", "withheld", "overruled", "stop", "abort",
];
/// Words by which nobody has answered, or not with yes or no.
#[rustfmt::skip]
const UNANSWERED: &[&str] = &[
    "timeout", "timedout", "timed", "expired", "expire", "expires", "cancelled", "canceled", "cancel", "skipped", "skip",
    "later", "maybe", "perhaps", "pending", "unanswered", "abstain", "abstained", "deferred", "defer", "postponed",
    "postpone", "ignored", "dismissed", "withdrawn", "unknown", "undecided", "undefined", "null", "unclear", "awaiting",
    "waiting", "wait", "escalated", "escalate", "tomorrow", "soon", "aborted", "interrupted", "stopped", "unsure",
    "bypassed", "waived", "hold", "incomplete", "partial", "partially", "unavailable", "missing", "failed", "error",
];
/// Words that make a yes a condition or a wish.
#[rustfmt::skip]
const CONDITIONS: &[&str] = &[
    "if", "unless", "until", "once", "when", "provided", "would", "could", "should", "might", "will", "shall", "almost",
    "except", "awaits", "needs", "requires", "required", "requested", "who", "whether", "asked", "asking", "before",
];
/// Words that turn a yes into a no.
#[rustfmt::skip]
const NEGATIONS: &[&str] = &[
    "not", "never", "cannot", "cant", "dont", "doesnt", "didnt", "wont", "isnt", "wasnt", "couldnt", "wouldnt",
    "shouldnt", "without", "nobody", "nothing", "un", "neither", "nor", "hasnt", "havent",
];
/// Things of which none speaks for a yes: `no objections`.
#[rustfmt::skip]
const OBJECTIONS: &[&str] = &[
    "objection", "objections", "issue", "issues", "problem", "problems", "concern", "concerns", "comment", "comments",
    "change", "changes", "further", "remarks", "questions", "blockers", "findings", "more", "other", "additional",
];

/// The levels of a document that are read.
const DEPTH_MAX: usize = 8;

/// The places of a log that may hold the answer to a question.
pub(super) struct Places<'a> {
    pub(super) name: &'a str,
    /// The output, or the message of the error.
    pub(super) output: Option<&'a str>,
    /// Whether it ended with an error: its message can refuse, and nothing else.
    pub(super) failed: bool,
    /// The attributes, the metadata and the payload.
    pub(super) members: Vec<(&'a str, &'a Value)>,
    /// The arguments, which can refuse and do not approve.
    pub(super) arguments: Option<&'a Value>,
}

impl Places<'_> {
    /// Returns the answer; a refusal in one place overrules the others.
    pub(super) fn answer(&self) -> Answer {
        let output = self.output.map_or(Answer::Unstated, of_output);
        let output = if self.failed && output != Answer::No { Answer::Unstated } else { output };
        let beside = self.members.iter().map(|(key, value)| of_member(key, value)).max();
        let given =
            self.arguments.map(|arguments| inside(arguments, 0)).filter(|answer| *answer == Answer::No);
        let beside = beside.max(given).unwrap_or(Answer::Unstated);
        // An output that says nothing of an answer does not overrule one that stands beside it.
        let says_nothing =
            output == Answer::Neither && beside == Answer::Yes && self.output.is_some_and(is_mute);
        let output = if says_nothing { Answer::Unstated } else { output };
        output.max(beside).max(of_name(self.name))
    }
}

/// Returns whether a text is neither an answer nor a word for the lack of one.
fn is_mute(text: &str) -> bool {
    match document(text.trim()) {
        Some(value) => of_answer(&value, 0) == Answer::Unstated,
        None => of_text(text, true) == Answer::Unstated,
    }
}

/// Reads an answer from a text that is the output of the question.
fn of_output(text: &str) -> Answer {
    let text = text.trim();
    match document(text) {
        Some(value) => match of_answer(&value, 0) {
            // A document that names no answer is no yes.
            Answer::Unstated if !value.is_null() => Answer::Neither,
            answer => answer,
        },
        None if text.is_empty() => Answer::Unstated,
        None => match of_text(text, true) {
            Answer::Unstated => Answer::Neither,
            answer => answer,
        },
    }
}

/// Reads an answer from a member beside the output: an attribute, or a member of a payload.
fn of_member(key: &str, value: &Value) -> Answer {
    // Of a dotted name, the last part says what it holds.
    member(key.rsplit('.').next().unwrap_or(key), value, 0)
}

/// Reads from the name of a question whether it was refused or not answered; a name alone is no yes.
fn of_name(name: &str) -> Answer {
    let words = words(name);
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    // `approve or reject` is a question.
    if has(&["or", "vs"]) {
        return Answer::Unstated;
    }
    let is_no = |word: &String| matches!(word.as_str(), "no" | "not" | "unapproved");
    match () {
        () if has(REFUSING) || words.iter().any(is_no) => Answer::No,
        () if has(UNANSWERED) && !has(&["pending", "awaiting", "waiting", "wait"]) => Answer::Neither,
        () => Answer::Unstated,
    }
}

fn document(text: &str) -> Option<Value> {
    let is_document =
        text.starts_with(['{', '[', '"']) || matches!(text, "true" | "false" | "null" | "0" | "1");
    is_document.then(|| parse(text.as_bytes()).ok()).flatten()
}

/// Reads a value that is the answer.
fn of_answer(value: &Value, depth: usize) -> Answer {
    match value {
        Value::Bool(true) => Answer::Yes,
        Value::Bool(false) => Answer::No,
        Value::Int(_) => match value.as_i64() {
            Some(0) => Answer::No,
            Some(1) => Answer::Yes,
            _ => Answer::Neither,
        },
        Value::String(text) => match document(text.trim()).filter(|_| depth < DEPTH_MAX) {
            Some(inner) => of_answer(&inner, depth + 1),
            None => of_text(text, true),
        },
        _ => inside(value, depth),
    }
}

/// Reads the members or the items of a value; the strongest of them counts.
fn inside(value: &Value, depth: usize) -> Answer {
    if depth >= DEPTH_MAX {
        return Answer::Neither;
    }
    match value {
        Value::Object(object) => {
            let found = object.iter().map(|(key, value)| member(key, value, depth + 1));
            found.max().unwrap_or(Answer::Unstated)
        }
        Value::Array(items) => {
            // Of options only the chosen ones are the answer.
            let is_chosen = |item: &&Value| {
                ["chosen", "selected"].iter().any(|key| item.get(key).and_then(Value::as_bool) == Some(true))
            };
            let has_choice = |item: &Value| ["chosen", "selected"].iter().any(|key| item.get(key).is_some());
            if items.iter().any(has_choice) {
                let labels = items.iter().filter(is_chosen).filter_map(|item| item.get("label"));
                return labels.map(|label| of_answer(label, depth + 1)).max().unwrap_or(Answer::Neither);
            }
            let found = items.iter().filter(|item| item.as_object().is_some());
            found.map(|item| inside(item, depth + 1)).max().unwrap_or(Answer::Unstated)
        }
        _ => Answer::Unstated,
    }
}

fn member(key: &str, value: &Value, depth: usize) -> Answer {
    let key: String = key.to_lowercase().chars().filter(|letter| letter.is_alphanumeric()).collect();
    let is = |list: &[&str]| list.contains(&key.as_str());
    let is_set = || match value {
        Value::Bool(found) => *found,
        Value::Null => false,
        Value::Int(_) => value.as_i64() != Some(0),
        Value::String(text) => {
            !matches!(text.trim().to_lowercase().as_str(), "" | "false" | "no" | "0" | "null")
        }
        _ => false,
    };
    if is(REFUSALS) {
        return if is_set() { Answer::No } else { Answer::Unstated };
    }
    if is(NO_ANSWERS) {
        return if is_set() { Answer::Neither } else { Answer::Unstated };
    }
    if is(ANSWERS) {
        return match of_answer(value, depth) {
            Answer::Unstated => Answer::Neither,
            answer => answer,
        };
    }
    if is(MAYBE_ANSWERS) {
        return match value {
            Value::String(text) => match document(text.trim()).filter(|_| depth < DEPTH_MAX) {
                Some(inner) => member(&key, &inner, depth + 1),
                None => of_text(text, false),
            },
            Value::Bool(false) => Answer::No,
            _ => inside(value, depth),
        };
    }
    match value {
        Value::Object(_) => inside(value, depth),
        Value::Array(_)
            if matches!(key.as_str(), "options" | "choices" | "answers" | "decisions" | "responses") =>
        {
            inside(value, depth)
        }
        _ => Answer::Unstated,
    }
}

/// Reads a text clause by clause; `is_answer` says whether the text is known to be the answer.
fn of_text(text: &str, is_answer: bool) -> Answer {
    let clauses = text.split([',', ';', '\n', '.', '!', '|']).filter(|clause| !clause.trim().is_empty());
    let answers: Vec<Answer> = clauses
        .enumerate()
        .map(|(place, clause)| match clause.split_once([':', '=']) {
            Some((key, value)) if !key.trim().contains(' ') && !value.trim().is_empty() => {
                let value = value.trim().trim_matches(['"', '\'']);
                match member(key.trim().trim_matches(['"', '\'']), &Value::from(value), 1) {
                    Answer::Unstated if names_answer(key) => Answer::Unstated,
                    Answer::Unstated => of_clause(clause, place == 0, is_answer),
                    answer => answer,
                }
            }
            _ => of_clause(clause, place == 0, is_answer),
        })
        .collect();
    answers.into_iter().max().unwrap_or(Answer::Unstated)
}

/// Returns whether a key is one that would refuse, or leave open, if it were true.
fn names_answer(key: &str) -> bool {
    let key: String = key.to_lowercase().chars().filter(|letter| letter.is_alphanumeric()).collect();
    REFUSALS.contains(&key.as_str()) || NO_ANSWERS.contains(&key.as_str())
}

fn words(text: &str) -> Vec<String> {
    let plain: String = text.to_lowercase().chars().filter(|letter| !matches!(letter, '\'' | '’')).collect();
    let split = plain.split(|letter: char| !letter.is_alphanumeric());
    split.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn of_clause(clause: &str, is_first: bool, is_answer: bool) -> Answer {
    if clause.contains(['✗', '✘', '❌', '👎', '✖', '🚫', '⛔']) {
        return Answer::No;
    }
    let is_marked = clause.contains(['✓', '✔', '✅', '👍', '☑']);
    let words = words(clause);
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let grants = has(GRANTING) || is_answer && has(GRANTING_AS_ANSWER);
    // A lone `no` refuses at the beginning of the answer or at the end of a clause, not in `no objections`.
    let next = |place: usize| words.get(place + 1).map(String::as_str);
    let is_no = |(place, word): (usize, &String)| {
        let stands_for_itself = place == 0 && is_first || next(place).is_none();
        word == "no" && stands_for_itself && !next(place).is_some_and(|next| OBJECTIONS.contains(&next))
    };
    let no_grant = words.iter().zip(words.iter().skip(1)).any(|(word, next)| {
        word == "no" && (GRANTING.contains(&next.as_str()) || next.starts_with("approv") || next == "go")
    });
    let refuses = has(REFUSING) || no_grant || words.iter().enumerate().any(is_no);
    let negates = has(NEGATIONS) && (grants || has(&["approval", "consent", "permission", "ready", "good"]));
    match () {
        () if refuses || negates => Answer::No,
        () if has(UNANSWERED) || grants && has(CONDITIONS) => Answer::Neither,
        () if has(NEGATIONS) && is_first && is_answer => Answer::Neither,
        () if grants || is_marked => Answer::Yes,
        () => Answer::Unstated,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_affirming_output_is_a_yes() {
        for text in [
            r#"{"approved": true}"#,
            r#"{"approved": "yes", "comment": "no further remarks"}"#,
            r#"{"rejected": false, "approved": true}"#,
            "rejected: false, approved: true",
            r#"{"decision": "approve"}"#,
            r#"{"decision": {"value": "granted"}}"#,
            r#"{"status": "approved", "timed_out": false}"#,
            r#"{"options": [{"label": "approve", "chosen": true}, {"label": "reject", "chosen": false}]}"#,
            r#""yes""#,
            "true",
            "1",
            "yes",
            "Yes, go ahead",
            "approved by ops, no objections",
            "no objections, approved",
            "Approved.",
            "LGTM",
            "decision=granted",
            "👍",
        ] {
            assert_eq!(of_output(text), Answer::Yes, "{text}");
        }
    }

    #[test]
    fn a_refusal_in_any_form_is_a_no() {
        for text in [
            r#"{"approved": false}"#,
            r#"{"approved": 0}"#,
            r#"{"approved": "false"}"#,
            r#"{"approved": true, "rejected": true}"#,
            r#"{"decision": "no"}"#,
            r#"{"value": "no"}"#,
            r#"{"result": {"decision": "reject"}}"#,
            r#"{"output": "{\"approved\": false}"}"#,
            r#"[{"approved": true}, {"approved": false}]"#,
            "false",
            "0",
            "no",
            "No.",
            "nope",
            "nein",
            "✗",
            "denied",
            "rejected by eve",
            "approved: false",
            "not approved",
            "I do not approve",
            "I don't approve this",
            "no approval",
            "it was declined, sorry",
            "my answer is no",
        ] {
            assert_eq!(of_output(text), Answer::No, "{text}");
        }
    }

    #[test]
    fn an_answer_that_is_none_is_neither() {
        for text in [
            "timeout",
            "timed out",
            "expired",
            "cancelled",
            "skipped",
            "later",
            "maybe",
            "pending",
            "will approve tomorrow",
            "I would approve if the tests passed",
            "sent to eve",
            r#"{"approved": null}"#,
            r#"{"ticket": 5}"#,
            r#"{"timeout": true, "approved": true}"#,
            r#"{"status": "ok"}"#,
            "[]",
            "{}",
            r#"{"approved": "maybe"}"#,
            r#"{"options": [{"label": "approve", "chosen": false}]}"#,
        ] {
            assert_eq!(of_output(text), Answer::Neither, "{text}");
        }
        assert_eq!(of_output(""), Answer::Unstated);
        assert_eq!(of_output("null"), Answer::Unstated);
    }

    #[test]
    fn names_refuse_and_members_beside_the_output_count() {
        assert_eq!(of_name("human approval: rejected"), Answer::No);
        assert_eq!(of_name("approval_denied"), Answer::No);
        assert_eq!(of_name("approval timeout"), Answer::Neither);
        assert_eq!(of_name("approve or reject"), Answer::Unstated);
        assert_eq!(of_name("approve order"), Answer::Unstated);
        assert_eq!(of_member("ponens.approved", &false.into()), Answer::No);
        assert_eq!(of_member("review.decision", &"rejected".into()), Answer::No);
        assert_eq!(of_member("decision", &"approved".into()), Answer::Yes);
        assert_eq!(of_member("status", &"ok".into()), Answer::Unstated);
        assert_eq!(of_member("http.method", &"no".into()), Answer::Unstated);
    }
}
