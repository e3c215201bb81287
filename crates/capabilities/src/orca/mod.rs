//! Contracts and bindings of ORCA registries as declarations of a capabilities file.
//!
//! A registry holds one document for each contract (`id`, `inputs`, `outputs`, `properties`, `safety`), for each binding
//! (`capability`, `service`, `protocol`, `operation`, `request`, `response`) and for each service (`kind`, and `module` or
//! `base_url`). These are foreign texts: nothing is executed, and a binding becomes a provider only if the user allows its
//! kind of call. Any other contract is declared `unbound`, with the reason.

mod binding;
mod contract;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use hence_canon::{Object, Value};

use crate::provider::Kinds;
use crate::registry::{Declarations, Source};
use crate::unbound::UNBOUND;

/// The program that makes a call of a `pythoncall` binding. It must lie next to the capabilities file.
pub const PYTHONCALL: &str = include_str!("pythoncall.py");

/// The file name of [`PYTHONCALL`].
pub const PYTHONCALL_NAME: &str = "hence-pythoncall.py";

/// The documents of a registry, sorted by what they are.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    contracts: BTreeMap<String, Value>,
    bindings: BTreeMap<String, Value>,
    services: BTreeMap<String, Value>,
    /// The binding that the registry prefers for a capability.
    preferred: BTreeMap<String, String>,
}

/// The kind of a registry's document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DocumentKind {
    /// The contract of a capability.
    Contract,
    /// One way to execute a capability.
    Binding,
    /// The module or the address that bindings refer to.
    Service,
    /// The bindings that a registry prefers.
    Selection,
}

/// The calls that the user allows imported bindings to make.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    /// The folder in which Python modules are looked up; `None` if no Python may be called.
    pub python: Option<PathBuf>,
    /// Hosts that requests may go to, as `HOST` or `HOST:PORT`.
    pub hosts: BTreeSet<String>,
}

/// The declarations made of a registry.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The content of the capabilities file.
    pub document: Value,
    /// One row for each contract, by id.
    pub rows: Vec<Row>,
    /// The ids of capabilities that have bindings and no contract.
    pub without_contract: Vec<String>,
}

/// The provider of one imported capability.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The id of the capability.
    pub id: String,
    /// The kind of its provider.
    pub provider: &'static str,
    /// The binding that was translated; `None` for `unbound`.
    pub binding: Option<String>,
    /// The reason why it is unbound; empty otherwise.
    pub reason: String,
}

/// A translated binding: the `provider` object, its kind, and the secrets it needs with their environment variables.
struct Provided {
    kind: &'static str,
    provider: Object,
    secrets: BTreeSet<String>,
}

/// Two documents of one kind that have the same id.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("another document declares `{0}` too")]
pub struct RepeatedId(pub String);

impl Registry {
    /// Adds a document, and returns what it is; `None` for a document of another kind, which is not added.
    ///
    /// # Errors
    /// [`RepeatedId`] when there is a document of that kind and id. The first one stays.
    pub fn add(&mut self, document: &Value) -> Result<Option<DocumentKind>, RepeatedId> {
        let has = |key: &str| document.get(key).is_some();
        let Some(id) = document.get("id").and_then(Value::as_str) else {
            let defaults = document.get("defaults").and_then(Value::as_object);
            for (capability, binding) in defaults.into_iter().flat_map(Object::iter) {
                if let Some(binding) = binding.as_str() {
                    self.preferred.insert(capability.to_string(), binding.to_owned());
                }
            }
            return Ok(defaults.map(|_| DocumentKind::Selection));
        };
        let (kind, known) = if has("capability") && has("protocol") && has("operation") {
            (DocumentKind::Binding, &mut self.bindings)
        } else if has("inputs") && has("outputs") && !has("steps") {
            (DocumentKind::Contract, &mut self.contracts)
        } else if has("kind") && (has("module") || has("base_url") || has("server")) {
            (DocumentKind::Service, &mut self.services)
        } else {
            return Ok(None);
        };
        if known.contains_key(id) {
            return Err(RepeatedId(id.to_owned()));
        }
        known.insert(id.to_owned(), document.clone());
        Ok(Some(kind))
    }

    /// Returns the number of contracts.
    pub fn contracts_count(&self) -> usize {
        self.contracts.len()
    }

    /// Returns the declarations of all contracts. Each of them is one that a capabilities file may hold: where a translated
    /// binding would be refused, the capability is unbound, and the reason says why.
    pub fn declarations(&self, allowed: &Allowed, kinds: &Kinds) -> Imported {
        let (mut declared, mut secrets) = (Vec::new(), BTreeSet::new());
        let mut rows = Vec::new();
        for (id, document) in &self.contracts {
            let contract = contract::declaration(document, &self.contracts);
            let (row, provided) = match self.provided(id, allowed) {
                Ok((binding, provided)) => match refusal(&contract, &provided, kinds) {
                    None => {
                        let row = (provided.kind, Some(binding), String::new());
                        (row, Some(provided))
                    }
                    Some(why) => ((UNBOUND, None, format!("binding {binding} is refused: {why}")), None),
                },
                Err(reason) => ((UNBOUND, None, reason), None),
            };
            let (provider, binding, reason) = row;
            let object = match provided {
                Some(provided) => {
                    secrets.extend(provided.secrets);
                    provided.provider
                }
                None => Object::from_iter([("kind", UNBOUND), ("reason", reason.as_str())]),
            };
            declared.push((id.clone(), contract.with("provider", object)));
            rows.push(Row { id: id.clone(), provider, binding, reason });
        }
        declared.extend(contract::gate_copies(&declared));
        let capabilities: Object = declared.into_iter().collect();
        let mut document = Object::from_iter([("capabilities", capabilities)]);
        if !secrets.is_empty() {
            document = document.with("secrets", secret_sources(&secrets));
        }
        let bound = self.bindings.values().filter_map(|binding| binding.get("capability")?.as_str());
        let without: BTreeSet<&str> = bound.filter(|id| !self.contracts.contains_key(*id)).collect();
        let without_contract = without.into_iter().map(str::to_owned).collect();
        Imported { document: document.into(), rows, without_contract }
    }

    /// Translates the preferred binding of a capability, or else the first that can be translated.
    ///
    /// # Errors
    /// The reason why none can.
    fn provided(&self, id: &str, allowed: &Allowed) -> Result<(String, Provided), String> {
        let is_for = |binding: &Value| binding.get("capability").and_then(Value::as_str) == Some(id);
        let mut bindings: Vec<(&String, &Value)> =
            self.bindings.iter().filter(|(_, binding)| is_for(binding)).collect();
        let preferred = self.preferred.get(id);
        bindings.sort_by_key(|(name, _)| Some(*name) != preferred);
        let mut reasons = Vec::new();
        for (name, binding) in bindings {
            let service = binding.get("service").and_then(Value::as_str).unwrap_or_default();
            let translated = match self.services.get(service) {
                Some(service) => binding::provider(binding, service, allowed),
                None => Err(format!("its service `{service}` is not among the documents")),
            };
            match translated {
                Ok(provided) => return Ok((name.clone(), provided)),
                Err(reason) => reasons.push(format!("binding {name}: {reason}")),
            }
        }
        match reasons.is_empty() {
            true => Err("no binding names this capability".to_owned()),
            false => Err(reasons.join("; ")),
        }
    }
}

/// Returns the reason why a capabilities file with this declaration would be refused.
fn refusal(contract: &Object, provided: &Provided, kinds: &Kinds) -> Option<String> {
    // Gates are other declarations of the file, which are read with it.
    let alone = contract.without("gates").with("provider", provided.provider.clone());
    let file = Object::from_iter([("capabilities", Object::from_iter([("x.x", alone)]))])
        .with("secrets", secret_sources(&provided.secrets));
    let source = Source { document: file.into(), folder: PathBuf::new() };
    let problems = Declarations::read(vec![source], kinds).err()?;
    Some(problems.iter().map(|found| found.problem.to_string()).collect::<Vec<_>>().join("; "))
}

/// Returns the declarations of secrets, each in the environment variable of its name.
fn secret_sources(names: &BTreeSet<String>) -> Object {
    names.iter().map(|name| (name.as_str(), Object::from_iter([("environment", name.as_str())]))).collect()
}

#[cfg(test)]
mod tests;
