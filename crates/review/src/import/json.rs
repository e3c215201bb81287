//! Lenient access to the JSON of logs, which may contain anything.

use std::borrow::Cow;

use hence_canon::Value;

/// Access to members that treats a missing member and one of another kind alike.
pub(super) trait JsonExt {
    /// Returns a member, or null.
    fn member(&self, key: &str) -> &Value;
    /// Returns a text member.
    fn text(&self, key: &str) -> Option<&str>;
    /// Returns the items of a list member; none if there is no such list.
    fn list(&self, key: &str) -> &[Value];
    /// Returns whether a member is true.
    fn flag(&self, key: &str) -> bool;
    /// Returns the first of several members that is a text.
    fn first_text(&self, keys: &[&str]) -> Option<&str>;
}

impl JsonExt for Value {
    fn member(&self, key: &str) -> &Value {
        self.get(key).unwrap_or(&Value::Null)
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Value::as_str)
    }

    fn list(&self, key: &str) -> &[Value] {
        self.get(key).and_then(Value::as_array).unwrap_or(&[])
    }

    fn flag(&self, key: &str) -> bool {
        self.get(key).and_then(Value::as_bool) == Some(true)
    }

    fn first_text(&self, keys: &[&str]) -> Option<&str> {
        keys.iter().find_map(|key| self.text(key))
    }
}

/// Returns the text of a string, or the joined texts of a list of blocks.
pub(super) fn block_text(content: &Value) -> Cow<'_, str> {
    match content {
        Value::String(text) => Cow::Borrowed(text),
        Value::Array(blocks) => {
            let texts =
                blocks.iter().filter_map(|block| block.as_str().or_else(|| block.get("text")?.as_str()));
            Cow::Owned(texts.collect::<Vec<_>>().join("\n"))
        }
        _ => Cow::Borrowed(""),
    }
}
