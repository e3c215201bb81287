//! The closed vocabularies of a state: scopes, statuses, value types, operations, execution modes.

use hence_canon::{Value, canonical_bytes, words};

words! {
    /// The set of states that see a variable. Ordered from the narrowest to the widest, which is lookup order.
    pub enum Scope {
        /// This state only; the variable ends with the state or by its time to live.
        Temporary = "temporary",
        /// Every state of the same task tree.
        Tree = "tree",
        /// Every state of the same session.
        Session = "session",
        /// Every state.
        Global = "global",
    }
}

impl Scope {
    /// All scopes in lookup order.
    pub const LOOKUP_ORDER: [Self; 4] = [Self::Temporary, Self::Tree, Self::Session, Self::Global];
}

words! {
    /// The status of a state.
    pub enum Status {
        /// `Final` is null.
        Incomplete = "incomplete",
        /// `Final` has a value.
        Complete = "complete",
        /// The task failed.
        Error = "error",
        /// The task was called off.
        Cancelled = "cancelled",
    }
}

impl Status {
    /// Returns whether the state is sealed: nothing is written any more, except by rollback.
    pub fn is_terminal(self) -> bool {
        self != Self::Incomplete
    }
}

words! {
    /// The kind of a mutation.
    pub enum Operation {
        /// A variable was created.
        Create = "create",
        /// A variable got a value.
        Update = "update",
        /// A variable was deleted.
        Delete = "delete",
        /// A variable got another name.
        Rename = "rename",
    }
}

words! {
    /// The type of a variable's value.
    pub enum ValueType {
        /// A string.
        Text = "text",
        /// A finite number.
        Number = "number",
        /// True or false.
        Boolean = "boolean",
        /// Null.
        Null = "null",
        /// An object or a list.
        Json = "json",
        /// A list.
        Array = "array",
        /// A reference to a file under the store's root.
        FilePath = "file_path",
        /// The text of a file.
        FileContent = "file_content",
    }
}

impl ValueType {
    /// Returns the type a value has when none is given. A text is a text, even if it looks like a file reference.
    pub fn infer(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Int(_) | Value::Float(_) => Self::Number,
            Value::String(_) => Self::Text,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Json,
        }
    }

    /// Returns whether a value is of this type.
    pub fn admits(self, value: &Value) -> bool {
        match self {
            Self::Text | Self::FileContent | Self::FilePath => matches!(value, Value::String(_)),
            Self::Number => matches!(value, Value::Int(_) | Value::Float(_)),
            Self::Boolean => matches!(value, Value::Bool(_)),
            Self::Null => value.is_null(),
            Self::Json => matches!(value, Value::Object(_) | Value::Array(_)),
            Self::Array => matches!(value, Value::Array(_)),
        }
    }

    /// Returns whether a large value of this type moves to a file. A reference to a file does not.
    pub fn spills(self) -> bool {
        matches!(self, Self::Text | Self::FileContent | Self::Json | Self::Array)
    }
}

/// Returns the size that limits speak of: UTF-8 bytes of a string, compact JSON of anything else.
pub(crate) fn size_bytes(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.len() as u64,
        other => canonical_bytes(other).len() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back_and_case_matters() {
        for word in ValueType::WORDS {
            assert_eq!(word.parse::<ValueType>().unwrap().as_str(), *word);
        }
        assert!("Text".parse::<ValueType>().is_err());
        assert!("".parse::<Scope>().is_err());
        let message = "local".parse::<Scope>().unwrap_err().to_string();
        assert_eq!(message, "expected one of temporary, tree, session, global, found \"local\"");
    }

    #[test]
    fn lookup_goes_from_the_narrowest_scope_to_the_widest() {
        assert!(Scope::LOOKUP_ORDER.is_sorted());
        assert_eq!(Scope::LOOKUP_ORDER.len(), Scope::WORDS.len());
    }
}

#[cfg(test)]
mod value_type_tests {
    use super::*;
    use hence_canon::parse;

    fn value(json: &str) -> Value {
        parse(json.as_bytes()).unwrap()
    }

    #[test]
    fn every_value_fits_its_inferred_type_and_no_text_becomes_a_file_path() {
        for json in ["null", "true", "0", "1.5", "\"\"", "[]", "{}", "\"file:.aiwg/rlm/x\""] {
            let value = value(json);
            assert!(ValueType::infer(&value).admits(&value), "{json}");
        }
        assert_eq!(ValueType::infer(&value("\"file:.aiwg/rlm/x\"")), ValueType::Text);
    }

    #[test]
    fn booleans_are_not_numbers_and_json_admits_lists() {
        assert!(!ValueType::Number.admits(&value("true")));
        assert!(!ValueType::Boolean.admits(&value("1")));
        assert!(ValueType::Json.admits(&value("[1]")));
        assert!(!ValueType::Array.admits(&value("{}")));
        assert!(!ValueType::Json.admits(&value("5")));
    }

    #[test]
    fn sizes_are_utf_8_bytes_of_text_and_compact_json_of_the_rest() {
        assert_eq!(size_bytes(&value("\"é\"")), 2);
        assert_eq!(size_bytes(&value("[ \"é\" , 1 ]")), 8);
        assert_eq!(size_bytes(&value("null")), 4);
    }
}
