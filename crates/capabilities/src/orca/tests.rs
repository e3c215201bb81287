use hence_canon::{Value, parse};

use super::{Allowed, DocumentKind, Imported, Registry, RepeatedId};
use crate::provider::Kinds;
use crate::registry::{Declarations, Source};

const CONTRACT: &str = r#"{"id": "text.count", "description": "Counts\n words", "inputs": {"text": {"type": "string", "required": true}},
  "outputs": {"count": {"type": "number", "required": true}, "odd": {"type": "tensor"}},
  "properties": {"side_effects": false}, "cognitive_hints": {"role": "perceive"},
  "safety": {"trust_level": "cosmic", "requires_confirmation": true, "mandatory_pre_gates": [{"capability": "gate.ask", "on_fail": "warn"}]}}"#;
const GATE: &str = r#"{"id": "gate.ask", "description": "Asks", "inputs": {}, "outputs": {}, "safety": {"trust_level": "standard"}}"#;

fn registry(documents: &[&str]) -> Registry {
    let mut registry = Registry::default();
    for document in documents {
        registry.add(&parse(document.as_bytes()).unwrap()).unwrap();
    }
    registry
}

fn allowed(hosts: &[&str]) -> Allowed {
    Allowed { python: None, hosts: hosts.iter().map(|host| (*host).to_owned()).collect() }
}

fn at(imported: &Imported, pointer: &str) -> String {
    imported.document.pointer(&pointer.parse().unwrap()).map(Value::to_string).unwrap_or_default()
}

#[test]
fn a_contract_without_a_binding_is_unbound_and_keeps_its_rules() {
    let imported = registry(&[CONTRACT, GATE]).declarations(&Allowed::default(), &Kinds::standard());
    let count = "/capabilities/text.count";
    assert_eq!(at(&imported, &format!("{count}/description")), r#""Counts words""#);
    assert_eq!(at(&imported, &format!("{count}/effects")), r#""reads""#);
    assert_eq!(at(&imported, "/capabilities/gate.ask/effects"), r#""writes""#);
    // A level that is not known is the strictest one, and a type that is not known is any.
    assert_eq!(at(&imported, &format!("{count}/trust")), r#""privileged""#);
    assert_eq!(at(&imported, &format!("{count}/output/properties/odd")), "{}");
    assert_eq!(at(&imported, &format!("{count}/provider/kind")), r#""unbound""#);
    // A gate with safety rules is declared a second time without them.
    assert_eq!(at(&imported, &format!("{count}/gates/before/0/capability")), r#""gate.ask.gate""#);
    assert_eq!(at(&imported, "/capabilities/gate.ask.gate/trust"), "");
    assert_eq!(at(&imported, "/capabilities/gate.ask/trust"), r#""standard""#);
    let source = Source { document: imported.document, folder: "/".into() };
    Declarations::read(vec![source], &Kinds::standard()).unwrap();
}

#[test]
fn nothing_is_bound_without_the_word_of_the_user() {
    let python = r#"{"id": "py", "capability": "text.count", "service": "s", "protocol": "pythoncall", "operation": "count", "request": {}, "response": {}}"#;
    let service = r#"{"id": "s", "kind": "pythoncall", "module": "services.text"}"#;
    let registry = registry(&[CONTRACT, GATE, python, service]);
    let imported = registry.declarations(&Allowed::default(), &Kinds::standard());
    let row = imported.rows.iter().find(|row| row.id == "text.count").unwrap();
    assert_eq!(
        (row.provider, row.reason.as_str()),
        (
            "unbound",
            "binding py: it calls `count` of the Python module `services.text`, which is not allowed"
        )
    );
    // With it, the module must exist: no other folder is searched.
    let folder = tempfile::tempdir().unwrap();
    let here = Allowed { python: Some(folder.path().to_owned()), ..Allowed::default() };
    assert!(
        registry.declarations(&here, &Kinds::standard()).rows[1].reason.contains("there is no Python module")
    );
    std::fs::create_dir(folder.path().join("services")).unwrap();
    std::fs::write(folder.path().join("services/text.py"), "").unwrap();
    assert_eq!(registry.declarations(&here, &Kinds::standard()).rows[1].provider, "command");
}

#[test]
fn a_request_becomes_http_only_for_an_allowed_host_and_plain_mappings() {
    let service = r#"{"id": "s", "kind": "openapi", "base_url": "https://api.example.com:8443/v1/", "metadata": {"headers": {"X-Key": "k ${API_KEY}"}}}"#;
    let binding = |request: &str| {
        format!(
            r#"{{"id": "b", "capability": "text.count", "service": "s", "protocol": "openapi", "operation": "count", "request": {request}, "response": {{"count": "response.count"}}}}"#
        )
    };
    let plain = registry(&[CONTRACT, GATE, service, &binding(r#"{"text": "input.text"}"#)]);
    assert!(
        plain.declarations(&allowed(&["example.com"]), &Kinds::standard()).rows[1]
            .reason
            .contains("`api.example.com:8443`")
    );
    for host in ["api.example.com", "api.example.com:8443"] {
        let imported = plain.declarations(&allowed(&[host]), &Kinds::standard());
        assert_eq!(
            at(&imported, "/capabilities/text.count/provider"),
            r#"{"headers":{"X-Key":"k {{secrets.API_KEY}}"},"kind":"http","method":"POST","url":"https://api.example.com:8443/v1/count"}"#
        );
        assert_eq!(at(&imported, "/secrets"), r#"{"API_KEY":{"environment":"API_KEY"}}"#);
    }
    let other = registry(&[CONTRACT, GATE, service, &binding(r#"{"words": "input.text"}"#)]);
    let reason = &other.declarations(&allowed(&["api.example.com"]), &Kinds::standard()).rows[1].reason;
    assert!(reason.contains("other mappings cannot be translated"), "{reason}");
}

#[test]
fn documents_are_told_apart_by_their_members() {
    let mut registry = Registry::default();
    let mut add = |text: &str| registry.add(&parse(text.as_bytes()).unwrap());
    assert_eq!(add(CONTRACT), Ok(Some(DocumentKind::Contract)));
    assert_eq!(add(CONTRACT), Err(RepeatedId("text.count".to_owned())));
    assert_eq!(add(r#"{"id": "skill", "inputs": {}, "outputs": {}, "steps": []}"#), Ok(None));
    assert_eq!(add(r#"{"defaults": {"text.count": "py"}}"#), Ok(Some(DocumentKind::Selection)));
    assert_eq!(add("[1]"), Ok(None));
}
