//! Rules of comments, review items, links to other traces, and reproducing the trace.

use hence_canon::Value;

use crate::vocabulary::{ChainStatus, CommentStatus, Relationship, ReproducibilityStatus, ReviewItemStatus};
use crate::wire::{Entry, Link};

use super::check::{Check, Field, Presence, shown};
use super::place::Place;
use super::rule::Rule;

impl Check<'_> {
    pub(super) fn review(&mut self) {
        self.comments();
        self.review_items();
        for link in self.trace.trace_links() {
            self.link(&link);
        }
        self.trace_lineage();
        self.trace_reproducibility();
    }

    fn comments(&mut self) {
        let status = Field {
            key: "status",
            rule: Rule::CommentStatus,
            words: CommentStatus::WORDS,
            presence: Presence::Optional,
        };
        for comment in self.trace.comments() {
            let at = Place::of("comments", &comment);
            let subject = comment.id().map_or_else(|| comment.index().to_string(), str::to_owned);
            self.word(comment.source(), &at, status, &subject, |word| {
                CommentStatus::from_word(word).is_some()
            });
            self.target(&comment, &at, &subject, Presence::Required);
            let Some(parent) = comment.member("thread_parent_id") else { continue };
            let answers = parent
                .as_str()
                .is_some_and(|id| self.known.comments.contains(id) && comment.id() != Some(id));
            if !answers {
                let message = format!("no other comment has the id {}", shown(parent));
                self.find(Rule::RefCommentParent, at.child("thread_parent_id"), &subject, message);
            }
        }
    }

    fn review_items(&mut self) {
        let status = Field {
            key: "status",
            rule: Rule::ReviewItemStatus,
            words: ReviewItemStatus::WORDS,
            presence: Presence::Required,
        };
        for item in self.trace.review_items() {
            let at = Place::of("review_items", &item);
            let subject = item.id().map_or_else(|| item.index().to_string(), str::to_owned);
            self.word(item.source(), &at, status, &subject, |word| {
                ReviewItemStatus::from_word(word).is_some()
            });
            self.target(&item, &at, &subject, Presence::Required);
            let signed = item.text("resolved_at").is_some() && item.text("resolved_by").is_some();
            if item.status() == Some(ReviewItemStatus::Resolved) && !signed {
                let message = "a resolved item says when and by whom it was resolved";
                self.find(Rule::ReviewItemResolution, at, &subject, message);
            }
        }
    }

    fn link(&mut self, link: &Link) {
        let at = Place::of("trace_links", link);
        let subject = link.id().map_or_else(|| link.index().to_string(), str::to_owned);
        let relationship = Field {
            key: "relationship",
            rule: Rule::LinkRelationship,
            words: Relationship::WORDS,
            presence: Presence::Required,
        };
        self.word(link.source(), &at, relationship, &subject, |word| Relationship::from_word(word).is_some());
        let ends = (link.text("from_trace_id"), link.text("to_trace_id"));
        let own = self.trace.trace_id();
        match ends {
            (Some(from), Some(to)) if from == to => {
                self.find(Rule::LinkSelf, at, &subject, "a link joins two traces; found one");
            }
            (Some(from), Some(to)) if own == Some(from) || own == Some(to) => {}
            (Some(_), Some(_)) => {
                self.find(Rule::LinkEndpoint, at, &subject, "neither end of the link is this trace");
            }
            _ => self.find(Rule::LinkEndpoint, at, &subject, "a link names both its traces"),
        }
    }

    fn trace_lineage(&mut self) {
        let Some(lineage) = self.trace.entry().object("trace_lineage") else { return };
        let at = Place::root().child("trace_lineage");
        let entry = Entry::new(lineage.clone(), 0);
        let status = Field {
            key: "chain_status",
            rule: Rule::LineageChainStatus,
            words: ChainStatus::WORDS,
            presence: Presence::Optional,
        };
        self.word(entry.source(), &at, status, "", |word| ChainStatus::from_word(word).is_some());
        let parent = lineage.get("parent_trace_id").and_then(Value::as_str);
        if parent.is_some() && parent == self.trace.trace_id() {
            self.find(Rule::LineageParent, at.child("parent_trace_id"), "", "a trace is not its own parent");
        }
    }

    fn trace_reproducibility(&mut self) {
        let Some(object) = self.trace.entry().object("reproducibility") else { return };
        let at = Place::root().child("reproducibility");
        let entry = Entry::new(object.clone(), 0);
        let status = Field {
            key: "status",
            rule: Rule::ReproducibilityStatus,
            words: ReproducibilityStatus::WORDS,
            presence: Presence::Required,
        };
        self.word(entry.source(), &at, status, "", |word| ReproducibilityStatus::from_word(word).is_some());
        let artifact = |check: &Self, id: &str| check.is_artifact_or_reference(id);
        self.references(
            entry.source(),
            &at,
            "required_artifact_ids",
            Rule::RefRequiredArtifact,
            "",
            artifact,
        );
        let environment = |check: &Self, id: &str| check.known.environments.contains(id);
        self.references(
            entry.source(),
            &at,
            "required_environment_ids",
            Rule::RefEnvironment,
            "",
            environment,
        );
    }
}
