//! Checks the names that a step reads: in mappings, conditions, loops and routers.

use hence_canon::{JsonPointer, did_you_mean};

use super::{Checked, Order};
use crate::expression::{Demand, Expression};
use crate::mapping::ProducedField;
use crate::plan::graph;
use crate::plan::writers::targets;
use crate::reference::{Namespace, OnMissing, Reference};
use crate::skill::{Findings, Flow, Rule, Skill, Step};
use crate::state::{Frame, Memory, OutputField, Slot};

/// A name that a step reads, and where it stands.
struct Name {
    reference: Reference,
    place: JsonPointer,
    /// Whether something must be there when the step reads it.
    demand: Demand,
}

pub(super) fn report(checked: &Checked<'_>, at: &super::At<'_>, findings: &mut Findings) {
    for name in names(at.step, &at.place) {
        if let Some(message) = impossible(checked.skill, &name.reference) {
            findings.add(Rule::DanglingReference, name.place, message);
        } else if is_written(name.reference.namespace()) {
            report_writers(checked, at, name, findings);
        }
    }
}

fn is_written(namespace: Namespace) -> bool {
    !matches!(namespace, Namespace::Inputs | Namespace::Frame)
}

/// Returns every name that a step reads.
fn names(step: &Step, place: &JsonPointer) -> Vec<Name> {
    let mut names = Vec::new();
    for (at, reference) in step.input.iter().flat_map(|mapping| mapping.references_at()) {
        // An input that comes from a namespace without an error for missing values is `null`.
        let demand = match reference.namespace().on_missing() {
            OnMissing::Error => Demand::MustExist,
            OnMissing::Null => Demand::HasDefault,
        };
        names.push(Name { reference: reference.clone(), place: place.child("input").join(&at), demand });
    }
    for (at, formula) in step.control.formulas() {
        let place = place.child("config").join(&at);
        let named = formula.expression().map(crate::expression::Expression::named).unwrap_or_default();
        names.extend(named.into_iter().map(|(reference, demand)| {
            // The fields of the output are there from the start.
            let demand = if reference.namespace() == Namespace::Output { Demand::HasDefault } else { demand };
            Name { reference, place: place.clone(), demand }
        }));
    }
    for (field, _) in step.output.iter().flat_map(|mapping| mapping.entries()) {
        if let ProducedField::Memory(reference) = field {
            let place = place.child("output").child(field);
            names.push(Name { reference: reference.clone(), place, demand: Demand::MustExist });
        }
    }
    names
}

/// Reports a name that no earlier step writes, or one whose writer is not waited for.
fn report_writers(checked: &Checked<'_>, at: &super::At<'_>, name: Name, findings: &mut Findings) {
    let Name { reference, place, demand } = name;
    let all = checked.writers.of_reference(&reference);
    let is_before = |writer: usize| checked.order == Order::Unknown || writer < at.position;
    let before: Vec<_> = all.iter().filter(|(writer, _)| is_before(*writer)).collect();
    if before.is_empty() {
        // A slot as a whole is there from the start, and a loop may read what it writes itself.
        let is_there = reference.find(&Memory::default()).is_some();
        let is_loop = matches!(at.step.control.flow, Flow::While(_));
        let own = is_loop && all.iter().any(|(_, writer)| *writer == at.index);
        if is_there || own || is_shared(checked.skill, &reference) {
            return;
        }
        let rule = match demand {
            Demand::MustExist => Rule::DanglingReference,
            Demand::HasDefault if is_optional(reference.namespace()) => return,
            Demand::HasDefault => Rule::UnwrittenName,
        };
        findings.add(rule, place, unwritten(checked, &reference, all.first().map(|(_, step)| *step)));
    } else if checked.order == Order::Planned
        && !before.iter().any(|(_, writer)| checked.ancestry.is_before(*writer, at.index))
    {
        let names: Vec<&str> = before.iter().map(|(_, writer)| graph::id(checked.skill, *writer)).collect();
        let message = format_args!(
            "`{reference}` is written by {}, which this step does not depend on",
            names.join(", ")
        );
        findings.add(Rule::UnorderedRead, place, message);
    } else if checked.order == Order::Planned && demand == Demand::MustExist {
        let writers: Vec<&Step> =
            before.iter().filter_map(|(_, writer)| checked.skill.steps.get(writer.position())).collect();
        if let Some(message) = skipped(at.step, &writers, &reference, &place) {
            findings.add(Rule::SkippedWriter, place, message);
        }
    }
}

/// Returns why a name may be missing: the one condition under which it is written need not hold where it is read.
///
/// Writers with different conditions are taken for the branches of a decision, one of which is always taken.
fn skipped(reader: &Step, writers: &[&Step], reference: &Reference, place: &JsonPointer) -> Option<String> {
    let [first, others @ ..] = writers else { return None };
    let written_if = condition(first)?;
    let is_same = |writer: &&Step| condition(writer).is_some_and(|other| other.implies(written_if));
    // A slot as a whole is there from the start.
    if !others.iter().all(is_same) || reference.find(&Memory::default()).is_some() {
        return None;
    }
    let read_if = condition(reader);
    // A reader that asks, with a default, for anything the writer writes has thought of the case.
    let asks = |(asked, demand): &(Reference, Demand)| {
        let place = asked.to_string();
        let writes = |target: &crate::mapping::Target| {
            let target: &str = target.text();
            let is_below =
                |one: &str, other: &str| one.strip_prefix(other).is_some_and(|rest| rest.starts_with('.'));
            target == place || is_below(target, &place) || is_below(&place, target)
        };
        *demand == Demand::HasDefault && writers.iter().any(|writer| targets(writer).any(writes))
    };
    if read_if.is_some_and(|read_if| read_if.implies(written_if) || read_if.named().iter().any(asks)) {
        return None;
    }
    let is_expression = place.to_string().split('/').nth(3) == Some("config");
    let fix = match is_expression {
        true => format!("write `({reference} ?? DEFAULT)`"),
        false => {
            let joined = read_if.map(|read_if| format!("({read_if}) and ")).unwrap_or_default();
            format!("give this step the condition `{joined}{written_if}`")
        }
    };
    Some(format!(
        "`{reference}` is written only by `{}`, and only if `{written_if}`; {fix}, or let a step write it in every case",
        first.id
    ))
}

fn condition(step: &Step) -> Option<&Expression> {
    step.control.condition.as_ref()?.expression().ok()
}

/// Returns whether a name is a variable of a scope that other runs share: one of them may have written it.
fn is_shared(skill: &Skill, reference: &Reference) -> bool {
    let first = reference.path().split('.').next().unwrap_or_default();
    reference.namespace() == Namespace::Vars && skill.shared_variables().any(|(name, _)| &**name == first)
}

/// Returns whether a missing value of a namespace is `null` in every mapping, so nobody needs to write it.
fn is_optional(namespace: Namespace) -> bool {
    namespace.on_missing() == OnMissing::Null
}

fn unwritten(checked: &Checked<'_>, reference: &Reference, later: Option<crate::plan::StepIndex>) -> String {
    if let Some(later) = later {
        return format!(
            "`{reference}` is first written by `{}`, a later step",
            graph::id(checked.skill, later)
        );
    }
    let written = checked.writers.targets().take(super::COMPARED_NAMES_MAX).filter_map(|target| {
        let (namespace, path) = target.split_once('.')?;
        (namespace == reference.namespace().as_str()).then_some(path)
    });
    let meant = did_you_mean(reference.path(), written);
    format!("no earlier step writes `{reference}`{meant}{}", literal(reference))
}

/// Returns how a text is passed that begins like a reference and is none: with spaces it is a sentence or an expression.
fn literal(reference: &Reference) -> &'static str {
    match reference.path().contains(' ') {
        true => "; a text that is not a reference is written as {$literal: …}",
        false => "",
    }
}

/// Returns why a reference can never name anything.
fn impossible(skill: &Skill, reference: &Reference) -> Option<String> {
    let path = reference.path();
    let first = path.split('.').next().unwrap_or_default();
    let unless = |is_known: bool, message: &dyn Fn() -> String| (!is_known).then(message);
    match reference.namespace() {
        Namespace::Inputs => {
            let names = || skill.inputs.iter().map(|(name, _)| &**name);
            let leads_to = |name: &str| {
                path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            unless(names().any(leads_to), &|| {
                let meant = did_you_mean(first, names());
                format!("`{reference}` is not a declared input{meant}{}", literal(reference))
            })
        }
        Namespace::Frame => unless(Frame::FIELDS.contains(&first), &|| {
            format!("the frame has no field `{first}`{}", did_you_mean(first, Frame::FIELDS))
        }),
        Namespace::Working => first.parse::<Slot>().err().map(|error| error.to_string()),
        Namespace::Output => first.parse::<OutputField>().err().map(|error| error.to_string()),
        Namespace::Vars | Namespace::Outputs | Namespace::Extensions => None,
    }
}
