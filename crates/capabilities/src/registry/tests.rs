use std::path::PathBuf;

use hence_canon::{Value, parse};
use hence_cognition::capability::{Confirmation, OnDenied, RequiredTrust, TrustLevel};
use hence_cognition::skill::Recovery;
use hence_skills::Determinism;

use super::*;

fn read(documents: &[&str]) -> Result<Declarations, Vec<String>> {
    let source = |text: &&str| Source {
        document: parse(text.as_bytes()).expect("the test's file is JSON"),
        folder: PathBuf::from("/here"),
    };
    Declarations::read(documents.iter().map(source).collect(), &Kinds::standard()).map_err(|problems| {
        problems.iter().map(|found| format!("{} {}", found.source, found.problem)).collect()
    })
}

const PROVIDER: &str = r#""description": "d", "provider": {"kind": "command", "command": ["x"]}"#;

fn one(more: &str) -> Declared {
    one_of(more, &[])
}

fn one_of(more: &str, others: &[&str]) -> Declared {
    let others: String = others.iter().map(|id| format!(r#", "{id}": {{{PROVIDER}}}"#)).collect();
    let declared = read(&[&format!(r#"{{"capabilities": {{"a": {{{PROVIDER}{more}}}{others}}}}}"#)]).unwrap();
    declared.get("a").unwrap().clone()
}

#[test]
fn a_gate_must_be_there_and_have_no_rules_of_its_own() {
    let file = format!(
        r#"{{"capabilities": {{
            "a": {{{PROVIDER}, "gates": {{"before": ["b", "none", "data.value"], "after": ["c"]}}}},
            "b": {{{PROVIDER}, "confirmation": "required"}}, "c": {{{PROVIDER}, "gates": {{"before": ["c"]}}}}}}}}"#
    );
    assert_eq!(
        read(&[&file]).unwrap_err(),
        [
            "0 at `/capabilities/a/gates/before/0`: `b` is a gate, and a gate has no safety rules of its own",
            "0 at `/capabilities/a/gates/before/1`: no capability `none` is built in or declared",
            "0 at `/capabilities/a/gates/after/0`: `c` is a gate, and a gate has no safety rules of its own",
            "0 at `/capabilities/c/gates/before/0`: `c` is a gate, and a gate has no safety rules of its own",
        ]
    );
}

#[test]
fn schemas_are_read_with_the_file_and_refer_to_nothing_outside() {
    let wrong =
        r#", "input": {"properties": {"a": {"type": "text"}}}, "output": {"$ref": "https://example.com/s"}"#;
    let found = read(&[&format!(r#"{{"capabilities": {{"a": {{{PROVIDER}{wrong}}}}}}}"#)]).unwrap_err();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("0 at `/capabilities/a/input/properties/a/type`: "), "{found:?}");
    assert!(found[1].starts_with("0 at `/capabilities/a/output"), "{found:?}");
}

#[test]
fn what_a_replay_calls_again_has_no_secrets() {
    let file = format!(
        r#"{{"capabilities": {{"a": {{{PROVIDER}, "effects": "none", "determinism": "deterministic",
            "secrets": ["S", "inputs.*"]}}}}, "secrets": {{"S": {{"environment": "S"}}}}}}"#
    );
    let found = read(&[&file]).unwrap_err();
    assert!(found[0].contains("a deterministic capability has no secrets"), "{found:?}");
}

#[test]
fn what_is_not_said_is_the_strictest_it_could_mean() {
    let plain = one("");
    assert_eq!(plain.determinism, Determinism::Recorded);
    assert_eq!((plain.effects, plain.recovery), (Effects::Writes, Recovery::Ask));
    assert_eq!(plain.output_bytes_max, OUTPUT_BYTES_DEFAULT);
    assert_eq!(one(r#", "effects": "reads""#).recovery, Recovery::Retry);
    assert_eq!(one(r#", "effects": "reads", "recovery": "fail""#).recovery, Recovery::Fail);
    let pure = one(r#", "effects": "none", "determinism": "deterministic""#);
    assert_eq!(pure.determinism, Determinism::Deterministic);
}

#[test]
fn safety_rules_and_contracts_reach_the_spec() {
    let declared = one_of(
        r#", "trust": "elevated", "confirmation": "required",
        "gates": {"before": ["g", {"capability": "h", "on_denied": "warn"}], "after": ["i"]},
        "input": {"type": "object", "required": ["x", "y"],
                  "properties": {"x": {"type": "string"}, "z": {"type": ["null", "string"]}}}"#,
        &["g", "h", "i"],
    );
    let safety = &declared.spec.safety;
    assert_eq!(safety.trust, RequiredTrust::AtLeast(TrustLevel::Elevated));
    assert_eq!(safety.confirmation, Confirmation::Needed);
    let gates: Vec<_> = safety.before.iter().map(|gate| (&*gate.capability, gate.on_denied)).collect();
    assert_eq!(gates, [("g", OnDenied::Block), ("h", OnDenied::Warn)]);
    assert_eq!(safety.after.len(), 1);
    let fields: Vec<_> = declared.spec.inputs.iter().map(|(name, field)| (&**name, &*field.kind)).collect();
    assert_eq!(fields, [("x", "string"), ("z", "any"), ("y", "any")]);
}

#[test]
fn everything_that_is_wrong_is_reported_at_once() {
    let file = r#"{"more": 1, "capabilities": {
        "text.split": {"description": "d", "provider": {"kind": "command", "command": ["x"]}},
        "a": {"provider": {"kind": "command", "command": "ls", "shell": true}, "timeout_seconds": 0,
              "output_bytes_max": 268435457, "determinism": "deterministic", "trust": "high",
              "gates": {"before": [1, {"on_denied": "maybe"}], "around": []}},
        "b": 1, "c": {"description": "", "provider": {"kind": "telepathy"}},
        "d": {"description": "d", "provider": {"command": ["x"]}}},
        "secrets": {"S": {"environment": "A", "file": "b"}, "T": {}}}"#;
    let wrong = read(&[file]).unwrap_err();
    let wrong: Vec<&str> = wrong.iter().map(String::as_str).collect();
    assert_eq!(
        wrong,
        [
            "0 at `/more`: unknown member; expected capabilities, custom_actions, secrets",
            "0 at `/secrets/S`: a secret has `environment` or `file`, one of them",
            "0 at `/secrets/T`: a secret has `environment` or `file`, one of them",
            "0 at `/capabilities/a/provider/command`: expected a list of texts, found string",
            "0 at `/capabilities/a/provider`: `command` is a list that begins with a program",
            "0 at `/capabilities/a/provider/shell`: unknown member; expected command, kind",
            "0 at `/capabilities/a`: `description` is missing",
            "0 at `/capabilities/a/trust`: expected one of sandbox, standard, elevated, privileged, found \"high\"",
            "0 at `/capabilities/a/gates/before/0`: expected an object, found integer",
            "0 at `/capabilities/a/gates/before/1`: `capability` is missing",
            "0 at `/capabilities/a/gates/before/1/on_denied`: expected one of block, require_human, warn, degrade, found \"maybe\"",
            "0 at `/capabilities/a/gates/around`: unknown member; expected after, before",
            "0 at `/capabilities/a/determinism`: a deterministic capability has `effects: none`: a replay calls it again",
            "0 at `/capabilities/a/timeout_seconds`: expected a number of seconds above 0, found 0",
            "0 at `/capabilities/a/output_bytes_max`: expected a count from 1 to 268435456, found 268435457",
            "0 at `/capabilities/b`: expected an object, found integer",
            "0 at `/capabilities/c/provider/kind`: expected one of command, http, rules, unbound, found \"telepathy\"",
            "0 at `/capabilities/c/description`: expected a text that is not empty, found \"\"",
            "0 at `/capabilities/d/provider`: `kind` is missing",
            "0 at `/capabilities/text.split`: `text.split` is the id of a built-in capability",
        ]
    );
    assert!(read(&["null"]).is_err() && read(&["{}"]).is_err());
}

#[test]
fn files_are_read_together_and_pinned_without_their_folders() {
    let (a, b) = (
        format!(r#"{{"capabilities": {{"a": {{{PROVIDER}}}}}, "secrets": {{"S": {{"environment": "S"}}}}}}"#),
        format!(r#"{{"capabilities": {{"b": {{{PROVIDER}}}}}}}"#),
    );
    let together = read(&[&a, &b]).unwrap();
    assert_eq!(together.iter().count(), 2);
    let swapped = read(&[&b, &a]).unwrap();
    assert_eq!(together.canonical().digest(), swapped.canonical().digest());
    let mut moved = together.sources().to_vec();
    moved.iter_mut().for_each(|source| source.folder = PathBuf::from("/elsewhere"));
    let moved = Declarations::read(moved, &Kinds::standard()).unwrap();
    assert_eq!(moved.canonical().digest(), together.canonical().digest());
    let twice = read(&[&a, &a]).unwrap_err();
    assert_eq!(
        twice,
        [
            "1 at `/secrets/S`: another file declares the secret `S` too",
            "1 at `/capabilities/a`: another file declares `a` too",
        ]
    );
}

#[test]
fn the_schema_names_every_member_and_every_kind() {
    let schema = json_schema(&Kinds::standard());
    let kinds = schema.pointer(&"/$defs/provider/oneOf".parse().unwrap()).and_then(Value::as_array).unwrap();
    assert_eq!(kinds.len(), Kinds::standard().iter().count());
    let members = schema.pointer(&"/$defs/capability/properties".parse().unwrap()).unwrap();
    let mut found: Vec<&str> = members.as_object().unwrap().keys().map(|key| &**key).collect();
    found.sort_unstable();
    // An unknown member makes the reader list every member it reads.
    let refused = read(&[&format!(r#"{{"capabilities": {{"a": {{{PROVIDER}, "?": 1}}}}}}"#)]).unwrap_err();
    assert!(refused[0].ends_with(&found.join(", ")), "{refused:?}\n{found:?}");
}

#[test]
fn rules_are_a_pure_gate() {
    use hence_cognition::run::{Call, CallPlace, CallPurpose};
    use hence_skills::Host as _;
    let file = r#"{"capabilities": {"small": {"description": "d", "provider": {"kind": "rules",
        "rules": [{"id": "limit", "expect": "inputs.amount <= 100", "message": "more than 100"}]}}}}"#;
    let library = crate::Library::with(read(&[file]).unwrap());
    assert_eq!(library.determinism("small"), Determinism::Deterministic);
    assert_eq!(library.effects("small"), Effects::None);
    for (input, expected) in [
        (r#"{"amount": 100}"#, r#"{"allowed":true,"findings":[],"reason":""}"#),
        (
            r#"{"amount": 101}"#,
            r#"{"allowed":false,"findings":[{"message":"more than 100","rule":"limit","severity":"error"}],"reason":"more than 100"}"#,
        ),
    ] {
        let call = Call {
            capability: &"small".into(),
            input: &parse(input.as_bytes()).unwrap(),
            purpose: CallPurpose::GateBefore,
            skill_id: &"s".into(),
            step_id: &"step".into(),
            place: &CallPlace::default(),
            attempt: 1,
            timeout_seconds: hence_canon::Float::new(1.0).unwrap(),
        };
        assert_eq!(library.worker().call(&call).unwrap().output.to_string(), expected);
    }
    let wrong = r#"{"capabilities": {"a": {"description": "d", "provider": {"kind": "rules", "rules": [{"id": "x"}]}}}}"#;
    assert!(read(&[wrong]).unwrap_err()[0].contains("`expect` is missing"));
}
