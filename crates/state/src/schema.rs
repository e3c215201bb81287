//! The types of the problem's schema: what each accepts under each typing, and the finding when it does not.

use std::borrow::Cow;
use std::sync::Arc;

use hence_canon::read::Found;
use hence_canon::{Defect, DefectKind, Digest, Float, Int, JsonPointer, Object, Value, did_you_mean};

use crate::text::is_blank;
use crate::{Category, Finding, Rule, Stage, StepsRule, Timestamp, Typing};

/// A reader of one document that collects findings in the order of the schema.
pub(crate) struct SchemaReader<'a> {
    pub(crate) typing: Typing,
    /// The steps of the run: only steps that work read methods and checks.
    pub(crate) steps: StepsRule,
    defects: &'a [Defect],
    findings: Vec<Finding>,
}

/// An object of the document and its place.
#[derive(Clone)]
pub(crate) struct Node<'v> {
    pub(crate) object: &'v Object,
    pub(crate) path: JsonPointer,
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

impl<'v> Node<'v> {
    pub(crate) fn pointer_to(&self, key: &str) -> JsonPointer {
        self.path.child(key)
    }
}

impl<'a> SchemaReader<'a> {
    pub(crate) fn new(typing: Typing, steps: StepsRule, defects: &'a [Defect]) -> Self {
        Self { typing, steps, defects, findings: Vec::new() }
    }

    /// Reports a broken rule of the schema in a sentence.
    pub(crate) fn report(
        &mut self,
        path: &JsonPointer,
        category: Category,
        message: impl Into<Cow<'static, str>>,
    ) {
        self.add(Stage::Schema, path, category, message, Found::Unstated);
    }

    /// Reports a value that the schema does not accept.
    pub(crate) fn mismatch(
        &mut self,
        path: &JsonPointer,
        category: Category,
        expected: impl Into<Cow<'static, str>>,
        found: &Value,
    ) {
        self.add(Stage::Schema, path, category, expected, Found::Value(found.clone()));
    }

    pub(crate) fn add(
        &mut self,
        stage: Stage,
        path: &JsonPointer,
        category: Category,
        expected: impl Into<Cow<'static, str>>,
        found: Found,
    ) {
        self.findings.push(Finding::new(Rule { stage, category }, expected, found).under(path));
    }

    /// Returns the number of findings so far, for [`clean_since`](Self::clean_since).
    pub(crate) fn mark(&self) -> usize {
        self.findings.len()
    }

    pub(crate) fn clean_since(&self, mark: usize) -> bool {
        self.findings.len() == mark
    }

    /// Returns whether the schema holds since the mark; a loop's own rules may not.
    pub(crate) fn schema_holds_since(&self, mark: usize) -> bool {
        !self.findings.iter().skip(mark).any(|finding| finding.rule.stage == Stage::Schema)
    }

    pub(crate) fn into_findings(self) -> Vec<Finding> {
        self.findings
    }

    /// Reads a member; an absent one is a finding.
    pub(crate) fn required<'v, T>(
        &mut self,
        node: &Node<'v>,
        key: &str,
        read: impl FnOnce(&mut Self, &'v Value, &JsonPointer) -> Option<T>,
    ) -> Option<T> {
        let path = node.pointer_to(key);
        match node.object.get(key) {
            Some(value) => read(self, value, &path),
            None => {
                self.add(Stage::Schema, &path, Category::Missing, "a value", Found::Nothing);
                None
            }
        }
    }

    /// Reads a member that may be absent or null.
    pub(crate) fn optional<'v, T>(
        &mut self,
        node: &Node<'v>,
        key: &str,
        read: impl FnOnce(&mut Self, &'v Value, &JsonPointer) -> Option<T>,
    ) -> Option<T> {
        let value = node.object.get(key).filter(|value| !value.is_null())?;
        read(self, value, &node.pointer_to(key))
    }

    /// Reads an object whose members the schema knows.
    pub(crate) fn model<'v>(&mut self, value: &'v Value, path: &JsonPointer) -> Option<Node<'v>> {
        self.object(value, path, Category::ModelType)
    }

    /// Reads an object with any members.
    pub(crate) fn dict<'v>(&mut self, value: &'v Value, path: &JsonPointer) -> Option<Node<'v>> {
        self.object(value, path, Category::DictType)
    }

    fn object<'v>(&mut self, value: &'v Value, path: &JsonPointer, category: Category) -> Option<Node<'v>> {
        if let Value::Object(object) = value {
            return Some(Node { object, path: path.clone() });
        }
        self.mismatch(path, category, "an object", value);
        None
    }

    /// Reads the items of a list that can be read.
    pub(crate) fn items<'v, T>(
        &mut self,
        value: &'v Value,
        path: &JsonPointer,
        mut read: impl FnMut(&mut Self, &'v Value, &JsonPointer) -> Option<T>,
    ) -> Vec<T> {
        let Some(items) = value.as_array() else {
            self.mismatch(path, Category::ListType, "a list", value);
            return Vec::new();
        };
        let item = |(index, item)| read(self, item, &path.child(index));
        items.iter().enumerate().filter_map(item).collect()
    }

    /// Reads any text.
    pub(crate) fn text(&mut self, value: &Value, path: &JsonPointer) -> Option<Arc<str>> {
        if let Value::String(text) = value {
            return Some(text.clone());
        }
        self.mismatch(path, Category::StringType, "a string", value);
        None
    }

    /// Reads a text of at least one character.
    pub(crate) fn non_empty_text(&mut self, value: &Value, path: &JsonPointer) -> Option<Arc<str>> {
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

    pub(crate) fn timestamp(&mut self, value: &Value, path: &JsonPointer) -> Option<Timestamp> {
        let text = self.text(value, path)?;
        let parsed = Timestamp::parse_as(&text, self.typing);
        parsed.map_err(|error| self.report(path, Category::StringPatternMismatch, error.to_string())).ok()
    }

    /// Reads an object whose member `sha256` pins a document by its digest.
    pub(crate) fn pin<'v>(
        &mut self,
        value: &'v Value,
        path: &JsonPointer,
        expected: &'static str,
    ) -> Option<(Node<'v>, Option<Digest>)> {
        let pin = self.model(value, path)?;
        let digest = self.required(&pin, "sha256", |reader, value, path| {
            let text = reader.text(value, path)?;
            text.parse().map_err(|_| reader.mismatch(path, Category::ValueError, expected, value)).ok()
        });
        Some((pin, digest))
    }

    /// Reads one of a few words.
    pub(crate) fn word<T: Copy>(
        &mut self,
        value: &Value,
        path: &JsonPointer,
        words: &[(&str, T)],
    ) -> Option<T> {
        let found = value.as_str().and_then(|text| words.iter().find(|(word, _)| *word == text));
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.mismatch(path, Category::LiteralError, format!("one of {}", known.join(", ")), value);
        }
        found.map(|(_, meaning)| *meaning)
    }

    /// Reads a boolean and returns how the engine uses it: by truth of the raw value.
    pub(crate) fn boolean(&mut self, value: &Value, path: &JsonPointer) -> Option<bool> {
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
        self.mismatch(path, category, "true or false", value);
        None
    }

    /// Reads an integer above `floor`; `category` names the rule when it is not.
    pub(crate) fn integer_above(
        &mut self,
        value: &Value,
        path: &JsonPointer,
        floor: i64,
        category: Category,
    ) -> Option<Number> {
        let number = match self.number(value) {
            Ok(number) => number,
            Err(category) => {
                self.mismatch(path, category, "an integer", value);
                return None;
            }
        };
        if number.value(value.as_str()) <= Int::from(floor) {
            self.mismatch(path, category, format!("an integer above {floor}"), value);
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

    /// Refuses members that the schema does not know.
    pub(crate) fn refuse_unknown(&mut self, node: &Node<'_>, known: &[&str]) {
        for key in node.object.keys().filter(|key| !known.contains(&&***key)) {
            let meant = match self.typing {
                Typing::Strict => did_you_mean(key, known.iter().copied()),
                Typing::Lax => String::new(),
            };
            let message = format!("unknown member, expected only {}{meant}", known.join(", "));
            self.report(&node.pointer_to(key), Category::ExtraForbidden, message);
        }
    }

    fn has_defect(&self, path: &JsonPointer, kind: DefectKind) -> bool {
        self.defects.iter().any(|defect| defect.kind == kind && defect.pointer == *path)
    }
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
