//! The links of a run: the skills it may nest, the run that nests it, the run it was forked from, the scopes it read.

use std::sync::Arc;

use hence_canon::{Digest, Object, Value};
use hence_cognition::budget::Usage;
use hence_cognition::run::Intervention;

use crate::shared_inputs::{SHARED_KEY, SharedInputs};

/// The member of `settings.origin` that makes a run a retry.
const IDEMPOTENCY_ROOT_KEY: &str = "idempotency_root";
/// The member of an origin that says what the retried runs used.
const USED_KEY: &str = "used";

/// The links of a run. The problem names them, so the header binds them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Links {
    /// The skills the run may nest.
    pub nested: Vec<NestedPin>,
    /// The levels of skills that may run below the outermost, if there is a limit of its own.
    pub max_depth: Option<u32>,
    /// The step that nests the run.
    pub parent: Option<Parent>,
    /// The run it was forked from.
    pub origin: Option<Origin>,
    /// The values it read from the runs of shared scopes.
    pub shared: SharedInputs,
}

/// A skill that may be nested, by the digest of its document's canonical form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NestedPin {
    /// The skill's id.
    pub id: Arc<str>,
    /// The skill's version.
    pub version: Arc<str>,
    /// The digest.
    pub digest: Digest,
}

/// The step that runs a nested skill.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parent {
    /// The run.
    pub run: Arc<str>,
    /// Its step.
    pub step: Arc<str>,
    /// The depth of the run: 1 right below the outermost.
    pub depth: u32,
}

/// The position at which a fork begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The run that was forked.
    pub run: Arc<str>,
    /// The index of the last shared record.
    pub record: u64,
    /// The hash of that record.
    pub hash: Digest,
    /// The first step that the fork executes itself.
    pub from: Arc<str>,
    /// The values that were set before it.
    pub set: Vec<(Arc<str>, Value)>,
    /// The run whose idempotency keys are used, if this is a retry: the first run of a line of retries. A fork has keys
    /// of its own.
    pub idempotency_root: Option<Arc<str>>,
    /// The usage of the runs that a retry continues, as far as no record and no logged reply of the retry counts it: their
    /// failed attempts cost as much as others.
    pub used: Usage,
}

impl Origin {
    /// Returns the values that the fork sets, if there are any.
    pub(crate) fn intervention(&self) -> Option<Intervention> {
        let change = || Intervention { before: self.from.clone(), set: self.set.clone() };
        (!self.set.is_empty()).then(change)
    }

    /// Returns the member `settings.origin` of a fork's problem.
    pub fn value(&self) -> Value {
        let set = |(place, value): &(Arc<str>, Value)| {
            Object::from_iter([("place", Value::from(place.clone())), ("value", value.clone())])
        };
        let mut members = vec![
            ("run", Value::from(self.run.clone())),
            ("record", self.record.into()),
            ("hash", self.hash.into()),
            ("from", self.from.clone().into()),
        ];
        if !self.set.is_empty() {
            members.push(("set", self.set.iter().map(set).collect::<Vec<_>>().into()));
        }
        members.extend(self.idempotency_root.clone().map(|root| (IDEMPOTENCY_ROOT_KEY, root.into())));
        if !self.used.is_empty() {
            members.push((USED_KEY, self.used.value().into()));
        }
        members.into_iter().collect::<Object>().into()
    }

    fn read(value: &Value) -> Option<Self> {
        let one = |item: &Value| Some((text(item, "place")?, item.get("value")?.clone()));
        let set = match value.get("set") {
            None => Vec::new(),
            Some(set) => set.as_array()?.iter().map(one).collect::<Option<_>>()?,
        };
        Some(Self {
            run: text(value, "run")?,
            record: value.get("record")?.as_u64()?,
            hash: text(value, "hash")?.parse().ok()?,
            from: text(value, "from")?,
            set,
            idempotency_root: match value.get(IDEMPOTENCY_ROOT_KEY) {
                None => None,
                // A malformed value must not be read as a run with keys of its own.
                Some(root) => Some(root.as_str()?.into()),
            },
            used: value.get(USED_KEY).map(Usage::read).unwrap_or_default(),
        })
    }
}

impl Links {
    /// Returns what the runs that a retry continues used and no record of the retry counts.
    pub fn used_before(&self) -> Usage {
        self.origin.as_ref().map(|origin| origin.used.clone()).unwrap_or_default()
    }

    /// Returns the run whose idempotency keys a retry uses; `None` for a run with keys of its own.
    pub fn idempotency_root(&self) -> Option<&Arc<str>> {
        self.origin.as_ref().and_then(|origin| origin.idempotency_root.as_ref())
    }

    /// Returns the nesting depth of the run: 0 for an outermost one.
    pub(crate) fn depth(&self) -> u32 {
        self.parent.as_ref().map_or(0, |parent| parent.depth)
    }

    pub(crate) fn nested_value(&self) -> Option<Value> {
        let pin = |pin: &NestedPin| {
            let members = [("version", Value::from(pin.version.clone())), ("sha256", pin.digest.into())];
            (pin.id.clone(), Object::from_iter(members))
        };
        (!self.nested.is_empty()).then(|| self.nested.iter().map(pin).collect::<Object>().into())
    }

    pub(crate) fn settings(&self) -> Vec<(&'static str, Value)> {
        let parent = self.parent.as_ref().map(|parent| {
            let members = [
                ("run", Value::from(parent.run.clone())),
                ("step", parent.step.clone().into()),
                ("depth", u64::from(parent.depth).into()),
            ];
            ("parent", Object::from_iter(members).into())
        });
        let origin = self.origin.as_ref().map(|origin| ("origin", origin.value()));
        let shared = self.shared.value().map(|shared| (SHARED_KEY, shared));
        parent.into_iter().chain(origin).chain(shared).collect()
    }

    /// Reads the links of a problem document of any kind; `None` when they are malformed.
    pub fn of_problem(problem: &Value) -> Option<Self> {
        problem.get("settings").map_or(Some(Self::default()), Self::read)
    }

    /// Reads the links of a problem's settings; `None` when they are malformed.
    pub(crate) fn read(settings: &Value) -> Option<Self> {
        let nested = match settings.get("skill").and_then(|skill| skill.get("nested")) {
            None => Vec::new(),
            Some(nested) => nested.as_object()?.iter().map(pin).collect::<Option<_>>()?,
        };
        let parent = match settings.get("parent") {
            None => None,
            Some(parent) => Some(Parent {
                run: text(parent, "run")?,
                step: text(parent, "step")?,
                depth: depth(parent, "depth")?.unwrap_or(1),
            }),
        };
        let origin = match settings.get("origin") {
            None => None,
            Some(origin) => Some(Origin::read(origin)?),
        };
        let max_depth = match settings.get("skill") {
            None => None,
            Some(skill) => depth(skill, "max_depth")?,
        };
        Some(Self { nested, max_depth, parent, origin, shared: SharedInputs::read(settings)? })
    }
}

fn pin((id, value): (&Arc<str>, &Value)) -> Option<NestedPin> {
    let digest = text(value, "sha256")?.parse().ok()?;
    Some(NestedPin { id: id.clone(), version: text(value, "version")?, digest })
}

/// Reads an optional depth; `None` when it is not a depth.
fn depth(value: &Value, key: &str) -> Option<Option<u32>> {
    match value.get(key) {
        None => Some(None),
        Some(depth) => u32::try_from(depth.as_u64()?).ok().map(Some),
    }
}

fn text(value: &Value, key: &str) -> Option<Arc<str>> {
    value.get(key)?.as_str().map(Arc::from)
}
