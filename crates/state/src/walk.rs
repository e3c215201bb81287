//! Reading single members: what each type accepts under each typing, and what is said when it does not.

use std::sync::Arc;

use hence_canon::{Defect, DefectKind, Float, Int, Object, Value};

use crate::blank::is_blank;
use crate::{Category, FieldPath, Finding, Stage, Timestamp, Typing};

/// A walk over a document that collects findings in the order of the schema.
pub(crate) struct Walk<'a> {
    pub(crate) typing: Typing,
    defects: &'a [Defect],
    findings: Vec<Finding>,
}

/// Whether a member may be absent or null.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    Required,
    Optional,
}

/// An integer as the document spelled it.
pub(crate) enum Number {
    Int(Int),
    /// Lax typing only: digits in a text.
    Text,
    /// Lax typing only: `true` or `false`.
    Bool(bool),
    /// Lax typing only: a float without a fraction.
    Whole(Int),
}

impl Number {
    fn value(&self, text: Option<&str>) -> Int {
        match self {
            Self::Int(int) | Self::Whole(int) => int.clone(),
            Self::Bool(flag) => Int::from(i64::from(*flag)),
            Self::Text => text.and_then(parse_digits).unwrap_or_else(|| Int::from(0i64)),
        }
    }
}

impl<'a> Walk<'a> {
    pub(crate) fn new(typing: Typing, defects: &'a [Defect]) -> Self {
        Self { typing, defects, findings: Vec::new() }
    }

    pub(crate) fn report(&mut self, path: &FieldPath, category: Category, message: impl Into<String>) {
        self.report_at(Stage::Schema, path, category, message);
    }

    pub(crate) fn report_at(
        &mut self,
        stage: Stage,
        path: &FieldPath,
        category: Category,
        message: impl Into<String>,
    ) {
        self.findings.push(Finding { stage, category, path: path.clone(), message: message.into() });
    }

    /// Returns a mark; [`clean_since`](Self::clean_since) tells whether anything was found after it.
    pub(crate) fn mark(&self) -> usize {
        self.findings.len()
    }

    pub(crate) fn clean_since(&self, mark: usize) -> bool {
        self.findings.len() == mark
    }

    /// Returns whether the schema holds since the mark, whatever a loop's own rules say.
    pub(crate) fn schema_holds_since(&self, mark: usize) -> bool {
        !self.findings.iter().skip(mark).any(|finding| finding.stage == Stage::Schema)
    }

    pub(crate) fn into_findings(self) -> Vec<Finding> {
        self.findings
    }

    /// Returns a member; reports a required one that is absent.
    pub(crate) fn member<'v>(
        &mut self,
        object: &'v Object,
        path: &FieldPath,
        key: &str,
        presence: Presence,
    ) -> Option<&'v Value> {
        match object.get(key) {
            Some(Value::Null) if presence == Presence::Optional => None,
            Some(value) => Some(value),
            None => {
                if presence == Presence::Required {
                    self.report(&path.child(key), Category::Missing, "expected a value, found none");
                }
                None
            }
        }
    }

    pub(crate) fn object<'v>(
        &mut self,
        value: &'v Value,
        path: &FieldPath,
        category: Category,
    ) -> Option<&'v Object> {
        let object = value.as_object();
        if object.is_none() {
            self.report(path, category, expected("an object", value));
        }
        object
    }

    pub(crate) fn list<'v>(&mut self, value: &'v Value, path: &FieldPath) -> Option<&'v [Value]> {
        let items = value.as_array();
        if items.is_none() {
            self.report(path, Category::ListType, expected("a list", value));
        }
        items
    }

    /// Reads any text.
    pub(crate) fn text(&mut self, value: &Value, path: &FieldPath) -> Option<Arc<str>> {
        match value {
            Value::String(text) => Some(text.clone()),
            other => {
                self.report(path, Category::StringType, expected("a string", other));
                None
            }
        }
    }

    /// Reads a text of at least one character.
    pub(crate) fn some_text(&mut self, value: &Value, path: &FieldPath) -> Option<Arc<str>> {
        let text = self.text(value, path)?;
        if self.has_defect(path, DefectKind::LoneSurrogate) {
            self.report(path, Category::StringUnicode, "expected text, found half of a surrogate pair");
            return None;
        }
        if text.is_empty() {
            self.report(path, Category::StringTooShort, "expected at least one character, found none");
            return None;
        }
        if self.typing == Typing::Strict && is_blank(&text) {
            self.report(path, Category::ValueError, "expected more than white space");
            return None;
        }
        Some(text)
    }

    pub(crate) fn timestamp(&mut self, value: &Value, path: &FieldPath) -> Option<Timestamp> {
        let text = self.text(value, path)?;
        let parsed = match self.typing {
            Typing::Strict => Timestamp::parse(&text),
            Typing::Lax => Timestamp::parse_lax(&text),
        };
        if let Err(error) = &parsed {
            self.report(path, Category::StringPatternMismatch, error.to_string());
        }
        parsed.ok()
    }

    /// Reads one of a few words.
    pub(crate) fn word<T: Copy>(
        &mut self,
        value: &Value,
        path: &FieldPath,
        words: &[(&str, T)],
    ) -> Option<T> {
        let found = value.as_str().and_then(|text| words.iter().find(|(word, _)| *word == text));
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.report(
                path,
                Category::LiteralError,
                expected(&format!("one of {}", known.join(", ")), value),
            );
        }
        found.map(|(_, meaning)| *meaning)
    }

    /// Reads a boolean and returns how the engine uses it: by truth of the raw value.
    pub(crate) fn boolean(&mut self, value: &Value, path: &FieldPath) -> Option<bool> {
        let category = match (self.typing, value) {
            (_, Value::Bool(flag)) => return Some(*flag),
            (Typing::Strict, _) => Category::BoolType,
            // Accepted words are all non-empty, hence all true: even "no".
            (Typing::Lax, Value::String(text)) if is_boolean_word(text) => return Some(true),
            (Typing::Lax, Value::String(_)) => Category::BoolParsing,
            (Typing::Lax, Value::Int(int)) => match int.as_i64() {
                Some(flag @ (0 | 1)) => return Some(flag == 1),
                _ => Category::BoolParsing,
            },
            (Typing::Lax, Value::Float(float)) => match whole(*float).as_ref().map(Int::as_i64) {
                Some(Some(flag @ (0 | 1))) => return Some(flag == 1),
                Some(_) => Category::BoolParsing,
                None => Category::BoolType,
            },
            (Typing::Lax, _) => Category::BoolType,
        };
        self.report(path, category, expected("true or false", value));
        None
    }

    /// Reads an integer above `floor`; `category` names the rule when it is not.
    pub(crate) fn integer_above(
        &mut self,
        value: &Value,
        path: &FieldPath,
        floor: i64,
        category: Category,
    ) -> Option<Number> {
        let number = match self.number(value) {
            Ok(number) => number,
            Err(category) => {
                self.report(path, category, expected("an integer", value));
                return None;
            }
        };
        if number.value(value.as_str()) <= Int::from(floor) {
            self.report(path, category, expected(&format!("an integer above {floor}"), value));
            return None;
        }
        Some(number)
    }

    fn number(&self, value: &Value) -> Result<Number, Category> {
        match (self.typing, value) {
            (_, Value::Int(int)) => Ok(Number::Int(int.clone())),
            (Typing::Strict, Value::Float(_)) => Err(Category::IntFromFloat),
            (Typing::Strict, _) => Err(Category::IntType),
            (Typing::Lax, Value::Bool(flag)) => Ok(Number::Bool(*flag)),
            (Typing::Lax, Value::Float(float)) => {
                whole(*float).map(Number::Whole).ok_or(Category::IntFromFloat)
            }
            (Typing::Lax, Value::String(text)) => {
                parse_digits(text).map(|_| Number::Text).ok_or(Category::IntParsing)
            }
            (Typing::Lax, _) => Err(Category::IntType),
        }
    }

    /// Reports members that an object of a closed shape must not have.
    pub(crate) fn no_others(&mut self, object: &Object, path: &FieldPath, known: &[&str]) {
        for key in object.keys().filter(|key| !known.contains(&&***key)) {
            let message = format!("unknown member, expected only {}", known.join(", "));
            self.report(&path.child(key), Category::ExtraForbidden, message);
        }
    }

    fn has_defect(&self, path: &FieldPath, kind: DefectKind) -> bool {
        let pointer = path.pointer();
        self.defects.iter().any(|defect| defect.kind == kind && defect.pointer == pointer)
    }
}

/// Says what was expected and what stands there, shortened to a line.
pub(crate) fn expected(what: &str, found: &Value) -> String {
    if matches!(found, Value::Null) {
        return format!("expected {what}, found null");
    }
    let text: String = found.to_string().chars().take(60).collect();
    format!("expected {what}, found {} {text}", found.kind())
}

fn is_boolean_word(text: &str) -> bool {
    const WORDS: [&str; 12] = ["true", "t", "yes", "y", "on", "1", "false", "f", "no", "n", "off", "0"];
    WORDS.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// Returns a float without a fraction as an integer.
fn whole(float: Float) -> Option<Int> {
    let double = float.get();
    if double.fract() != 0.0 {
        return None;
    }
    // Doubles print all their digits here; negative zero is the integer zero.
    format!("{:.0}", double + 0.0).parse().ok()
}

/// Reads digits the way the lax schema does: blanks around, a sign, single underscores, a fraction of zeros.
fn parse_digits(text: &str) -> Option<Int> {
    let trimmed = text.trim();
    let (number, fraction) = trimmed.split_once('.').unwrap_or((trimmed, "0"));
    let (sign, digits) = match number.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", number.strip_prefix('+').unwrap_or(number)),
    };
    let zeros = !fraction.is_empty() && fraction.bytes().all(|byte| byte == b'0');
    let grouped =
        digits.split('_').all(|group| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit()));
    if !zeros || !grouped {
        return None;
    }
    let plain = digits.replace('_', "");
    let significant = plain.trim_start_matches('0');
    if significant.is_empty() { Some(Int::from(0i64)) } else { format!("{sign}{significant}").parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_named_by_kind_and_value_and_null_once() {
        assert_eq!(expected("a list", &Value::from("x")), "expected a list, found string \"x\"");
        assert_eq!(expected("a list", &Value::Null), "expected a list, found null");
    }
}
