//! Which values fit which type, and how large they are.

use hence_canon::{Value, canonical_bytes};

use crate::ValueType;

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
