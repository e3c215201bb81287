//! Capabilities that fill templates.

use hence_canon::{Object, Value};

use crate::arguments::{Arguments, place};
use crate::builtin::{BuiltIn, optional, required};
use crate::refusal::Refusal;
use crate::template::{Part, Unclosed, parts, text_of};

pub(crate) const FILL: BuiltIn = BuiltIn {
    id: "text.template",
    does: "Fill a template: `{{name}}` or `{{/pointer/0}}` stands for a value",
    takes: &[required("template", "string", "The template"), required("values", "object", "The values")],
    gives: &[required("text", "string", "The text")],
    call: fill,
};

pub(crate) const FILL_EACH: BuiltIn = BuiltIn {
    id: "text.template_each",
    does: "Fill a template once for each item and join what comes out",
    takes: &[
        required("template", "string", "The template"),
        required("items", "array", "Objects with the values"),
        optional("separator", "string", "What stands between two items; a line end by default"),
    ],
    gives: &[required("text", "string", "The text")],
    call: fill_each,
};

fn fill(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let values = Value::from(arguments.object("values")?.clone());
    Ok(Object::from_iter([("text", filled(arguments.text("template")?, &values)?)]))
}

fn fill_each(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let template = arguments.text("template")?;
    let filled = arguments.list("items")?.iter().enumerate().map(|(index, item)| {
        filled(template, item).map_err(|refusal| Refusal::input(format_args!("item {index}: {refusal}")))
    });
    let texts = filled.collect::<Result<Vec<String>, Refusal>>()?;
    Ok(Object::from_iter([("text", texts.join(arguments.text_or("separator", "\n")?))]))
}

fn filled(template: &str, values: &Value) -> Result<String, Refusal> {
    let mut text = String::new();
    for part in parts(template) {
        let part = part.map_err(|Unclosed| Refusal::input("`{{` without `}}` in the template"))?;
        match part {
            Part::Text(part) => text.push_str(part),
            Part::Placeholder(name) => {
                let value = values.pointer(&place("template", name)?).ok_or_else(|| {
                    Refusal::input(format_args!("the template names `{name}`, which is not given"))
                })?;
                text.push_str(&text_of(value));
            }
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use crate::testing::table;

    #[test]
    fn every_place_gets_its_value_or_the_template_is_refused() {
        table(
            "text.template",
            &[
                (
                    r#"{"template": "{{a}} and {{ /b/0 }}!", "values": {"a": "x", "b": [1.5]}}"#,
                    r#"{"text": "x and 1.5!"}"#,
                ),
                (r#"{"template": "plain } text", "values": {}}"#, r#"{"text": "plain } text"}"#),
                (r#"{"template": "{{a", "values": {}}"#, "!`{{` without `}}` in the template"),
                (r#"{"template": "{{a}}", "values": {}}"#, "!the template names `a`, which is not given"),
                // An inserted value is never read as a template.
                (r#"{"template": "{{a}}", "values": {"a": "{{b}}"}}"#, r#"{"text": "{{b}}"}"#),
            ],
        );
        table(
            "text.template_each",
            &[
                (r#"{"template": "- {{n}}", "items": [{"n": 1}, {"n": "é"}]}"#, r#"{"text": "- 1\n- é"}"#),
                (
                    r#"{"template": "{{n}}", "items": [{"n": 1}, 2]}"#,
                    "!item 1: the template names `n`, which is not given",
                ),
            ],
        );
    }
}
