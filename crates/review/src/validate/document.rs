//! Rules of the trace as a whole.

use std::collections::BTreeSet;

use hence_canon::Value;
use hence_canon::time::IsoTime;

use crate::version::{self, Version};
use crate::vocabulary::EventType;

use super::check::{Check, Place, shown};
use super::rule::Rule;

/// Members that are lists wherever they occur.
const LISTS: &[&str] = &[
    "actions",
    "artifacts",
    "meta_actions",
    "reference_artifacts",
    "policies",
    "policy_evaluations",
    "execution_environments",
    "comments",
    "review_items",
    "residuals",
    "trace_links",
    "files_modified",
    "goals",
];

/// Lists whose items have no rule of their own for "not an object".
const LISTS_OF_OBJECTS: &[&str] = &[
    "reference_artifacts",
    "policy_evaluations",
    "execution_environments",
    "comments",
    "review_items",
    "trace_links",
];

/// Members that are objects wherever they occur.
const OBJECTS: &[&str] = &["metrics", "reproducibility", "trace_lineage"];

impl Check<'_> {
    pub(super) fn document(&mut self) {
        self.kinds();
        self.identity();
        self.declared_version();
        self.event("trigger", Rule::Trigger, EventType::is_trigger);
        self.event("outcome", Rule::Outcome, EventType::is_outcome);
        self.counts();
        self.files_place = self.findings_count();
    }

    fn kinds(&mut self) {
        let root = Place::root();
        let entry = self.trace.entry();
        for key in LISTS.iter().chain(OBJECTS) {
            let Some(value) = entry.member(key) else { continue };
            let (expected, fits) = match LISTS.contains(key) {
                true => ("a list", value.as_array().is_some()),
                false => ("an object", value.as_object().is_some()),
            };
            if !fits {
                let message = format!("{key} is {expected}; found {}", shown(value));
                self.find(Rule::TraceType, root.child(*key), key, message);
            }
        }
        for list in LISTS_OF_OBJECTS {
            for (index, item) in entry.items(list).iter().enumerate() {
                if item.as_object().is_none() {
                    let message = format!("items of {list} are objects; found {}", shown(item));
                    self.find(
                        Rule::TraceType,
                        root.child(*list).child(index),
                        format!("{list}/{index}"),
                        message,
                    );
                }
            }
        }
        for (index, item) in entry.items("files_modified").iter().enumerate() {
            if item.as_str().is_none() {
                let at = root.child("files_modified").child(index);
                self.find(
                    Rule::TraceType,
                    at,
                    "files_modified",
                    format!("a path is a text; found {}", shown(item)),
                );
            }
        }
    }

    fn identity(&mut self) {
        let root = Place::root();
        let entry = self.trace.entry();
        if entry.text("trace_id").is_none_or(str::is_empty) {
            let found = entry.member("trace_id").map_or_else(|| "nothing".to_owned(), shown);
            self.find(
                Rule::TraceId,
                root.child("trace_id"),
                "",
                format!("trace_id is a text that is not empty; found {found}"),
            );
        }
        match entry.member("actions") {
            None => self.find(Rule::TraceRequired, root, "actions", "a trace has a list of actions"),
            Some(Value::Array(items)) if items.is_empty() => {
                self.find(Rule::ActionsEmpty, root.child("actions"), "", "the trace records no action");
            }
            Some(_) => {}
        }
        if let Some(stamp) = entry.member("timestamp")
            && stamp.as_str().is_none_or(|text| IsoTime::parse(text).is_none())
        {
            let subject = stamp.as_str().map_or_else(|| shown(stamp), str::to_owned);
            self.find(
                Rule::Timestamp,
                root.child("timestamp"),
                subject,
                "a timestamp is a date and time of ISO 8601",
            );
        }
    }

    fn declared_version(&mut self) {
        let at = Place::root().child("spec_version");
        match self.version {
            Version::Undeclared => {
                self.find(Rule::SpecVersion, at, "", "no spec_version: the trace is read as version 1.0");
            }
            Version::Foreign => {
                let word = self.trace.entry().member("spec_version");
                let subject = word.map_or_else(String::new, |word| {
                    word.as_str().map_or_else(|| shown(word), str::to_owned)
                });
                self.find(Rule::SpecVersion, at, subject, "spec_version is one of 1.0 to 1.7");
            }
            Version::Known(declared) => {
                let Some((member, since)) = version::newer_member(self.trace, declared) else { return };
                let message =
                    format!("the trace declares 1.{declared} and uses {member}, which came with 1.{since}");
                self.find(Rule::SpecVersionContent, at, format!("1.{declared}"), message);
            }
        }
    }

    fn event(&mut self, key: &'static str, missing: Rule, fits: fn(EventType) -> bool) {
        let at = Place::root().child(key);
        let Some(value) = self.trace.entry().member(key) else {
            return self.find(missing, at, "", format!("the trace has no {key}"));
        };
        let Some(event) = value.as_object() else {
            return self.find(
                Rule::EventType,
                at,
                key,
                format!("{key} is an object; found {}", shown(value)),
            );
        };
        match event.get("type") {
            None | Some(Value::Null) => self.find(missing, at, "", format!("the {key} has no type")),
            Some(Value::String(word)) if EventType::from_word(word).is_some_and(fits) => {}
            Some(other) => {
                let word = other.as_str().map_or_else(|| shown(other), str::to_owned);
                let fitting = EventType::ALL.iter().filter(|event| fits(**event));
                let words: Vec<&str> = fitting.map(|event| event.as_str()).collect();
                let message =
                    format!("the type of the {key} is one of {}; found {}", words.join(", "), shown(other));
                self.find(Rule::EventKind, at.child("type"), format!("{key}:{word}"), message);
            }
        }
    }

    fn counts(&mut self) {
        let Some(total) =
            self.trace.entry().object("metrics").and_then(|metrics| metrics.get("total_actions"))
        else {
            return;
        };
        let count = self.trace.entry().items("actions").len();
        if !total.is_null() && total.as_u64() != Some(count as u64) {
            let at = Place::root().child("metrics").child("total_actions");
            self.find(
                Rule::MetricsTotal,
                at,
                "",
                format!("the trace has {count} actions; found {}", shown(total)),
            );
        }
    }

    /// Compares the files that actions changed with the declared ones. The finding comes before those of actions.
    pub(super) fn files_modified(&mut self) {
        let files = std::mem::take(&mut self.files);
        let renamed = std::mem::take(&mut self.renamed_files);
        let counts = |path: &&str| files.find(path).is_some() || renamed.find(path).is_none();
        let declared: BTreeSet<&str> = self.trace.files_modified().filter(counts).collect();
        if declared.len() == files.len() && declared.iter().all(|path| files.find(path).is_some()) {
            return;
        }
        let changed: BTreeSet<&str> = (0..files.len()).filter_map(|number| files.text(number)).collect();
        let only = |left: &BTreeSet<&str>, right: &BTreeSet<&str>| {
            let names: Vec<String> =
                left.difference(right).take(3).map(|name| shown(&Value::from(*name))).collect();
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        };
        let message = format!(
            "files changed by actions but not declared: {}; declared but changed by no action: {}",
            only(&changed, &declared),
            only(&declared, &changed)
        );
        self.find_at(self.files_place, Rule::FilesModified, Place::root().child("files_modified"), message);
    }
}
