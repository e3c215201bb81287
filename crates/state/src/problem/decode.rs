//! The problem's schema, top down.

use std::sync::Arc;

use hence_canon::{Canonical, Defect, DefectKind, JsonPointer, Object, Value};

use super::settings::{Settings, decode_settings};
use super::{NESTING_MAX, ProblemSpec};
use crate::blank::is_blank;
use crate::walk::{Presence, Walk, expected};
use crate::{Category, FieldPath, Finding, Findings, Profile, Stage, Timestamp, Typing, Version};

/// The only major version of the document there is.
const MAJOR_VERSION: u64 = 1;

#[derive(Default)]
struct Inputs {
    prompt: Option<Arc<str>>,
    constraints: Vec<Arc<str>>,
    goals: Vec<Arc<str>>,
    evidence: Vec<Value>,
}

struct Draft {
    id: Option<Arc<str>>,
    created_at: Option<Timestamp>,
    inputs: Inputs,
    settings: Settings,
}

pub(super) fn decode(value: &Value, defects: &[Defect], profile: &Profile) -> Result<ProblemSpec, Findings> {
    let root = FieldPath::root();
    let Some(object) = value.as_object() else {
        let message = expected("a problem, which is an object", value);
        return Err(Findings::one(Finding {
            stage: Stage::NotObject,
            category: Category::ModelType,
            path: root,
            message,
        }));
    };
    let mut walk = Walk::new(profile.typing, defects);
    let draft = walk_problem(&mut walk, object, &root);
    let depth = value.depth();
    if depth > NESTING_MAX {
        walk.report(
            &root,
            Category::ValueError,
            format!("problem nests {depth} deep, limit is {NESTING_MAX}"),
        );
    }
    let mut findings = walk.into_findings();
    // A loop's own rules belong behind the schema of the whole document.
    findings.sort_by_key(|finding| finding.stage);
    if findings.is_empty() {
        findings.extend(unhashable(defects));
    }
    match (Findings::some(findings), draft) {
        (None, Draft { id: Some(id), created_at: Some(created_at), inputs, settings }) => Ok(ProblemSpec {
            canonical: Canonical::of(value),
            id,
            created_at,
            prompt: inputs.prompt.unwrap_or_default(),
            constraints: inputs.constraints,
            goals: inputs.goals,
            evidence: inputs.evidence,
            settings,
        }),
        (Some(findings), _) => Err(findings),
        (None, _) => unreachable_draft(),
    }
}

/// A draft lacks a field only when a finding says so.
fn unreachable_draft() -> Result<ProblemSpec, Findings> {
    Err(Findings::one(Finding {
        stage: Stage::Schema,
        category: Category::ValueError,
        path: FieldPath::root(),
        message: "a required member could not be read".to_owned(),
    }))
}

fn walk_problem(walk: &mut Walk<'_>, object: &Object, root: &FieldPath) -> Draft {
    let mark = walk.mark();
    let version = walk.member(object, root, "version", Presence::Required);
    let version = version.and_then(|value| walk.text(value, &root.child("version")));
    let id = walk.member(object, root, "id", Presence::Required);
    let id = id.and_then(|value| walk.some_text(value, &root.child("id")));
    let created_at = walk.member(object, root, "created_at", Presence::Required);
    let created_at = created_at.and_then(|value| walk.timestamp(value, &root.child("created_at")));
    let inputs = inputs(walk, object, root);
    let settings = walk.member(object, root, "settings", Presence::Optional);
    let settings = settings.and_then(|value| {
        let path = root.child("settings");
        let object = walk.object(value, &path, Category::ModelType)?;
        Some(decode_settings(walk, object, &path))
    });
    if let Some(provenance) = walk.member(object, root, "provenance", Presence::Optional) {
        walk.object(provenance, &root.child("provenance"), Category::DictType);
    }
    if let Some(version) = version
        && (walk.schema_holds_since(mark) || walk.typing == Typing::Strict)
    {
        check_version(walk, &version, root);
    }
    Draft { id, created_at, inputs, settings: settings.unwrap_or_default() }
}

fn check_version(walk: &mut Walk<'_>, text: &str, root: &FieldPath) {
    let parsed = match walk.typing {
        Typing::Strict => Version::parse(text),
        Typing::Lax => Version::parse_lax(text),
    };
    // The lax schema judges the version as a rule of the whole document and gives it no path.
    let path = if walk.typing == Typing::Strict { root.child("version") } else { root.clone() };
    match parsed {
        Err(error) => walk.report(&path, Category::ValueError, error.to_string()),
        Ok(version) if version.major() != Some(MAJOR_VERSION) => {
            let message = format!("expected a problem of version {MAJOR_VERSION}.x.y, found {text:?}");
            walk.report(&path, Category::ValueError, message);
        }
        Ok(_) => {}
    }
}

fn inputs(walk: &mut Walk<'_>, object: &Object, root: &FieldPath) -> Inputs {
    let path = root.child("inputs");
    let Some(value) = walk.member(object, root, "inputs", Presence::Required) else {
        return Inputs::default();
    };
    let Some(object) = walk.object(value, &path, Category::ModelType) else { return Inputs::default() };
    let mark = walk.mark();
    let prompt = walk.member(object, &path, "prompt", Presence::Required);
    let prompt = prompt.and_then(|value| prompt_text(walk, value, &path.child("prompt")));
    let constraints = texts(walk, object, &path, "constraints");
    let goals = texts(walk, object, &path, "goals");
    let context = walk.member(object, &path, "context", Presence::Optional);
    let context = context.and_then(|value| walk.object(value, &path.child("context"), Category::DictType));
    let evidence = context.map(|context| evidence(walk, context, &path.child("context"))).unwrap_or_default();
    if walk.schema_holds_since(mark) {
        texts_are_not_blank(walk, prompt.as_ref(), &constraints, &goals, &path);
    }
    Inputs { prompt, constraints, goals, evidence }
}

/// Reads the prompt; that it is not blank is a rule of all inputs together.
fn prompt_text(walk: &mut Walk<'_>, value: &Value, path: &FieldPath) -> Option<Arc<str>> {
    let blank = value.as_str().is_some_and(|text| !text.is_empty() && is_blank(text));
    if blank { walk.text(value, path) } else { walk.some_text(value, path) }
}

fn texts(walk: &mut Walk<'_>, object: &Object, path: &FieldPath, key: &str) -> Vec<Arc<str>> {
    let Some(value) = walk.member(object, path, key, Presence::Optional) else { return Vec::new() };
    let path = path.child(key);
    let items = walk.list(value, &path).unwrap_or_default();
    items.iter().enumerate().filter_map(|(index, item)| walk.text(item, &path.child(index))).collect()
}

/// Reads `context.evidence`: strictly a list of objects; otherwise whatever list is there.
fn evidence(walk: &mut Walk<'_>, context: &Object, path: &FieldPath) -> Vec<Value> {
    let Some(value) = walk.member(context, path, "evidence", Presence::Optional) else { return Vec::new() };
    if walk.typing == Typing::Lax {
        return value.as_array().map(<[Value]>::to_vec).unwrap_or_default();
    }
    let path = path.child("evidence");
    let items = walk.list(value, &path).unwrap_or_default();
    for (index, item) in items.iter().enumerate() {
        walk.object(item, &path.child(index), Category::DictType);
    }
    items.to_vec()
}

fn texts_are_not_blank(
    walk: &mut Walk<'_>,
    prompt: Option<&Arc<str>>,
    constraints: &[Arc<str>],
    goals: &[Arc<str>],
    path: &FieldPath,
) {
    let lists = [("constraints", constraints), ("goals", goals)];
    if prompt.is_some_and(|prompt| is_blank(prompt)) {
        let place = if walk.typing == Typing::Strict { path.child("prompt") } else { path.clone() };
        walk.report(&place, Category::ValueError, "expected a prompt, found only white space");
        if walk.typing == Typing::Lax {
            return;
        }
    }
    for (key, texts) in lists {
        for (index, _) in texts.iter().enumerate().filter(|(_, text)| is_blank(text)) {
            let strict = path.child(key).child(index);
            let place = if walk.typing == Typing::Strict { strict } else { path.clone() };
            walk.report(&place, Category::ValueError, format!("expected {key} that are not blank"));
            if walk.typing == Typing::Lax {
                return;
            }
        }
    }
}

/// Returns what keeps a document from having a canonical form.
fn unhashable(defects: &[Defect]) -> impl Iterator<Item = Finding> {
    defects.iter().filter(|defect| defect.kind != DefectKind::DuplicateKey).map(|defect| Finding {
        stage: Stage::Hashing,
        category: match defect.kind {
            DefectKind::LoneSurrogate | DefectKind::LoneSurrogateInKey => Category::StringUnicode,
            DefectKind::NonFinite | DefectKind::DuplicateKey => Category::ValueError,
        },
        path: JsonPointer::tokens(&defect.pointer).fold(FieldPath::root(), |path, token| path.child(token)),
        message: match defect.kind {
            DefectKind::NonFinite | DefectKind::DuplicateKey => "number is not finite".to_owned(),
            DefectKind::LoneSurrogate => "text holds half of a surrogate pair".to_owned(),
            DefectKind::LoneSurrogateInKey => "key holds half of a surrogate pair".to_owned(),
        },
    })
}
