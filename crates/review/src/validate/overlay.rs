//! Rules of meta-actions and goals, which group and judge the actions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hence_canon::Value;

use crate::vocabulary::{AcceptanceKind, MetaSource, MetaStatus};
use crate::wire::{AcceptanceItem, Goal, MetaAction, Position};

use super::action;
use super::check::{Check, Identity, Place, shown};
use super::rule::{Rule, Severity};

const META: Identity =
    Identity { key: "id", noun: "meta-action", missing: Rule::MetaId, duplicate: Rule::MetaIdDuplicate };
const GOAL: Identity =
    Identity { key: "id", noun: "goal", missing: Rule::GoalId, duplicate: Rule::GoalIdDuplicate };

/// The unit that claims each action: the first unit that lists it, by the position of the action.
struct Claims(Vec<Option<Arc<str>>>);

impl Claims {
    fn of(&self, position: Position) -> Option<&Arc<str>> {
        self.0.get(position.get()).and_then(Option::as_ref)
    }

    fn claim(&mut self, position: Position, unit: &Arc<str>) {
        if let Some(slot) = self.0.get_mut(position.get()) {
            *slot = Some(unit.clone());
        }
    }
}

impl Check<'_> {
    pub(super) fn meta_actions(&mut self) {
        self.objects_only("meta_actions", "a meta-action", Rule::MetaId);
        let mut seen = BTreeSet::new();
        let mut claims = Claims(vec![None; self.trace.actions().len()]);
        for meta in self.trace.meta_actions() {
            let at = Place::of("meta_actions", &meta);
            let subject: Arc<str> = self.identify(&meta, meta.id(), &at, &META, &mut seen).into();
            self.meta_words(&meta, &at, &subject);
            self.meta_members(&meta, &at, &subject, &mut claims);
            self.meta_references(&meta, &at, &subject);
        }
        self.meta_parents();
        self.meta_back_references(&claims);
    }

    fn meta_words(&mut self, meta: &MetaAction, at: &Place<'_>, subject: &str) {
        self.filled(meta.source().get("title"), at, "title", Rule::MetaTitle, subject);
        self.optional_word::<MetaSource>(meta.source(), at, "source", Rule::MetaSource, subject);
        self.optional_word::<MetaStatus>(meta.source(), at, "status", Rule::MetaStatus, subject);
    }

    fn meta_members(&mut self, meta: &MetaAction, at: &Place<'_>, subject: &Arc<str>, claims: &mut Claims) {
        let at = at.child("action_ids");
        if let Some(other) = meta.member("action_ids").filter(|member| member.as_array().is_none()) {
            let message = format!("action_ids is a list of action ids; found {}", shown(other));
            return self.find(Rule::MetaMemberType, at, subject, message);
        }
        let items = meta.items("action_ids");
        if items.is_empty() {
            return self.find(Rule::MetaEmpty, at, subject, "the unit has no actions");
        }
        let mut places: Vec<Position> = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let at = at.child(index);
            let Some(id) = item.as_i64() else {
                let message = format!("an action id is an integer; found {}", shown(item));
                self.find(Rule::MetaMemberType, at, subject, message);
                continue;
            };
            let Some(action) = self.trace.action_by_id(id) else {
                self.find(Rule::RefMetaMember, at, subject, format!("no action has the id {id}"));
                continue;
            };
            places.push(action.position());
            if let Some(other) = claims.of(action.position()) {
                let message = format!("action {id} belongs to {} already", shown(&other.clone().into()));
                self.find(Rule::MetaOverlap, at, subject, message);
            } else {
                claims.claim(action.position(), subject);
            }
        }
        self.meta_slice(places, &at, subject);
    }

    /// Checks that members are a contiguous slice of the actions, in order.
    fn meta_slice(&mut self, mut places: Vec<Position>, at: &Place<'_>, subject: &str) {
        if !places.is_sorted() {
            self.find(Rule::MetaOrder, *at, subject, "members are not in the order of the actions");
            places.sort_unstable();
        }
        places.dedup();
        let (Some(first), Some(last)) = (places.first(), places.last()) else { return };
        if last.get() - first.get() + 1 != places.len() {
            self.find(Rule::MetaContiguous, *at, subject, "other actions lie between the members");
        }
    }

    fn meta_references(&mut self, meta: &MetaAction, at: &Place<'_>, subject: &str) {
        let residual = |check: &Self, id: &str| check.known.residuals.contains(id);
        self.references(meta.source(), at, "residual_ids", Rule::RefMetaResidual, subject, residual);
        let artifact = |check: &Self, id: &str| check.trace.artifact_by_id(id).is_some();
        self.references(meta.source(), at, "produced_artifact_ids", Rule::RefMetaProduced, subject, artifact);
        let Some(parent) = meta.member("parent_id") else { return };
        if !parent.as_str().is_some_and(|id| self.known.metas.contains(id)) {
            self.unknown(Rule::RefMetaParent, at.child("parent_id"), subject, "meta-action", parent);
        }
    }

    /// Follows parents from every unit; a walk that meets itself is a circle, reported once per unit on it.
    fn meta_parents(&mut self) {
        let metas: Vec<MetaAction> = self.trace.meta_actions().collect();
        let mut parents: BTreeMap<&str, &str> = BTreeMap::new();
        for meta in &metas {
            if let (Some(id), Some(parent)) = (meta.id(), meta.parent_id()) {
                parents.entry(id).or_insert(parent);
            }
        }
        let on_circle = on_circles(&parents);
        for meta in metas.iter().filter(|meta| meta.id().is_some_and(|id| on_circle.contains(id))) {
            let at = Place::of("meta_actions", meta).child("parent_id");
            let subject = meta.id().unwrap_or("");
            self.find(Rule::MetaParentCycle, at, subject, "the unit encloses itself");
        }
    }

    fn meta_back_references(&mut self, claims: &Claims) {
        let named_units = std::mem::take(&mut self.named_units);
        for (action, stated) in self.trace.actions().iter().zip(named_units) {
            let at = || Place::of("actions", action).child("meta_action_id");
            let claimed = if self.trace.has_sound_action_ids() {
                claims.of(action.position())
            } else {
                // Of several actions with one id a unit claims the first, and the others with it.
                let named = action.id().and_then(|id| self.trace.action_by_id(id));
                named.and_then(|named| claims.of(named.position()))
            };
            let Some(stated) = stated else {
                if let Some(unit) = claimed {
                    let message =
                        format!("the action belongs to {} and does not say so", shown(&unit.clone().into()));
                    self.find_as(
                        Severity::Warning,
                        Rule::MetaBackref,
                        at(),
                        action::Subject(action),
                        message,
                    );
                }
                continue;
            };
            let Some(stated) = stated.as_str().filter(|id| self.known.metas.contains(id)) else {
                self.unknown(Rule::RefMetaBackref, at(), action::Subject(action), "meta-action", stated);
                continue;
            };
            if claimed.is_none_or(|unit| **unit != *stated) {
                let message = format!("{} does not list this action", shown(&Value::from(stated)));
                self.find(Rule::MetaBackref, at(), action::Subject(action), message);
            }
        }
    }
}

/// Returns the ids from which following parents leads back to the start.
fn on_circles<'a>(parents: &BTreeMap<&'a str, &'a str>) -> BTreeSet<&'a str> {
    let mut settled: BTreeSet<&str> = BTreeSet::new();
    let mut circles = BTreeSet::new();
    for start in parents.keys() {
        let mut path: Vec<&str> = Vec::new();
        let mut on_path: BTreeSet<&str> = BTreeSet::new();
        let mut current = *start;
        while !settled.contains(current) && on_path.insert(current) {
            path.push(current);
            match parents.get(current) {
                Some(parent) => current = parent,
                None => break,
            }
        }
        if !settled.contains(current)
            && parents.contains_key(current)
            && let Some(entry) = path.iter().position(|id| *id == current)
        {
            circles.extend(path.iter().skip(entry));
        }
        settled.extend(path);
    }
    circles
}

impl Check<'_> {
    pub(super) fn goals(&mut self) {
        self.objects_only("goals", "a goal", Rule::GoalId);
        let mut seen = BTreeSet::new();
        for goal in self.trace.goals() {
            let at = Place::of("goals", &goal);
            let subject = self.identify(&goal, goal.id(), &at, &GOAL, &mut seen);
            self.filled(goal.source().get("intent"), &at, "intent", Rule::GoalIntent, &subject);
            if let Some(meta) = goal.member("meta_action_id")
                && !meta.as_str().is_some_and(|id| self.known.metas.contains(id))
            {
                let (rule, at) = (Rule::RefGoalMeta, at.child("meta_action_id"));
                self.unknown(rule, at, &subject, "meta-action", meta);
            }
            self.acceptance(&goal, &at, &subject);
            self.criteria_review(&goal, &at, &subject);
        }
    }

    fn acceptance(&mut self, goal: &Goal, at: &Place<'_>, goal_id: &str) {
        for (index, item) in goal.items("acceptance").iter().enumerate() {
            if item.as_object().is_none() {
                let message = format!("an acceptance item is an object; found {}", shown(item));
                self.find(Rule::GoalItemKind, at.child("acceptance").child(index), goal_id, message);
            }
        }
        let mut seen = BTreeSet::new();
        for item in goal.acceptance() {
            let at = at.child("acceptance").child(item.index());
            let subject = item.id().map_or_else(|| format!("{goal_id}/{}", item.index()), str::to_owned);
            if item.id().is_some() && !seen.insert(subject.clone()) {
                let message = "another item of the goal has this id";
                self.find(Rule::GoalItemIdDuplicate, at.child("id"), &subject, message);
            }
            self.required_word::<AcceptanceKind>(item.source(), &at, "kind", Rule::GoalItemKind, &subject);
            self.binding(&item, &at, &subject);
        }
    }

    fn binding(&mut self, item: &AcceptanceItem, at: &Place<'_>, subject: &str) {
        let at = at.child("binding");
        if let Some(id) = item.binding_text("residual_id")
            && !self.known.residuals.contains(id)
        {
            let (rule, at) = (Rule::RefGoalResidual, at.child("residual_id"));
            self.unknown(rule, at, subject, "residual", &id.into());
        }
        if let Some(id) = item.binding_text("policy_id")
            && !self.known.policies.contains(id)
        {
            self.unknown(Rule::RefGoalPolicy, at.child("policy_id"), subject, "policy", &id.into());
        }
    }

    fn criteria_review(&mut self, goal: &Goal, at: &Place<'_>, subject: &str) {
        let review = goal.object("criteria_review");
        let Some(reviewer) = review.and_then(|review| review.get("reviewed_by")).and_then(Value::as_str)
        else {
            return;
        };
        if goal.acceptance().any(|item| item.text("author") == Some(reviewer)) {
            let at = at.child("criteria_review").child("reviewed_by");
            let message = format!("{} reviews criteria of its own", shown(&reviewer.into()));
            self.find(Rule::GoalReviewDoer, at, subject, message);
        }
    }
}
