//! Changed traces: a trace is immutable, so a change is another document.
//!
//! A **successor** has an id of its own, names the trace it replaces (`supersedes`, and the parent in its lineage), and
//! carries no binding stamps: those were about other content. A **draft** keeps its id; it is for a trace that nobody has
//! bound or reviewed yet, and one that carries a content hash is refused.

use hence_canon::{Object, Value};

use crate::version::{Version, newest_member};
use crate::vocabulary::{ChainStatus, Relationship};
use crate::wire::Trace;

/// Members that bind a trace to content and place; a changed document has neither.
const STAMPS: &[&str] = &["content_hash", "repo", "branch", "commit_sha"];

/// The relation of a changed trace to the original.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Succession {
    /// The same trace, still being written.
    Draft,
    /// Another trace that replaces it.
    Successor(Successor),
}

/// The name and author of a successor.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Successor {
    /// Its id; by default the id of the original with the next number after a dot.
    pub id: Option<String>,
    /// The author.
    pub created_by: Option<String>,
    /// The time.
    pub created_at: Option<String>,
}

/// An error of making a successor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SuccessionError {
    /// The document is no trace.
    #[error("a trace is an object, found {0}")]
    NotATrace(hence_canon::Kind),
    /// Nothing could name it as its predecessor.
    #[error("the trace has no id that a successor could name")]
    NoId,
    /// A successor is another trace.
    #[error("the successor has the id of the trace it replaces, {0:?}")]
    SameId(String),
    /// Somebody relies on the content.
    #[error("the trace is bound to its content: a change is a successor, not a draft")]
    Bound,
    /// Version 1.0 exchanges names, and members that refer to ids would refer to nothing.
    #[error("version 1.0 exchanges names instead of artifacts and knows none of this")]
    NamesExchanged,
}

/// Returns the successor of a change: `before` is the trace, `changed` its new content.
///
/// # Errors
/// [`SuccessionError`]; nothing is made then.
pub fn succeed(before: &Value, changed: &Value, how: &Succession) -> Result<Value, SuccessionError> {
    let (Value::Object(old), Value::Object(new)) = (before, changed) else {
        return Err(SuccessionError::NotATrace(before.kind()));
    };
    let read = Trace::read(before);
    if Version::of(&read).exchanges_names(&read) {
        return Err(SuccessionError::NamesExchanged);
    }
    let document = match how {
        Succession::Draft if old.get("content_hash").is_some_and(|hash| !hash.is_null()) => {
            return Err(SuccessionError::Bound);
        }
        Succession::Draft => new.clone(),
        Succession::Successor(successor) => linked(&read, new, successor)?,
    };
    Ok(with_version(document).into())
}

fn linked(before: &Trace, changed: &Object, successor: &Successor) -> Result<Object, SuccessionError> {
    let old = before.trace_id().filter(|id| !id.is_empty()).ok_or(SuccessionError::NoId)?;
    let lineage = before.entry().object("trace_lineage").cloned().unwrap_or_default();
    let position = lineage.get("chain_position").and_then(Value::as_i64).unwrap_or(1).saturating_add(1);
    let id = successor.id.clone().unwrap_or_else(|| next_id(old, position));
    if id == old {
        return Err(SuccessionError::SameId(id));
    }
    let root = ["root_trace_id", "parent_trace_id"].iter().find_map(|key| lineage.get(key)?.as_str());
    let lineage = lineage
        .without("latest_descendant_trace_id")
        .with("parent_trace_id", old)
        .with("root_trace_id", root.unwrap_or(old))
        .with("chain_position", position)
        .with("chain_status", ChainStatus::Active);
    let mut link = Object::from_iter([
        ("link_id", Value::from(format!("supersedes-{old}"))),
        ("from_trace_id", id.as_str().into()),
        ("to_trace_id", old.into()),
        ("relationship", Relationship::Supersedes.into()),
    ]);
    for (key, text) in [("created_at", &successor.created_at), ("created_by", &successor.created_by)] {
        if let Some(text) = text {
            link = link.with(key, text.as_str());
        }
    }
    // Links of the original stay there; in the successor neither of their ends would be this trace.
    let names = |link: &Value, end: &str| link.get(end).and_then(Value::as_str) == Some(id.as_str());
    let written = before.entry().items("trace_links").iter();
    let kept = written.filter(|link| names(link, "from_trace_id") || names(link, "to_trace_id")).cloned();
    let links: Value = kept.chain([link.into()]).collect();
    let document = STAMPS.iter().fold(changed.clone(), |document, stamp| document.without(stamp));
    Ok(document.with("trace_id", id.as_str()).with("trace_lineage", lineage).with("trace_links", links))
}

/// The id before, its own number replaced by the next.
fn next_id(old: &str, position: i64) -> String {
    let plain = old.rsplit_once('.').filter(|(_, number)| number.parse::<i64>() == Ok(position - 1));
    format!("{}.{position}", plain.map_or(old, |(plain, _)| plain))
}

/// Raises the declared version to what the members need; all steps from 1.1 on are additive.
fn with_version(document: Object) -> Object {
    let read = Trace::read(&document.clone().into());
    let needed = newest_member(&read).map_or(0, |(_, minor)| minor);
    match Version::of(&read) {
        Version::Known(minor) if minor >= needed => document,
        Version::Foreign => document,
        Version::Known(_) | Version::Undeclared => {
            document.with("spec_version", format!("1.{}", needed.max(6)))
        }
    }
}

#[cfg(test)]
mod tests {
    use hence_canon::parse;

    use super::*;

    fn value(text: &str) -> Value {
        parse(text.as_bytes()).unwrap()
    }

    fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
        value.pointer(&pointer.parse().unwrap()).and_then(Value::as_str).unwrap_or("")
    }

    #[test]
    fn a_successor_names_its_predecessor_and_a_chain_has_one_root() {
        let first = value(
            r#"{"trace_id": "t", "spec_version": "1.1", "artifacts": [], "content_hash": "x", "commit_sha": "f"}"#,
        );
        let how = Succession::Successor(Successor { created_by: Some("ada".into()), ..Successor::default() });
        let changed = first.as_object().unwrap().with("residuals", vec![Value::from(Object::new())]).into();
        let second = succeed(&first, &changed, &how).unwrap();
        assert_eq!((text(&second, "/trace_id"), text(&second, "/spec_version")), ("t.2", "1.6"));
        assert_eq!(text(&second, "/trace_lineage/parent_trace_id"), "t");
        assert_eq!(text(&second, "/trace_links/0/created_by"), "ada");
        assert!(second.get("content_hash").is_none() && second.get("commit_sha").is_none());
        let third = succeed(&second, &second, &how).unwrap();
        assert_eq!(text(&third, "/trace_id"), "t.3");
        assert_eq!(text(&third, "/trace_lineage/root_trace_id"), "t");
        assert_eq!(third.get("trace_links").and_then(Value::as_array).map(<[Value]>::len), Some(1));
    }

    #[test]
    fn an_impossible_successor_is_refused() {
        let draft = Succession::Draft;
        let anew = Succession::Successor(Successor::default());
        let refused = |text: &str, how: &Succession| succeed(&value(text), &value(text), how).unwrap_err();
        assert_eq!(refused("[]", &draft), SuccessionError::NotATrace(hence_canon::Kind::Array));
        assert_eq!(refused(r#"{"artifacts": []}"#, &anew), SuccessionError::NoId);
        assert_eq!(
            refused(r#"{"trace_id": "t", "artifacts": [], "content_hash": "x"}"#, &draft),
            SuccessionError::Bound
        );
        assert_eq!(refused(r#"{"trace_id": "t", "actions": []}"#, &draft), SuccessionError::NamesExchanged);
        let same = Succession::Successor(Successor { id: Some("t".into()), ..Successor::default() });
        assert_eq!(
            refused(r#"{"trace_id": "t", "artifacts": []}"#, &same),
            SuccessionError::SameId("t".into())
        );
    }
}
