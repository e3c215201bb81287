//! JSON values inside reports, exactly as they are: serde_json would round large integers.

use hence_canon::Value;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// Texts above this size are not copied before they are printed: they are large values.
const COPIED_BYTES_MAX: usize = 10 * 1024;

/// A JSON value in a report, printed as its canonical text, so that integers of any size stay exact.
#[derive(Clone, Debug)]
pub(crate) struct Data(pub(crate) Value);

impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A large text is serialized in place; any other value needs its canonical text first.
        if let Value::String(text) = &self.0
            && text.len() > COPIED_BYTES_MAX
        {
            return serializer.serialize_str(text);
        }
        let raw = RawValue::from_string(self.0.to_string()).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl JsonSchema for Data {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Data".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        Schema::default()
    }
}

impl From<Value> for Data {
    fn from(value: Value) -> Self {
        Self(value)
    }
}
