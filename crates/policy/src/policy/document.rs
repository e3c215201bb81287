//! Documents that hold policies: single ones, lists, packs and galleries, in JSON or TOML.

use std::collections::BTreeMap;

use hence_canon::{Float, JsonPointer, Kind, Object, Value, did_you_mean};

use super::{Policy, PolicyId};

/// A document with its name: a path, a URL, the name of a pack.
#[derive(Clone, Debug)]
pub struct Document {
    /// The name, for messages.
    pub name: String,
    /// The content.
    pub value: Value,
}

/// An error in a document of policies.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{document}{}: {kind}", at(pointer))]
pub struct LoadError {
    /// The document.
    pub document: String,
    /// The location in it.
    pub pointer: JsonPointer,
    /// The kind of error.
    pub kind: LoadErrorKind,
}

fn at(pointer: &JsonPointer) -> String {
    if pointer.is_root() { String::new() } else { format!(", `{pointer}`") }
}

/// The kinds of load errors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadErrorKind {
    /// A document without any policy: checking nothing must not pass.
    #[error("no policies here; expected a policy, a list of policies, or an object with `policies`")]
    NoPolicies,
    /// Another value where a policy should be.
    #[error("expected a policy object, found {0}")]
    NotAPolicy(Kind),
    /// A policy without an id.
    #[error("the policy has neither `policy_id` nor `id`")]
    NoId,
    /// The same id twice.
    #[error("policy `{id}` is already defined in {first}")]
    DuplicateId {
        /// The id.
        id: PolicyId,
        /// The document and location of the first definition.
        first: String,
    },
    /// A member that holds policies, or nearly has the name of the one that does: what it holds would not be judged.
    #[error("nothing reads `{key}`, and what it holds would not be judged{meant}")]
    UnreadMember {
        /// The member.
        key: String,
        /// The suggestion.
        meant: String,
    },
    /// A pack that lists a policy no document defines.
    #[error("the pack lists `{0}`, which no document defines")]
    UnknownMember(String),
}

impl Document {
    /// Reads the policies and packs of the document into a set.
    fn read_into(&self, set: &mut PolicySet) -> Vec<LoadError> {
        let mut reader = Reader { document: &self.name, set, found: false, errors: Vec::new() };
        reader.value(&self.value, &JsonPointer::root());
        if !reader.found && reader.errors.is_empty() {
            reader.refuse(&JsonPointer::root(), LoadErrorKind::NoPolicies);
        }
        reader.errors
    }
}

/// Members of a document that hold a list of policies.
const LISTS: [&str; 2] = ["policies", "policy"];

struct Reader<'a> {
    document: &'a str,
    set: &'a mut PolicySet,
    found: bool,
    errors: Vec<LoadError>,
}

impl Reader<'_> {
    fn refuse(&mut self, pointer: &JsonPointer, kind: LoadErrorKind) {
        self.errors.push(LoadError { document: self.document.to_owned(), pointer: pointer.clone(), kind });
    }

    fn value(&mut self, value: &Value, pointer: &JsonPointer) {
        match value {
            Value::Array(items) => self.list(items, pointer, None),
            Value::Object(object) => self.object(object, pointer),
            other => self.refuse(pointer, LoadErrorKind::NotAPolicy(other.kind())),
        }
    }

    fn object(&mut self, object: &Object, pointer: &JsonPointer) {
        let listed: Vec<(&str, &[Value])> =
            LISTS.into_iter().filter_map(|key| Some((key, object.get(key)?.as_array()?))).collect();
        if !listed.is_empty() {
            self.refuse_unread(object, pointer);
            let header = object.get("pack").and_then(Value::as_object).unwrap_or(object);
            let pack = Pack::read(header);
            for (key, items) in listed {
                self.list(items, &pointer.child(key), pack.clone());
            }
            return;
        }
        // A gallery of packs: id → pack.
        let is_pack = |value: &Value| value.get("policies").is_some_and(|list| list.as_array().is_some());
        if !object.is_empty()
            && object.get("formula").is_none()
            && object.iter().all(|(_, value)| is_pack(value))
        {
            for (key, value) in object.iter() {
                self.value(value, &pointer.child(key));
            }
            return;
        }
        if object.is_empty() {
            self.refuse(pointer, LoadErrorKind::NoPolicies);
        } else {
            self.policy(object, pointer);
        }
    }

    /// Refuses a member beside the list of policies that seems to be another one: a rule that nobody reads stops nothing.
    fn refuse_unread(&mut self, object: &Object, pointer: &JsonPointer) {
        let is_policy = |value: &Value| ["formula", "policy_id"].iter().any(|key| value.get(key).is_some());
        let holds_policies =
            |value: &Value| is_policy(value) || value.as_array().unwrap_or_default().iter().any(is_policy);
        for (key, value) in object.iter() {
            let is_read = LISTS.contains(&&**key) && value.as_array().is_some() || &**key == "pack";
            if is_read {
                continue;
            }
            let lower = key.to_lowercase();
            let meant = match LISTS.contains(&lower.as_str()) {
                true => format!("; did you mean a list `{lower}`?"),
                false => did_you_mean(&lower, LISTS),
            };
            if holds_policies(value) || !meant.is_empty() {
                let kind = LoadErrorKind::UnreadMember { key: key.to_string(), meant };
                self.refuse(&pointer.child(&**key), kind);
            }
        }
    }

    fn list(&mut self, items: &[Value], pointer: &JsonPointer, pack: Option<Pack>) {
        let mut members = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let pointer = pointer.child(index);
            match (item, &pack) {
                (Value::Object(object), _) => {
                    members.extend(self.policy(object, &pointer).map(|id| (id, pointer)));
                }
                // A pack may list policies that other documents define.
                (Value::String(id), Some(_)) => match PolicyId::new(id) {
                    Some(id) => {
                        self.found = true;
                        members.push((id, pointer));
                    }
                    None => self.refuse(&pointer, LoadErrorKind::NoId),
                },
                (other, _) => self.refuse(&pointer, LoadErrorKind::NotAPolicy(other.kind())),
            }
        }
        if let Some(pack) = pack {
            self.set.add_pack(pack, self.document, members);
        }
    }

    fn policy(&mut self, object: &Object, pointer: &JsonPointer) -> Option<PolicyId> {
        let Some(policy) = Policy::read(object) else {
            self.refuse(pointer, LoadErrorKind::NoId);
            return None;
        };
        let id = policy.id().clone();
        let place = format!("{}{}", self.document, at(pointer));
        if let Some(first) = self.set.add(policy, place) {
            self.refuse(pointer, LoadErrorKind::DuplicateId { id, first });
            return None;
        }
        self.found = true;
        Some(id)
    }
}

/// Policies and packs, in the order they were read.
#[derive(Clone, Debug, Default)]
pub struct PolicySet {
    policies: Vec<Policy>,
    /// The index of each policy, and where it was defined.
    places: BTreeMap<PolicyId, (usize, String)>,
    packs: Vec<Pack>,
    /// Members of packs, to be resolved when all documents are read: document, pointer, id.
    pending: Vec<(String, JsonPointer, PolicyId)>,
}

impl PolicySet {
    /// Loads documents: single policies, lists, packs, galleries.
    ///
    /// # Errors
    /// [`LoadError`] with document and location: for a document without policies, an id that is defined twice, or a
    /// pack that lists an undefined policy.
    pub fn load(documents: &[Document]) -> Result<Self, LoadError> {
        let (set, errors) = Self::load_all(documents);
        errors.into_iter().next().map_or(Ok(set), Err)
    }

    /// Loads what can be loaded, and returns every error next to it.
    pub fn load_all(documents: &[Document]) -> (Self, Vec<LoadError>) {
        let mut set = Self::default();
        let mut errors = Vec::new();
        for document in documents {
            errors.extend(document.read_into(&mut set));
        }
        for (document, pointer, id) in std::mem::take(&mut set.pending) {
            if !set.places.contains_key(&id) {
                let kind = LoadErrorKind::UnknownMember(id.to_string());
                errors.push(LoadError { document, pointer, kind });
            }
        }
        (set, errors)
    }

    /// Returns the policies.
    pub fn policies(&self) -> &[Policy] {
        &self.policies
    }

    /// Returns a policy by id.
    pub fn get(&self, id: &str) -> Option<&Policy> {
        let (place, _) = self.places.get(&PolicyId::new(id)?)?;
        self.policies.get(*place)
    }

    /// Returns the packs.
    pub fn packs(&self) -> &[Pack] {
        &self.packs
    }

    /// Returns the policies of a pack, in its order.
    pub fn members<'s>(&'s self, pack: &'s Pack) -> impl Iterator<Item = &'s Policy> {
        pack.members().iter().filter_map(|id| self.get(id.as_str()))
    }

    /// Adds a policy, or returns where its id was defined before.
    pub(super) fn add(&mut self, policy: Policy, place: String) -> Option<String> {
        if let Some((_, first)) = self.places.get(policy.id()) {
            return Some(first.clone());
        }
        self.places.insert(policy.id().clone(), (self.policies.len(), place));
        self.policies.push(policy);
        None
    }

    pub(super) fn add_pack(&mut self, pack: Pack, document: &str, members: Vec<(PolicyId, JsonPointer)>) {
        let ids: Vec<PolicyId> = members.iter().map(|(id, _)| id.clone()).collect();
        self.pending.extend(members.into_iter().map(|(id, pointer)| (document.to_owned(), pointer, id)));
        self.packs.push(pack.with_members(ids));
    }
}

/// A group of policies.
#[derive(Clone, Debug)]
pub struct Pack {
    id: String,
    members: Vec<PolicyId>,
}

impl Pack {
    /// Reads the header of a pack; `None` if it has no id.
    pub(super) fn read(source: &Object) -> Option<Self> {
        let id = source.get("id").and_then(Value::as_str)?.to_owned();
        Some(Self { id, members: Vec::new() })
    }

    pub(super) fn with_members(self, members: Vec<PolicyId>) -> Self {
        Self { members, ..self }
    }

    /// Returns the id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the ids of its policies.
    pub fn members(&self) -> &[PolicyId] {
        &self.members
    }
}

/// The built-in packs: name and TOML text.
pub const BUILT_IN: [(&str, &str); 6] = [
    ("engineering", include_str!("../../../../policies/engineering.toml")),
    ("reasoning", include_str!("../../../../policies/reasoning.toml")),
    ("data-flow", include_str!("../../../../policies/data-flow.toml")),
    ("oversight", include_str!("../../../../policies/oversight.toml")),
    ("budgets", include_str!("../../../../policies/budgets.toml")),
    ("records", include_str!("../../../../policies/records.toml")),
];

/// Loads the built-in packs.
pub fn built_in() -> PolicySet {
    let document = |(name, text): &(&str, &str)| {
        let value = parse_toml(text).expect("a test parses every pack that is built in");
        Document { name: (*name).to_owned(), value }
    };
    let documents: Vec<Document> = BUILT_IN.iter().map(document).collect();
    PolicySet::load(&documents).expect("a test loads every pack that is built in")
}

/// Errors of [`parse_toml`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TomlError {
    /// Not TOML.
    #[error("{0}")]
    Syntax(String),
    /// `nan` or `inf`.
    #[error("`{0}` is not a number JSON can hold")]
    NotFinite(String),
}

/// Reads a TOML text as a JSON value; dates become texts.
///
/// # Errors
/// [`TomlError`] with line and column when the text is not TOML.
pub fn parse_toml(text: &str) -> Result<Value, TomlError> {
    let table: toml::Table =
        text.parse().map_err(|error: toml::de::Error| TomlError::Syntax(error.to_string()))?;
    object(&table).map(Value::Object)
}

fn object(table: &toml::Table) -> Result<Object, TomlError> {
    let members: Result<Vec<(&str, Value)>, TomlError> =
        table.iter().map(|(key, item)| Ok((key.as_str(), value(item)?))).collect();
    Ok(members?.into_iter().collect())
}

fn value(item: &toml::Value) -> Result<Value, TomlError> {
    Ok(match item {
        toml::Value::String(text) => text.as_str().into(),
        toml::Value::Integer(number) => (*number).into(),
        toml::Value::Float(number) => {
            Float::new(*number).map_err(|_| TomlError::NotFinite(number.to_string()))?.into()
        }
        toml::Value::Boolean(value) => (*value).into(),
        toml::Value::Datetime(time) => time.to_string().into(),
        toml::Value::Array(items) => {
            let items: Result<Vec<Value>, TomlError> = items.iter().map(value).collect();
            items?.into()
        }
        toml::Value::Table(table) => object(table)?.into(),
    })
}

#[cfg(test)]
mod set_tests {
    use hence_canon::parse;

    use super::*;

    fn document(name: &str, json: &str) -> Document {
        Document { name: name.to_owned(), value: parse(json.as_bytes()).unwrap() }
    }

    fn ids(documents: &[Document]) -> Vec<String> {
        let set = PolicySet::load(documents).unwrap_or_else(|error| panic!("{error}"));
        set.policies().iter().map(|policy| policy.id().to_string()).collect()
    }

    fn error(documents: &[Document]) -> String {
        PolicySet::load(documents).unwrap_err().to_string()
    }

    const P: &str = r#"{"id": "p", "formula": "F(a_b)"}"#;

    #[test]
    fn every_shape_of_document_is_read() {
        assert_eq!(ids(&[document("one", P)]), ["p"]);
        assert_eq!(ids(&[document("spec", r#"{"policy_id": "q", "formula": "F(x)"}"#)]), ["q"]);
        assert_eq!(ids(&[document("list", &format!("[{P}]"))]), ["p"]);
        let pack = format!(r#"{{"pack": {{"id": "k", "name": "K"}}, "policies": [{P}]}}"#);
        let set = PolicySet::load(&[document("pack", &pack)]).unwrap();
        assert_eq!(set.packs()[0].id(), "k");
        assert_eq!(set.members(&set.packs()[0]).count(), 1);
        let by_reference = document("packs", r#"{"k": {"id": "k", "name": "K", "policies": ["p"]}}"#);
        assert_eq!(ids(&[document("one", P), by_reference]), ["p"]);
    }

    #[test]
    fn the_same_id_from_two_documents_is_an_error_that_names_both() {
        let list = format!("[{P}]");
        assert_eq!(
            error(&[document("a.json", P), document("b.json", &list)]),
            "b.json, `/0`: policy `p` is already defined in a.json"
        );
    }

    #[test]
    fn a_document_without_policies_is_an_error_not_a_pass() {
        for empty in ["[]", "{}", r#"{"policies": []}"#, r#"{"k": {"id": "k", "policies": []}}"#] {
            assert!(error(&[document("x", empty)]).contains("no policies here"), "{empty}");
        }
        assert_eq!(error(&[document("x", "3")]), "x: expected a policy object, found integer");
        assert_eq!(error(&[document("x", "[3]")]), "x, `/0`: expected a policy object, found integer");
        assert_eq!(
            error(&[document("x", r#"{"formula": "F(x)"}"#)]),
            "x: the policy has neither `policy_id` nor `id`"
        );
    }

    #[test]
    fn a_pack_that_lists_what_nobody_defines_is_an_error() {
        for (text, key) in [
            (r#"{"policies": [@], "polices": [{"id": "q", "formula": "F(x)"}]}"#, "polices"),
            (r#"{"policy": [@], "polcy": []}"#, "polcy"),
            (r#"{"policies": [@], "Policies": ["q"]}"#, "Policies"),
            (r#"{"policies": [@], "extra": [{"id": "q", "formula": "F(x)"}]}"#, "extra"),
            (r#"{"policies": [@], "more": {"policy_id": "q", "formula": "F(x)"}}"#, "more"),
        ] {
            let refused = PolicySet::load(&[document("d", &text.replace('@', P))]).unwrap_err();
            assert!(refused.to_string().contains(&format!("nothing reads `{key}`")), "{refused}");
        }
        let both =
            r#"{"policies": [@], "policy": [{"id": "q", "formula": "F(x)"}], "description": "two lists"}"#;
        assert_eq!(ids(&[document("d", &both.replace('@', P))]).len(), 2);
        let pack = document("packs", r#"{"id": "k", "policies": ["ghost"]}"#);
        assert_eq!(error(&[pack]), "packs, `/policies/0`: the pack lists `ghost`, which no document defines");
    }
}

#[cfg(test)]
mod toml_tests {
    use super::*;

    #[test]
    fn toml_reads_as_the_json_it_means() {
        let read = parse_toml("a = [1, 2.5, true]\n[t]\nb = 'x'\nd = 1979-05-27\n").unwrap();
        assert_eq!(read.to_string(), r#"{"a":[1,2.5,true],"t":{"b":"x","d":"1979-05-27"}}"#);
    }

    #[test]
    fn an_error_names_its_line() {
        assert!(parse_toml("a = [1,\nb = ]").unwrap_err().to_string().contains("line 2"));
        assert!(parse_toml("a = nan").is_err());
    }
}
