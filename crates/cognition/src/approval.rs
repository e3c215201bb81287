//! Approvals: the answers of a question that mean yes, and those that mean no.
//!
//! A question declares them in its input: `approves` and `rejects` are lists of answers. An answer counts as an approval
//! only if it is equal, as a JSON value, to one of `approves`. Any other answer is information and approves nothing, so a
//! question without a declaration never gives an approval.

use hence_canon::{JsonPointer, Object, Value};

/// The member of a question's input that lists the answers that approve.
pub const APPROVES: &str = "approves";

/// The member of a question's input that lists the answers that reject.
pub const REJECTS: &str = "rejects";

/// The member of a question's input that lists the only possible answers.
const OPTIONS: &str = "options";

/// The meaning of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stance {
    /// The question declares that the answer approves.
    Approved,
    /// The question declares that the answer rejects.
    Rejected,
    /// The question declares neither.
    Informed,
}

impl Stance {
    /// Returns the meaning of an answer to the question that has this input.
    pub fn of(question: &Value, answer: &Value) -> Self {
        let lists = |member: &str| listed(question, member).contains(answer);
        match (lists(APPROVES), lists(REJECTS)) {
            (true, false) => Self::Approved,
            // An answer that is in both lists is not a clear yes.
            (_, true) => Self::Rejected,
            (false, false) => Self::Informed,
        }
    }

    /// Returns the meaning of several answers together: all must approve, and one rejection rejects.
    pub fn of_all(stances: impl IntoIterator<Item = Self>) -> Self {
        let stances: Vec<Self> = stances.into_iter().collect();
        if stances.contains(&Self::Rejected) {
            Self::Rejected
        } else if !stances.is_empty() && stances.iter().all(|stance| *stance == Self::Approved) {
            Self::Approved
        } else {
            Self::Informed
        }
    }

    /// Returns the word for the meaning, if the question declares one.
    pub fn word(self) -> Option<&'static str> {
        match self {
            Self::Approved => Some("approved"),
            Self::Rejected => Some("rejected"),
            Self::Informed => None,
        }
    }
}

fn listed<'v>(question: &'v Value, member: &str) -> &'v [Value] {
    question.get(member).and_then(Value::as_array).unwrap_or_default()
}

/// Returns the defects of a declaration: a list that is none, an answer that is not among the options, an answer that
/// both approves and rejects. Each has its place in the input.
pub fn defects(question: &Object) -> Vec<(JsonPointer, String)> {
    let mut found = Vec::new();
    let options = question.get(OPTIONS).and_then(Value::as_array);
    for member in [APPROVES, REJECTS] {
        let place = JsonPointer::root().child(member);
        let answers = match question.get(member) {
            None | Some(Value::Null) => continue,
            Some(Value::Array(answers)) => answers,
            Some(other) => {
                found.push((place, format!("`{member}` is a list of answers, found {}", other.kind())));
                continue;
            }
        };
        for (index, answer) in answers.iter().enumerate() {
            let place = place.child(index.to_string());
            if options.is_some_and(|options| !options.contains(answer)) {
                let options: Vec<String> = options.into_iter().flatten().map(ToString::to_string).collect();
                let message =
                    format!("`{member}` has {answer}, which is not among the options {}", options.join(", "));
                found.push((place, message));
            } else if member == REJECTS
                && question.get(APPROVES).and_then(Value::as_array).is_some_and(|yes| yes.contains(answer))
            {
                found.push((place, format!("{answer} approves and rejects")));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use hence_canon::parse;

    use super::*;

    fn json(text: &str) -> Value {
        parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn only_a_declared_answer_approves_or_rejects() {
        let question = json(r#"{"approves": ["yes", true, 1, {"ok": true}], "rejects": ["no", false]}"#);
        for answer in [r#""yes""#, "true", "1", r#"{"ok": true}"#] {
            assert_eq!(Stance::of(&question, &json(answer)), Stance::Approved, "{answer}");
        }
        for answer in [r#""no""#, "false"] {
            assert_eq!(Stance::of(&question, &json(answer)), Stance::Rejected, "{answer}");
        }
        for answer in
            [r#""Yes""#, r#""yes ""#, r#""true""#, "1.0", "null", r#"{"ok": true, "note": ""}"#, r#"["yes"]"#]
        {
            assert_eq!(Stance::of(&question, &json(answer)), Stance::Informed, "{answer}");
        }
    }

    #[test]
    fn a_question_without_a_declaration_approves_nothing() {
        for question in
            ["{}", r#"{"options": ["yes", "no"]}"#, r#"{"approves": "yes"}"#, r#"{"approves": []}"#, "null"]
        {
            assert_eq!(Stance::of(&json(question), &"yes".into()), Stance::Informed, "{question}");
        }
        let both = json(r#"{"approves": ["yes"], "rejects": ["yes"]}"#);
        assert_eq!(Stance::of(&both, &"yes".into()), Stance::Rejected);
    }

    #[test]
    fn several_answers_approve_only_together() {
        use Stance::{Approved, Informed, Rejected};
        assert_eq!(Stance::of_all([Approved, Approved]), Approved);
        assert_eq!(Stance::of_all([Approved, Informed]), Informed);
        assert_eq!(Stance::of_all([Approved, Rejected, Informed]), Rejected);
        assert_eq!(Stance::of_all([]), Informed);
    }

    #[test]
    fn a_declaration_names_answers_that_can_be_given() {
        let defects = |text: &str| -> Vec<String> {
            let found = defects(json(text).as_object().unwrap()).into_iter();
            found.map(|(place, message)| format!("{place}: {message}")).collect()
        };
        assert!(defects(r#"{"options": ["yes", "no"], "approves": ["yes"], "rejects": ["no"]}"#).is_empty());
        assert!(defects(r#"{"approves": ["anything"]}"#).is_empty());
        assert_eq!(
            defects(r#"{"options": ["yes", "no"], "approves": ["Yes"], "rejects": "no"}"#),
            [
                r#"/approves/0: `approves` has "Yes", which is not among the options "yes", "no""#,
                "/rejects: `rejects` is a list of answers, found string"
            ]
        );
        assert_eq!(defects(r#"{"approves": [1], "rejects": [1]}"#), ["/rejects/0: 1 approves and rejects"]);
    }
}
