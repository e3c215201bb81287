//! Digests of values.

use hence_canon::{Canonical, Object};

use crate::builtin::{BuiltIn, required};

pub(crate) const ALL: &[&BuiltIn] = &[&DIGEST];

const DIGEST: BuiltIn = BuiltIn {
    id: "hash.digest",
    does: "Give the SHA-256 of a value's canonical form, as `hence hash` does",
    takes: &[required("value", "any", "The value")],
    gives: &[required("sha256", "string", "The digest")],
    call: |arguments| {
        let digest = Canonical::of(arguments.value("value")?).digest();
        Ok(Object::from_iter([("sha256", digest)]))
    },
};

#[cfg(test)]
mod tests {
    use crate::testing::table;

    #[test]
    fn the_order_of_members_does_not_matter() {
        let expected = r#"{"sha256": "43258cff783fe7036d8a43033f830adfc60ec037382473548ac742b888292777"}"#;
        table(
            "hash.digest",
            &[
                (r#"{"value": {"a": 1, "b": 2}}"#, expected),
                (r#"{"value": {"b": 2, "a": 1}}"#, expected),
                (r#"{}"#, "!the input `value` is missing"),
            ],
        );
    }
}
