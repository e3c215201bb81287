//! The JSON Schema of skill documents, for editors.
//!
//! The schema describes the form of a document; [`Skill::read`](super::Skill::read) checks more and decides.

use hence_canon::{Value, parse};

/// Returns the JSON Schema (draft 2020-12) of a skill document.
pub fn json_schema() -> Value {
    parse(include_bytes!("skill.schema.json")).expect("a test parses the schema file")
}

#[cfg(test)]
mod tests {
    use super::super::control::{self, ITERATIONS_MAX, PARALLEL_MAX, RETRY_ATTEMPTS_MAX};
    use super::super::{Recovery, ScatterMerge, document, field, step, variable};
    use super::*;
    use crate::mapping::MergeStrategy;
    use hence_canon::Object;

    fn at(pointer: &str) -> Value {
        json_schema().pointer(&pointer.parse().unwrap()).cloned().unwrap_or_else(|| panic!("no {pointer}"))
    }

    #[test]
    fn the_schema_has_the_keys_that_the_reader_knows() {
        let config = "/properties/steps/items/properties/config";
        let block = |name: &str| format!("{config}/properties/{name}");
        let objects: [(String, &[&str]); 13] = [
            (String::new(), &document::KEYS),
            ("/properties/inputs/additionalProperties".to_owned(), &field::KEYS),
            ("/properties/outputs/additionalProperties".to_owned(), &field::KEYS),
            ("/properties/steps/items".to_owned(), &step::KEYS),
            (config.to_owned(), &step::CONFIG_KEYS),
            ("/properties/limits".to_owned(), &crate::budget::LIMIT_KEYS),
            (block("limits"), &crate::budget::LIMIT_KEYS),
            (block("retry"), &control::RETRY_KEYS),
            (block("foreach"), &control::FOREACH_KEYS),
            (block("while"), &control::WHILE_KEYS),
            (block("router"), &control::ROUTER_KEYS),
            (block("scatter"), &control::SCATTER_KEYS),
            (format!("{}/additionalProperties", block("variables")), &variable::KEYS),
        ];
        for (place, keys) in objects {
            let properties = at(&format!("{place}/properties"));
            let listed: Vec<&str> = properties.as_object().unwrap().keys().map(|key| &**key).collect();
            assert_eq!(listed, keys, "{place}");
            assert_eq!(at(&format!("{place}/additionalProperties")), Value::Bool(false));
        }
    }

    #[test]
    fn the_schema_has_the_words_and_limits_of_the_reader() {
        let config = "/properties/steps/items/properties/config/properties";
        let words = |names: &[&'static str]| names.iter().copied().collect::<Value>();
        assert_eq!(
            at(&format!("{config}/merge_strategy/enum")),
            words(&MergeStrategy::ALL.map(MergeStrategy::name))
        );
        assert_eq!(at(&format!("{config}/recovery/enum")), words(&Recovery::ALL.map(Recovery::name)));
        let merges = ScatterMerge::ALL.map(ScatterMerge::name);
        assert_eq!(at(&format!("{config}/scatter/properties/merge/enum")), words(&merges));
        let variable = format!("{config}/variables/additionalProperties/properties");
        assert_eq!(at(&format!("{variable}/type/enum")), words(&variable::TYPES));
        assert_eq!(at(&format!("{variable}/scope/enum")), words(&variable::SCOPES));
        let maximum = |place: &str| at(&format!("{config}/{place}/maximum")).as_u64();
        assert_eq!(maximum("retry/properties/max_attempts"), Some(RETRY_ATTEMPTS_MAX));
        assert_eq!(maximum("foreach/properties/parallel"), Some(PARALLEL_MAX));
        assert_eq!(maximum("while/properties/max_iterations"), Some(ITERATIONS_MAX));
    }

    #[test]
    fn required_members_are_those_whose_absence_the_reader_reports() {
        let reading = crate::skill::Skill::read(&Object::new().into());
        let missing: Vec<String> =
            reading.findings.iter().map(|finding| finding.pointer.to_string()).collect();
        let required = at("/required");
        let required = required.as_array().unwrap().iter();
        assert_eq!(missing, required.map(|key| format!("/{}", key.as_str().unwrap())).collect::<Vec<_>>());
    }
}
