//! The files a skill names, read one by one, so that all their errors can be reported at once.

use hence_canon::{JsonPointer, Value};
use hence_capabilities::Library;

use super::{NestedSkills, capabilities};
use crate::args::skill::{CapabilitiesArgs, NestedArgs};
use crate::error::CliError;
use crate::guard;

/// The capabilities a skill can call, as far as its files can be read, and the errors of those files.
pub(crate) struct ReferencedFiles {
    pub(crate) library: Library,
    pub(crate) findings: Vec<FileFinding>,
    /// Whether all capabilities are known.
    pub(crate) calls: Calls,
}

/// Whether all capabilities of a skill are known.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Calls {
    Known,
    /// A file that may declare more capabilities could not be read.
    Unknown,
}

/// A defect of a file that a skill names.
pub(crate) struct FileFinding {
    pub(crate) rule: &'static str,
    /// The place where the skill names the file.
    pub(crate) pointer: JsonPointer,
    pub(crate) message: String,
}

impl ReferencedFiles {
    /// Reads every file a skill names, and those the command line adds.
    ///
    /// # Errors
    /// [`CliError`] for a file that the command line names: that is not a finding about the skill.
    pub(crate) fn read(
        skill: &str,
        bytes: &[u8],
        files: &CapabilitiesArgs,
        nested: &NestedArgs,
    ) -> Result<Self, CliError> {
        // A document that cannot be parsed is reported when the skill itself is read.
        let document = hence_yaml::parse(bytes).map(|document| document.value().clone()).unwrap_or_default();
        let mut findings = Vec::new();
        let mut calls = Calls::Known;
        let mut missing = |found: Vec<FileFinding>, findings: &mut Vec<FileFinding>| {
            if !found.is_empty() {
                calls = Calls::Unknown;
            }
            findings.extend(found);
        };
        let nested_skills = match NestedSkills::read(skill, bytes, nested) {
            Ok(nested_skills) => nested_skills,
            // An error of a file that the command line names is not an error of the skill.
            Err(error) if !nested.skill.is_empty() => return Err(error),
            Err(error) => {
                missing(findings_at("skills", root("skills"), &error), &mut findings);
                NestedSkills::default()
            }
        };
        let mut library = Library::with(capabilities::read(&files.capabilities)?);
        let own = names(&document, "capabilities");
        let wrong = each(skill, &own, "capabilities", |file| capabilities::read(&[file]).map(|_| ()));
        if wrong.is_empty() {
            match capabilities::library_for(skill, bytes, files) {
                Ok(whole) => library = whole,
                Err(error) => {
                    missing(findings_at("capabilities", root("capabilities"), &error), &mut findings);
                }
            }
        }
        missing(wrong, &mut findings);
        findings.extend(policies(skill, &names(&document, "policies")));
        let library = library.with_skills(nested_skills.skills());
        if calls == Calls::Known
            && let Err(error) = nested_skills.check(&library)
        {
            findings.extend(findings_at("skills", root("skills"), &error));
        }
        Ok(Self { library, findings, calls })
    }
}

/// Reads policies one by one, then together: an id may be defined once.
fn policies(skill: &str, names: &[(JsonPointer, String)]) -> Vec<FileFinding> {
    let given = |name: &str| guard::read_policies_of_skill(skill, &[name.into()], &[]).map(|_| ());
    let mut wrong: Vec<FileFinding> = Vec::new();
    for (pointer, name) in names {
        if let Err(error) = given(name) {
            wrong.extend(findings_at("policies", pointer.clone(), &error));
        }
    }
    let all: Vec<_> = names.iter().map(|(_, name)| name.as_str().into()).collect();
    if wrong.is_empty()
        && let Err(error) = guard::read_policies_of_skill(skill, &all, &[])
    {
        wrong.extend(findings_at("policies", root("policies"), &error));
    }
    wrong
}

fn each(
    skill: &str,
    names: &[(JsonPointer, String)],
    rule: &'static str,
    read: impl Fn(String) -> Result<(), CliError>,
) -> Vec<FileFinding> {
    let mut wrong = Vec::new();
    for (pointer, name) in names {
        if let Err(error) = read(capabilities::beside(skill, name)) {
            wrong.extend(findings_at(rule, pointer.clone(), &error));
        }
    }
    wrong
}

fn root(member: &str) -> JsonPointer {
    JsonPointer::root().child(member)
}

/// Returns the names in a member, a text or a list of texts, each with its place. Anything else is
/// reported when the skill is read.
fn names(document: &Value, member: &str) -> Vec<(JsonPointer, String)> {
    match document.get(member) {
        Some(Value::String(name)) => vec![(root(member), name.to_string())],
        Some(Value::Array(names)) => {
            let place = |(index, name): (usize, &Value)| {
                name.as_str().map(|name| (root(member).child(index), name.to_owned()))
            };
            names.iter().enumerate().filter_map(place).collect()
        }
        _ => Vec::new(),
    }
}

/// Turns an error into findings at a place: one for each finding of the error, or one for the error itself.
fn findings_at(rule: &'static str, pointer: JsonPointer, error: &CliError) -> Vec<FileFinding> {
    let finding = |message: &String| FileFinding { rule, pointer: pointer.clone(), message: message.clone() };
    match error.findings.as_slice() {
        [] => vec![finding(&error.message)],
        several => several.iter().map(finding).collect(),
    }
}
