//! Rules of goals and their acceptance items.

use std::collections::BTreeSet;

use hence_canon::Value;

use crate::vocabulary::AcceptanceKind;
use crate::wire::{AcceptanceItem, Goal};

use super::check::{Check, Field, Presence, shown};
use super::place::Place;
use super::rule::Rule;

impl Check<'_> {
    pub(super) fn goals(&mut self) {
        let root = Place::root().child("goals");
        for (index, item) in self.trace.entry().items("goals").iter().enumerate() {
            if item.as_object().is_none() {
                self.find(
                    Rule::GoalId,
                    root.child(index),
                    index,
                    format!("a goal is an object; found {}", shown(item)),
                );
            }
        }
        let mut seen = BTreeSet::new();
        for goal in self.trace.goals() {
            let at = Place::of("goals", &goal);
            let subject = match goal.id().filter(|id| !id.is_empty()) {
                Some(id) => {
                    if !seen.insert(id.to_owned()) {
                        self.find(Rule::GoalIdDuplicate, at.child("id"), id, "another goal has this id");
                    }
                    id.to_owned()
                }
                None => {
                    self.find(Rule::GoalId, at.child("id"), goal.index(), "a goal has an id");
                    goal.index().to_string()
                }
            };
            self.filled(goal.source().get("intent"), &at, "intent", Rule::GoalIntent, &subject);
            if let Some(meta) = goal.member("meta_action_id")
                && !meta.as_str().is_some_and(|id| self.known.metas.contains(id))
            {
                let message = format!("no meta-action has the id {}", shown(meta));
                self.find(Rule::RefGoalMeta, at.child("meta_action_id"), &subject, message);
            }
            self.acceptance(&goal, &at, &subject);
            self.criteria_review(&goal, &at, &subject);
        }
    }

    fn acceptance(&mut self, goal: &Goal, at: &Place<'_>, goal_id: &str) {
        let kind = Field {
            key: "kind",
            rule: Rule::GoalItemKind,
            words: AcceptanceKind::WORDS,
            presence: Presence::Required,
        };
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
            self.word(item.source(), &at, kind, &subject, |word| AcceptanceKind::from_word(word).is_some());
            self.binding(&item, &at, &subject);
        }
    }

    fn binding(&mut self, item: &AcceptanceItem, at: &Place<'_>, subject: &str) {
        let at = at.child("binding");
        if let Some(id) = item.binding_text("residual_id")
            && !self.known.residuals.contains(id)
        {
            let message = format!("no residual has the id {}", shown(&id.into()));
            self.find(Rule::RefGoalResidual, at.child("residual_id"), subject, message);
        }
        if let Some(id) = item.binding_text("policy_id")
            && !self.known.policies.contains(id)
        {
            let message = format!("no policy has the id {}", shown(&id.into()));
            self.find(Rule::RefGoalPolicy, at.child("policy_id"), subject, message);
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
