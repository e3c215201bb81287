//! Policies from several documents, every id once.

use std::collections::BTreeMap;

use hence_canon::JsonPointer;

use super::document::{Document, LoadError, LoadErrorKind};
use super::{Pack, Policy, PolicyId};

/// Policies and packs, in the order they were read.
#[derive(Clone, Debug, Default)]
pub struct PolicySet {
    policies: Vec<Policy>,
    /// Where each id was defined.
    places: BTreeMap<PolicyId, (usize, String)>,
    packs: Vec<Pack>,
    /// Members of packs that must exist when all documents are read: document, pointer, id.
    pending: Vec<(String, JsonPointer, PolicyId)>,
}

impl PolicySet {
    /// Loads documents: single policies, lists, packs, galleries.
    ///
    /// # Errors
    /// [`LoadError`] with document and place: for a document without policies, an id that is defined twice, a
    /// pack that lists what nobody defines.
    pub fn load(documents: &[Document]) -> Result<Self, LoadError> {
        let mut set = Self::default();
        for document in documents {
            document.read_into(&mut set)?;
        }
        for (document, pointer, id) in std::mem::take(&mut set.pending) {
            if !set.places.contains_key(&id) {
                let kind = LoadErrorKind::UnknownMember(id.to_string());
                return Err(LoadError { document, pointer, kind });
            }
        }
        Ok(set)
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

#[cfg(test)]
mod tests {
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
        let pack = document("packs", r#"{"id": "k", "policies": ["ghost"]}"#);
        assert_eq!(error(&[pack]), "packs, `/policies/0`: the pack lists `ghost`, which no document defines");
    }
}
