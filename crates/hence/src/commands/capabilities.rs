//! `hence capabilities`: the functions that skills can call, and their contracts.

mod import;

use hence_canon::{Object, Value, did_you_mean};
use hence_capabilities::{HUMAN_ASK, Library, TIMERS};
use hence_cognition::capability::Registry as _;
use hence_cognition::mapping::LITERAL_KEY;
use hence_cognition::reference::Reference;
use hence_cognition::skill::{Fields, Need};

use crate::args::skill::{CapabilitiesArgs, CapabilitiesCommand, ListCapabilitiesArgs};
use crate::prelude::*;
use crate::{layout, skills, terminal};

pub(super) use import::CapabilitiesImportReport;

/// The capabilities that a skill can call.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CapabilitiesReport {
    /// All of them by id, or the one that was asked for.
    capabilities: Vec<CapabilityRow>,
}

/// One capability.
#[derive(Serialize, JsonSchema)]
struct CapabilityRow {
    /// Its id, which a step names in `uses`.
    id: String,
    /// The origin: `built_in`, `person`, `timer` or `declared`.
    source: &'static str,
    /// The description.
    description: String,
    /// The inputs.
    inputs: Vec<MemberRow>,
    /// The outputs.
    outputs: Vec<MemberRow>,
    /// A call of it, for built-in functions.
    example: Option<ExampleRow>,
}

/// One input or output.
#[derive(Serialize, JsonSchema)]
struct MemberRow {
    /// Its name.
    name: String,
    /// Its type; `any` if every value is allowed.
    r#type: String,
    /// True if it must be given, or is always there.
    required: bool,
    /// The meaning.
    description: String,
    /// The only words that are allowed; empty if every value of the type is.
    one_of: Vec<&'static str>,
}

/// A call and its result.
#[derive(Serialize, JsonSchema)]
struct ExampleRow {
    /// The input.
    input: Data,
    /// The output, computed now; null where it depends on a person or on the time.
    output: Option<Data>,
}

impl ExampleRow {
    /// Returns the example as a step of a skill. A text that would read as a reference is marked as a literal.
    fn step(&self, row: &CapabilityRow) -> String {
        let mut lines =
            vec!["  - id: one".to_owned(), format!("    uses: {}", row.id), "    input:".to_owned()];
        for (name, value) in self.input.0.as_object().into_iter().flat_map(|input| input.iter()) {
            lines.push(format!("      {name}: {}", as_input(value)));
        }
        let computed = self.output.as_ref().and_then(|output| output.0.as_object());
        let first = computed.and_then(|output| output.keys().next().map(ToString::to_string));
        let first = first.or_else(|| row.outputs.first().map(|member| member.name.clone()));
        lines.extend(first.map(|first| format!("    output: {{{first}: vars.{first}}}")));
        lines.join("\n")
    }
}

/// Writes a value as the input of a step.
fn as_input(value: &Value) -> Value {
    match value {
        Value::String(text) if Reference::parse(text).is_some() => {
            Object::from_iter([(LITERAL_KEY, value.clone())]).into()
        }
        Value::Array(items) => Value::Array(items.iter().map(as_input).collect()),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), as_input(value))).collect::<Object>().into()
        }
        other => other.clone(),
    }
}

impl Text for CapabilitiesReport {
    fn text(&self) -> String {
        match self.capabilities.as_slice() {
            [one] => one.text(),
            all => {
                let rows: Vec<[String; 2]> =
                    all.iter().map(|row| [row.id.clone(), row.description.clone()]).collect();
                columns(&rows)
            }
        }
    }

    fn form(&self) -> Form {
        match self.capabilities.as_slice() {
            // Its example is a part of a document, which people copy.
            [_] => Form::Document,
            _ => Form::Lines,
        }
    }
}

impl CapabilityRow {
    fn of(library: &Library, id: &str, source: &'static str, description: &str) -> Option<Self> {
        let spec = library.capability(id)?;
        let rows = |fields: &Fields| {
            let row = |(name, field): &(std::sync::Arc<str>, hence_cognition::skill::Field)| MemberRow {
                name: name.to_string(),
                r#type: field.kind.to_string(),
                required: field.need == Need::Required,
                description: field.description.as_deref().unwrap_or_default().to_owned(),
                one_of: library.choices(id, name).to_vec(),
            };
            fields.iter().map(row).collect()
        };
        let example = library.example(id).and_then(|input| match library.call_built_in(id, &input) {
            Some(output) => Some(ExampleRow { input: Data(input), output: Some(Data(output.ok()?.into())) }),
            None => Some(ExampleRow { input: Data(input), output: None }),
        });
        Some(Self {
            id: id.to_owned(),
            source,
            description: description.to_owned(),
            inputs: rows(&spec.inputs),
            outputs: rows(&spec.outputs),
            example,
        })
    }

    fn text(&self) -> String {
        let members = |title: &str, members: &[MemberRow]| {
            let rows = members.iter().map(|member| {
                let need = if member.required { "required" } else { "optional" };
                let name = format!("  {}", member.name);
                [name, member.r#type.clone(), need.to_owned(), member.description.clone()]
            });
            let rows: Vec<[String; 4]> = rows.collect();
            match rows.is_empty() {
                true => format!("\n\n{title}: not declared"),
                false => format!("\n\n{title}\n{}", columns(&rows).trim_end()),
            }
        };
        let title = format!("{}: {}", escape(&self.id), escape(&self.description));
        let mut text = layout::fit(&title, terminal::width());
        text.push_str(&members("takes", &self.inputs));
        text.push_str(&members("gives", &self.outputs));
        if let Some(example) = &self.example {
            text.push_str(&format!("\n\nExample step:\n{}", example.step(self)));
            if let Some(Data(output)) = &example.output {
                text.push_str(&format!("\ngives\n  {}", escape(&output.to_string())));
            }
        }
        text
    }
}

pub(super) fn run(context: &Context, args: &ListCapabilitiesArgs) -> Result<Exit, CliError> {
    match &args.command {
        Some(CapabilitiesCommand::Import(args)) => import::run(context, args),
        Some(CapabilitiesCommand::Show(args)) => show(context, &args.named.capabilities, Some(&args.id)),
        Some(CapabilitiesCommand::List(args)) => show(context, &args.capabilities, None),
        None => show(context, &args.capabilities, args.id.as_deref()),
    }
}

/// Shows all capabilities, or the one that is asked for.
fn show(context: &Context, files: &CapabilitiesArgs, asked: Option<&str>) -> Result<Exit, CliError> {
    let library = Library::with(skills::read_capabilities(&files.capabilities)?);
    let built_in = library.descriptions().map(|(id, does)| (id.to_owned(), "built_in", does.to_owned()));
    let person = (HUMAN_ASK.to_owned(), "person", "Ask a person; the run waits for the answer".to_owned());
    let declared = library.declarations().iter();
    let declared = declared.map(|(id, one)| (id.to_string(), "declared", one.description.to_string()));
    let mut all: Vec<(String, &'static str, String)> = built_in.chain([person]).chain(declared).collect();
    all.extend(TIMERS.map(|(id, does)| (id.to_owned(), "timer", does.to_owned())));
    all.sort();
    if let Some(asked) = asked
        && !all.iter().any(|(id, ..)| id == asked)
    {
        let meant = did_you_mean(asked, all.iter().map(|(id, ..)| id.as_str()));
        let message = format!("there is no capability {asked:?}{meant}");
        return Err(CliError::new(Code::NoSuchPlace, message).with_hint(hint::LIST_CAPABILITIES));
    }
    let wanted = all.iter().filter(|(id, ..)| asked.is_none_or(|asked| asked == id));
    let rows = wanted.filter_map(|(id, source, does)| CapabilityRow::of(&library, id, source, does));
    context.print(&CapabilitiesReport { capabilities: rows.collect() })?;
    Ok(Exit::Yes)
}
