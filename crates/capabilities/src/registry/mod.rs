//! Capabilities files: the declarations of capabilities in addition to the built-in ones.

mod declared;
mod fields;
mod members;
mod problem;
mod schema;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hence_canon::{Canonical, JsonPointer, Object, Value, parse};
use hence_cognition::capability::{CognitiveHints, Safety};

pub use declared::{Declared, Effects, OUTPUT_BYTES_DEFAULT, OUTPUT_BYTES_MAX};
pub use members::Members;
pub use problem::{Findings, RegistryProblem};
pub use schema::json_schema;

use crate::families;
use crate::provider::Kinds;
use crate::secret::Secrets;

/// The member names of a capabilities file.
const CAPABILITIES: &str = "capabilities";
const SECRETS: &str = "secrets";
const CUSTOM_ACTIONS: &str = "custom_actions";
/// The member of a declaration with its hints.
const HINTS: &str = "hints";

/// One parsed capabilities file, and the folder that its relative paths start at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    /// The parsed content of the file.
    pub document: Value,
    /// The folder that contains the file.
    pub folder: PathBuf,
}

impl Source {
    /// Returns the file as a run pins it: in canonical order, with the order of hints, which shows in records, as data.
    fn pinned(self) -> Self {
        let with_order = |declared: &Value| match (declared.as_object(), declared.get(HINTS)) {
            (Some(object), Some(hints)) => object.with(HINTS, CognitiveHints::with_order(hints)).into(),
            _ => declared.clone(),
        };
        let declared = self.document.get(CAPABILITIES).and_then(Value::as_object);
        let declared =
            declared.map(|all| all.iter().map(|(id, one)| (id.clone(), with_order(one))).collect::<Object>());
        let document = match (declared, self.document.as_object()) {
            (Some(declared), Some(document)) => document.with(CAPABILITIES, declared).into(),
            _ => self.document,
        };
        let document = parse(Canonical::of(&document).bytes()).unwrap_or(document);
        Self { document, folder: self.folder }
    }
}

/// A finding in one of several capabilities files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceProblem {
    /// The index of the file, from 0.
    pub source: usize,
    /// The finding.
    pub problem: RegistryProblem,
}

/// Everything that capabilities files declare.
#[derive(Clone, Debug, Default)]
pub struct Declarations {
    capabilities: BTreeMap<Arc<str>, Declared>,
    secrets: Secrets,
    sources: Vec<Source>,
}

impl Declarations {
    /// Reads files. An id or a secret that two files declare is a finding, and so is the id of a built-in capability.
    ///
    /// # Errors
    /// All findings of all files.
    pub fn read(sources: Vec<Source>, kinds: &Kinds) -> Result<Self, Vec<SourceProblem>> {
        let mut all = Self::default();
        let sources: Vec<Source> = sources.into_iter().map(Source::pinned).collect();
        let mut found = Vec::with_capacity(sources.len());
        for source in &sources {
            let mut findings = Findings::default();
            all.take_in(source, kinds, &mut findings);
            found.push(findings);
        }
        for (source, findings) in sources.iter().zip(&mut found) {
            all.check_gates(source, findings);
        }
        // The secret of a capability may be declared in another file.
        let problems: Vec<SourceProblem> = (0..)
            .zip(found)
            .flat_map(|(source, findings)| {
                let problems = findings.finish(|name| all.secrets.contains(name));
                problems.into_iter().map(move |problem| SourceProblem { source, problem })
            })
            .collect();
        all.sources = sources;
        if problems.is_empty() { Ok(all) } else { Err(problems) }
    }

    fn take_in(&mut self, source: &Source, kinds: &Kinds, findings: &mut Findings) {
        let (root, base): (JsonPointer, &Path) = (JsonPointer::root(), &source.folder);
        let Some(mut members) = Members::of(&source.document, root.clone(), base, findings) else { return };
        let (capabilities, secrets) = (members.object(CAPABILITIES), members.value(SECRETS));
        let custom_actions = members.texts(CUSTOM_ACTIONS);
        if source.document.get(CAPABILITIES).is_none() {
            members.refuse_whole("`capabilities` is missing");
        }
        members.finish();
        for name in self.secrets.merge(Secrets::read(secrets, base, findings)) {
            let place = root.child(SECRETS).child(&name);
            findings.add(place, format_args!("another file declares the secret `{name}` too"));
        }
        for (id, value) in capabilities.into_iter().flat_map(Object::iter) {
            let place = root.child(CAPABILITIES).child(id);
            if families::find(id).is_some() {
                findings.add(place.clone(), format_args!("`{id}` is the id of a built-in capability"));
            }
            if let Some(declared) = declared::read(value, &place, (base, &custom_actions), kinds, findings)
                && self.capabilities.insert(id.clone(), declared).is_some()
            {
                findings.add(place, format_args!("another file declares `{id}` too"));
            }
        }
    }

    /// Checks that every gate of a file is a known capability without safety rules of its own.
    fn check_gates(&self, source: &Source, findings: &mut Findings) {
        let declared = source.document.get(CAPABILITIES).and_then(Value::as_object);
        for (id, _) in declared.into_iter().flat_map(Object::iter) {
            let Some(safety) = self.capabilities.get(id).map(|declared| &declared.spec.safety) else {
                continue;
            };
            for (key, gates) in [("before", &safety.before), ("after", &safety.after)] {
                for (index, gate) in gates.iter().enumerate() {
                    let place = JsonPointer::root()
                        .child(CAPABILITIES)
                        .child(id)
                        .child("gates")
                        .child(key)
                        .child(index);
                    let asked = &gate.capability;
                    match self.capabilities.get(asked).map(|declared| &declared.spec.safety) {
                        None if families::find(asked).is_none() => {
                            findings
                                .add(place, format_args!("no capability `{asked}` is built in or declared"));
                        }
                        Some(own) if *own != Safety::default() => {
                            let message = format_args!(
                                "`{asked}` is a gate, and a gate has no safety rules of its own"
                            );
                            findings.add(place, message);
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    /// Returns whether no files were read.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Returns the declaration with an id.
    pub fn get(&self, id: &str) -> Option<&Declared> {
        self.capabilities.get(id)
    }

    /// Iterates over the declarations by id.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Declared)> {
        self.capabilities.iter()
    }

    /// Returns the declared secrets.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Returns the files that were read.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Returns the combined content of the files, without their folders. A run pins this content.
    pub fn canonical(&self) -> Canonical {
        let together = |key: &str| -> Object {
            let parts = self.sources.iter().filter_map(|source| source.document.get(key)?.as_object());
            parts.flat_map(Object::iter).map(|(name, value)| (name.clone(), value.clone())).collect()
        };
        let members = [(CAPABILITIES, together(CAPABILITIES)), (SECRETS, together(SECRETS))];
        let mut whole = Object::from_iter(members);
        let custom = self.sources.iter().filter_map(|source| source.document.get(CUSTOM_ACTIONS)?.as_array());
        let custom: Vec<Value> = custom.flatten().cloned().collect();
        // Files without types of their own keep the digest they had before there were any.
        if !custom.is_empty() {
            whole = whole.with(CUSTOM_ACTIONS, custom);
        }
        Canonical::of(&whole.into())
    }
}

#[cfg(test)]
mod tests;
