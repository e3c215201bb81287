//! Finds mistakes in the input of a built-in capability before anything runs.

use hence_canon::{JsonPointer, Value, did_you_mean};
use hence_cognition::expression::Expression;
use hence_cognition::mapping::KnownInput;
use hence_cognition::reference::{Namespace, Reference};

use crate::arguments::place;
use crate::builtin::BuiltIn;
use crate::template::{Part, parts};

/// Returns how what is known of an input breaks what a capability demands.
pub(crate) fn mismatches(built_in: &BuiltIn, input: &KnownInput) -> Vec<(JsonPointer, String)> {
    let mut found = Vec::new();
    for (name, words) in built_in.choices() {
        if let Some(word) = input.fixed.get(name).and_then(Value::as_str).filter(|word| !words.contains(word))
        {
            let meant = did_you_mean(word, words.iter().copied());
            let message = format!("`{name}` is one of {}, found `{word}`{meant}", words.join(", "));
            found.push((JsonPointer::root().child(name), message));
        }
    }
    match built_in.id {
        "data.filter" => {
            let text = input.fixed.get("where").and_then(Value::as_str);
            found.extend(text.and_then(|text| formula(text, input)).map(|wrong| (at(&["where"]), wrong)));
        }
        "rules.check" => {
            let rules = input.shape.get("rules").and_then(Value::as_array).unwrap_or_default();
            for (index, rule) in rules.iter().enumerate() {
                for key in ["when", "expect"] {
                    let text = rule.get(key).and_then(Value::as_str);
                    let wrong = text.and_then(|text| formula(text, input));
                    found.extend(wrong.map(|wrong| (at(&["rules", &index.to_string(), key]), wrong)));
                }
            }
        }
        "text.template" => {
            let template = input.fixed.get("template").and_then(Value::as_str);
            found.extend(
                template.and_then(|text| template_names(text, input)).map(|wrong| (at(&["template"]), wrong)),
            );
        }
        _ => {}
    }
    found
}

fn at(tokens: &[&str]) -> JsonPointer {
    tokens.iter().collect()
}

/// Returns what is wrong with an expression over items: only their members and what `with` gives have names.
fn formula(text: &str, input: &KnownInput) -> Option<String> {
    let expression: Expression = match text.parse() {
        Ok(expression) => expression,
        Err(error) => return Some(format!("{error}")),
    };
    expression.references().iter().find_map(|reference| unnamed(reference, input))
}

fn unnamed(reference: &Reference, input: &KnownInput) -> Option<String> {
    match reference.namespace() {
        Namespace::Inputs => None,
        Namespace::Vars => {
            let first = reference.path().split('.').next().unwrap_or_default();
            let nothing = || format!("`{reference}` names nothing: `with` gives no `{first}`");
            match input.shape.get("with").and_then(Value::as_object) {
                Some(with) if with.contains_key(first) || with.contains_key(reference.path()) => None,
                Some(with) => Some(nothing() + &did_you_mean(first, with.keys().map(|key| &**key))),
                // What memory gives is not known yet.
                None if input.names.contains("with") => None,
                None => Some(nothing()),
            }
        }
        other => Some(format!(
            "`{reference}` names nothing here: the members of an item are `inputs`, what `with` gives is `vars`, there is no `{other}`"
        )),
    }
}

/// Returns the first placeholder of a template that has no value.
fn template_names(template: &str, input: &KnownInput) -> Option<String> {
    let values = input.shape.get("values").and_then(Value::as_object)?;
    parts(template).find_map(|part| match part {
        Err(unclosed) => Some(unclosed.to_string()),
        Ok(Part::Text(_)) => None,
        Ok(Part::Placeholder(name)) => {
            let pointer = place("template", name).ok()?;
            let first = pointer.tokens().next()?.to_owned();
            let known = values.keys().map(|key| &**key);
            (!values.contains_key(&first)).then(|| {
                format!("the template names `{name}`, which is not given{}", did_you_mean(&first, known))
            })
        }
    })
}
