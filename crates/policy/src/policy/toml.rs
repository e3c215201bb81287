//! Policies written in TOML.

use hence_canon::{Float, Object, Value};

/// A text that is not TOML, or holds what JSON cannot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TomlError {
    /// Not TOML.
    #[error("{0}")]
    Syntax(String),
    /// `nan` or `inf`.
    #[error("`{0}` is not a number JSON can hold")]
    NotFinite(String),
}

/// Reads a TOML text as a JSON value; dates become texts.
///
/// # Errors
/// [`TomlError`] with line and column when the text is not TOML.
pub fn parse_toml(text: &str) -> Result<Value, TomlError> {
    let table: toml::Table =
        text.parse().map_err(|error: toml::de::Error| TomlError::Syntax(error.to_string()))?;
    object(&table).map(Value::Object)
}

fn object(table: &toml::Table) -> Result<Object, TomlError> {
    let members: Result<Vec<(&str, Value)>, TomlError> =
        table.iter().map(|(key, item)| Ok((key.as_str(), value(item)?))).collect();
    Ok(members?.into_iter().collect())
}

fn value(item: &toml::Value) -> Result<Value, TomlError> {
    Ok(match item {
        toml::Value::String(text) => text.as_str().into(),
        toml::Value::Integer(number) => (*number).into(),
        toml::Value::Float(number) => {
            Float::new(*number).map_err(|_| TomlError::NotFinite(number.to_string()))?.into()
        }
        toml::Value::Boolean(value) => (*value).into(),
        toml::Value::Datetime(time) => time.to_string().into(),
        toml::Value::Array(items) => {
            let items: Result<Vec<Value>, TomlError> = items.iter().map(value).collect();
            items?.into()
        }
        toml::Value::Table(table) => object(table)?.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toml_reads_as_the_json_it_means() {
        let read = parse_toml("a = [1, 2.5, true]\n[t]\nb = 'x'\nd = 1979-05-27\n").unwrap();
        assert_eq!(read.to_string(), r#"{"a":[1,2.5,true],"t":{"b":"x","d":"1979-05-27"}}"#);
    }

    #[test]
    fn a_fault_says_where() {
        assert!(parse_toml("a = [1,\nb = ]").unwrap_err().to_string().contains("line 2"));
        assert!(parse_toml("a = nan").is_err());
    }
}
