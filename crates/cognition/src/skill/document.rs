//! Skill documents.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hence_canon::{JsonPointer, Object, Value};

use super::Findings;
use super::step::non_empty;
use super::{Field, Fields, Rule, Severity, SkillFinding, Stage, Step, fields};
use crate::budget::Limits;

/// The most steps a skill may have. Larger work is a foreach or a nested skill.
pub const STEPS_MAX: usize = 100_000;

pub(super) const KEYS: [&str; 13] = [
    "id",
    "version",
    "name",
    "description",
    "inputs",
    "outputs",
    "steps",
    "capabilities",
    "skills",
    "policies",
    "limits",
    "metadata",
    super::ORDER_KEY,
];

/// Members that registries of skills write next to ours. A run does not read them.
const REGISTRY_KEYS: [&str; 10] = [
    "status",
    "channel",
    "domain",
    "slug",
    "classification",
    "tags",
    "source_file",
    "author",
    "owner",
    "license",
];

/// A skill that has been read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Skill {
    /// The id.
    pub id: Arc<str>,
    /// The version.
    pub version: Arc<str>,
    /// The name for people.
    pub name: Arc<str>,
    /// The description.
    pub description: Arc<str>,
    /// The declared inputs.
    pub inputs: Fields,
    /// The declared outputs.
    pub outputs: Fields,
    /// The steps in declared order.
    pub steps: Vec<Step>,
    /// The secret inputs.
    pub secrets: BTreeSet<Arc<str>>,
    /// The files that declare what it calls, from the folder of the document. Whoever reads the document reads them.
    pub capabilities: Vec<Arc<str>>,
    /// The files of the skills it nests, from the folder of the document. Whoever reads the document reads them.
    pub skills: Vec<Arc<str>>,
    /// The policies every step must obey: files from the folder of the document, or packs. The caller reads them.
    pub policies: Vec<Arc<str>>,
    /// The most that the calls of one run of it may use.
    pub limits: Limits,
    /// Any other data of the author.
    pub metadata: Object,
}

/// The result of reading a document.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The skill, unless the document is not one.
    pub skill: Option<Skill>,
    /// The readable part of a document that has steps but is not a skill: enough to look for more findings, not to run.
    pub unfinished: Option<Skill>,
    /// Every finding, in document order.
    pub findings: Vec<SkillFinding>,
}

impl Reading {
    /// Returns whether a finding prevents the skill from running.
    pub fn is_refused(&self) -> bool {
        self.findings.iter().any(|finding| finding.rule.severity() == Severity::Error)
    }
}

impl Skill {
    /// Reads a document and reports everything that is wrong with it.
    ///
    /// A skill comes back whenever the document has the shape of one; what is wrong inside stays a finding.
    pub fn read(document: &Value) -> Reading {
        let mut findings = Findings::default();
        let skill = read(&super::order::restored(document, &mut findings), &mut findings);
        let is_one = !findings.any_at(Stage::Load);
        let (skill, unfinished) = if is_one { (skill, None) } else { (None, skill) };
        Reading { skill, unfinished, findings: findings.into_vec() }
    }

    /// Returns the step with an id. It walks the steps; a caller with many lookups needs an index.
    pub fn step(&self, id: &str) -> Option<&Step> {
        self.steps.iter().find(|step| &*step.id == id)
    }

    /// Returns the variables that its steps declare in scopes which other runs may share, each with its scope.
    pub fn shared_variables(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>)> {
        let declared = self.steps.iter().flat_map(|step| step.variables.as_deref().unwrap_or_default());
        let scoped = declared.filter_map(|declared| Some((&declared.name, declared.scope.as_ref()?)));
        scoped.filter(|(_, scope)| super::variable::SHARED_SCOPES.contains(&&***scope))
    }

    /// Returns the shared scope in which its steps declare a variable; the first one, if there are several.
    pub fn shared_scope(&self, name: &str) -> Option<&Arc<str>> {
        self.shared_variables().find(|(declared, _)| &***declared == name).map(|(_, scope)| scope)
    }

    /// Returns the place of a step in the document.
    pub(crate) fn step_pointer(index: usize) -> JsonPointer {
        JsonPointer::root().child("steps").child(index)
    }
}

fn read(document: &Value, findings: &mut Findings) -> Option<Skill> {
    let root = JsonPointer::root();
    let Value::Object(object) = document else {
        findings.add(Rule::Shape, root, format_args!("a skill is an object, found {}", document.kind()));
        return None;
    };
    for key in object.keys().filter(|key| !KEYS.contains(&&***key)) {
        if REGISTRY_KEYS.contains(&&**key) {
            let message = format_args!("`{key}` is for registries; a run does not read it");
            findings.add(Rule::Ignored, root.child(key), message);
        } else {
            findings.add_unknown_key(&root, "a skill", key, &KEYS);
        }
    }
    let mut text = |key: &str| non_empty(object, key, &root, findings);
    let (id, version, name, description) = (text("id"), text("version"), text("name"), text("description"));
    let inputs = declared(object, "inputs", findings);
    let outputs = declared(object, "outputs", findings);
    let metadata = match object.get("metadata") {
        None | Some(Value::Null) => Object::new(),
        Some(Value::Object(metadata)) => metadata.clone(),
        Some(other) => {
            let message = format_args!("metadata is an object, found {}", other.kind());
            findings.add(Rule::Shape, root.child("metadata"), message);
            Object::new()
        }
    };
    let secrets = secrets(object, findings);
    let (capabilities, skills) = (files(object, "capabilities", findings), files(object, "skills", findings));
    let policies = files(object, "policies", findings);
    let limits = limits(object.get("limits"), &root.child("limits"), findings);
    let steps = steps(object, findings)?;
    Some(Skill {
        id: id.unwrap_or_default(),
        version: version.unwrap_or_default(),
        name: name.unwrap_or_default(),
        description: description.unwrap_or_default(),
        inputs,
        outputs,
        steps,
        secrets,
        capabilities,
        skills,
        policies,
        limits,
        metadata,
    })
}

/// Reads the limits of a skill or a step, which may be absent.
pub(super) fn limits(given: Option<&Value>, pointer: &JsonPointer, findings: &mut Findings) -> Limits {
    let Some(given) = given.filter(|given| !given.is_null()) else { return Limits::default() };
    match Limits::read(given) {
        Ok(limits) => limits,
        Err(wrong) => {
            for (place, message) in wrong {
                findings.add(Rule::Limits, pointer.join(&place), message);
            }
            Limits::default()
        }
    }
}

/// Reads declared fields. One that cannot be read still has a name, of any type.
fn declared(object: &Object, key: &str, findings: &mut Findings) -> Fields {
    let pointer = JsonPointer::root().child(key);
    match object.get(key) {
        Some(Value::Object(entries)) => {
            let mut read = fields(entries, &pointer, findings);
            if read.len() < entries.len() {
                let any = |name: &Arc<str>| (name.clone(), Field::of_any_type());
                let unread = entries.keys().filter(|name| !read.iter().any(|(known, _)| known == *name));
                read.extend(unread.map(any).collect::<Vec<_>>());
            }
            read
        }
        other => {
            let found = other.map_or_else(|| "nothing".to_owned(), |value| value.kind().to_string());
            findings.add(Rule::Shape, pointer, format_args!("`{key}` is an object, found {found}"));
            Fields::new()
        }
    }
}

/// Reads which inputs are secret. What is written in a document is none, so a secret has no default and is no output.
fn secrets(object: &Object, findings: &mut Findings) -> BTreeSet<Arc<str>> {
    let mut secrets = BTreeSet::new();
    for key in ["inputs", "outputs"] {
        let declared = object.get(key).and_then(Value::as_object);
        for (name, field) in declared.into_iter().flat_map(Object::iter) {
            let place = JsonPointer::root().child(key).child(name);
            match field.get("secret") {
                None | Some(Value::Bool(false)) => {}
                Some(Value::Bool(true)) if key == "outputs" => {
                    findings.add(Rule::Shape, place.child("secret"), "only inputs are secret");
                }
                Some(Value::Bool(true)) if field.get("default").is_some() => {
                    findings.add(Rule::Shape, place.child("default"), "a secret input has no default");
                }
                Some(Value::Bool(true)) => {
                    secrets.insert(name.clone());
                }
                Some(other) => {
                    let message = format_args!("secret is true or false, found {}", other.kind());
                    findings.add(Rule::Shape, place.child("secret"), message);
                }
            }
        }
    }
    secrets
}

/// Reads the files a skill names: one, or a list.
fn files(object: &Object, key: &str, findings: &mut Findings) -> Vec<Arc<str>> {
    let pointer = JsonPointer::root().child(key);
    let items = match object.get(key) {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Array(items)) => items.as_ref(),
        Some(one) => std::slice::from_ref(one),
    };
    let mut files = Vec::new();
    for item in items {
        match item {
            Value::String(file) if !file.is_empty() => files.push(file.clone()),
            other => {
                let message =
                    format_args!("expected the path of a file, or a list of them, found {}", other.kind());
                findings.add(Rule::Shape, pointer.clone(), message);
            }
        }
    }
    files
}

fn steps(object: &Object, findings: &mut Findings) -> Option<Vec<Step>> {
    let pointer = JsonPointer::root().child("steps");
    let items = match object.get("steps") {
        Some(Value::Array(items)) => items,
        other => {
            let found = other.map_or_else(|| "nothing".to_owned(), |value| value.kind().to_string());
            findings.add(Rule::Shape, pointer, format_args!("`steps` is a list, found {found}"));
            return None;
        }
    };
    if items.is_empty() {
        findings.add(Rule::NoSteps, pointer.clone(), "a skill has at least one step");
    }
    if items.len() > STEPS_MAX {
        let message = format_args!("{} steps, limit is {STEPS_MAX}", items.len());
        findings.add(Rule::TooManySteps, pointer, message);
        return None;
    }
    let mut seen = BTreeMap::new();
    let mut steps = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let place = Skill::step_pointer(index);
        let step = Step::read(item, index, &place, findings);
        if let Some(first) = seen.insert(step.id.clone(), index) {
            let message = format_args!("`{}` is already the id of step {first}", step.id);
            findings.add(Rule::DuplicateStep, place.child("id"), message);
        }
        steps.push(step);
    }
    Some(steps)
}
