//! Documents that hold policies, in every shape people write them.

use hence_canon::{JsonPointer, Kind, Object, Value};

use super::object::Policy;
use super::pack::Pack;
use super::{PolicyId, PolicySet};

/// A document and the name a person knows it by: a path, a URL, the name of a pack.
#[derive(Clone, Debug)]
pub struct Document {
    /// The name, for messages.
    pub name: String,
    /// What it holds.
    pub value: Value,
}

/// Documents that cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{document}{}: {kind}", at(pointer))]
pub struct LoadError {
    /// The document.
    pub document: String,
    /// Where in it.
    pub pointer: JsonPointer,
    /// What is wrong there.
    pub kind: LoadErrorKind,
}

fn at(pointer: &JsonPointer) -> String {
    if pointer.is_root() { String::new() } else { format!(", `{pointer}`") }
}

/// What is wrong with a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadErrorKind {
    /// A document without any policy: to check nothing is not to pass.
    #[error("no policies here; expected a policy, a list of policies, or an object with `policies`")]
    NoPolicies,
    /// Something else where a policy should be.
    #[error("expected a policy object, found {0}")]
    NotAPolicy(Kind),
    /// A policy without a name to report it by.
    #[error("the policy has neither `policy_id` nor `id`")]
    NoId,
    /// The same id twice.
    #[error("policy `{id}` is already defined in {first}")]
    DuplicateId {
        /// The id.
        id: PolicyId,
        /// Where it was defined first.
        first: String,
    },
    /// A pack that lists a policy no document defines.
    #[error("the pack lists `{0}`, which no document defines")]
    UnknownMember(String),
}

impl Document {
    /// Reads the policies and packs of the document into a set.
    pub(super) fn read_into(&self, set: &mut PolicySet) -> Result<(), LoadError> {
        let mut reader = Reader { document: &self.name, set, found: false };
        reader.value(&self.value, &JsonPointer::root())?;
        if reader.found { Ok(()) } else { Err(reader.error(&JsonPointer::root(), LoadErrorKind::NoPolicies)) }
    }
}

struct Reader<'a> {
    document: &'a str,
    set: &'a mut PolicySet,
    found: bool,
}

impl Reader<'_> {
    fn error(&self, pointer: &JsonPointer, kind: LoadErrorKind) -> LoadError {
        LoadError { document: self.document.to_owned(), pointer: pointer.clone(), kind }
    }

    fn value(&mut self, value: &Value, pointer: &JsonPointer) -> Result<(), LoadError> {
        match value {
            Value::Array(items) => self.list(items, pointer, None),
            Value::Object(object) => self.object(object, pointer),
            other => Err(self.error(pointer, LoadErrorKind::NotAPolicy(other.kind()))),
        }
    }

    fn object(&mut self, object: &Object, pointer: &JsonPointer) -> Result<(), LoadError> {
        let listed =
            ["policies", "policy"].into_iter().find_map(|key| Some((key, object.get(key)?.as_array()?)));
        if let Some((key, items)) = listed {
            let header = object.get("pack").and_then(Value::as_object).unwrap_or(object);
            let pack = Pack::read(header);
            return self.list(items, &pointer.child(key), pack);
        }
        // A gallery of packs: id → pack.
        let is_pack = |value: &Value| value.get("policies").is_some_and(|list| list.as_array().is_some());
        if !object.is_empty()
            && object.get("formula").is_none()
            && object.iter().all(|(_, value)| is_pack(value))
        {
            for (key, value) in object.iter() {
                self.value(value, &pointer.child(key))?;
            }
            return Ok(());
        }
        if object.is_empty() {
            return Err(self.error(pointer, LoadErrorKind::NoPolicies));
        }
        self.policy(object, pointer).map(|_| ())
    }

    fn list(&mut self, items: &[Value], pointer: &JsonPointer, pack: Option<Pack>) -> Result<(), LoadError> {
        let mut members = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let pointer = pointer.child(index);
            match (item, &pack) {
                (Value::Object(object), _) => members.push((self.policy(object, &pointer)?, pointer)),
                // A pack may list policies that other documents define.
                (Value::String(id), Some(_)) => {
                    let id = PolicyId::new(id).ok_or_else(|| self.error(&pointer, LoadErrorKind::NoId))?;
                    self.found = true;
                    members.push((id, pointer));
                }
                (other, _) => return Err(self.error(&pointer, LoadErrorKind::NotAPolicy(other.kind()))),
            }
        }
        if let Some(pack) = pack {
            self.set.add_pack(pack, self.document, members);
        }
        Ok(())
    }

    fn policy(&mut self, object: &Object, pointer: &JsonPointer) -> Result<PolicyId, LoadError> {
        let policy = Policy::read(object).ok_or_else(|| self.error(pointer, LoadErrorKind::NoId))?;
        let id = policy.id().clone();
        let place = format!("{}{}", self.document, at(pointer));
        if let Some(first) = self.set.add(policy, place) {
            return Err(self.error(pointer, LoadErrorKind::DuplicateId { id, first }));
        }
        self.found = true;
        Ok(id)
    }
}
