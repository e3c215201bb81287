//! The OpenAPI document, made of the operations.

use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator, schema_for};
use serde_json::{Map, Value, json};

use crate::limits::RESPONSE_BYTES_MAX;
use crate::operation::{BodyOf, Operation, Parameter, ParameterKind, ReplyKind, Service};
use crate::router::{Exchange, Session};

/// Returns the OpenAPI 3.1 document of a service, as JSON text.
pub fn openapi_document(service: &dyn Service) -> String {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    let mut schemas = settings.into_generator();
    let error = (service.error_schema())(&mut schemas);
    let mut paths = Map::new();
    for operation in service.operations() {
        let described = describe(&operation, &error, &mut schemas);
        let path = paths.entry(operation.path.to_owned()).or_insert_with(|| json!({}));
        if let Some(methods) = path.as_object_mut() {
            methods.insert(operation.method.as_str().to_owned(), described);
        }
    }
    paths.insert("/session".to_owned(), session(&error));
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "hence",
            "version": service.version(),
            "description": format!("Runs of a store. docs/api.md describes it with examples. A response for a screen has at most {RESPONSE_BYTES_MAX} bytes."),
        },
        "servers": [{"url": "/api/v1"}],
        "security": [{"token": []}, {"session": []}],
        "paths": paths,
        "components": {
            "schemas": schemas.take_definitions(true),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": "hence_session_PORT"},
            },
        },
    });
    document.to_string()
}

/// Returns the name of an operation, from its method and path.
fn name(operation: &Operation) -> String {
    let words = operation.path.split(['/', '{', '}']).filter(|word| !word.is_empty());
    [operation.method.as_str()].into_iter().chain(words).collect::<Vec<_>>().join("_")
}

fn describe(operation: &Operation, error: &Schema, schemas: &mut SchemaGenerator) -> Value {
    let segments = operation.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let segments = segments.map(|name| {
        json!({"name": name, "in": "path", "required": true, "schema": {"type": "string", "minLength": 1}})
    });
    let parameters: Vec<Value> = segments.chain(operation.parameters.iter().map(parameter)).collect();
    let mut described = json!({
        "operationId": name(operation),
        "summary": operation.summary,
        "description": format!("Needs the role `{}`.", operation.role.as_str()),
        "parameters": parameters,
        "responses": responses(&operation.reply, error, schemas),
    });
    if let (BodyOf::Json(schema), Some(members)) = (operation.body, described.as_object_mut()) {
        let content = json!({"application/json": {"schema": schema(schemas)}});
        members.insert("requestBody".to_owned(), json!({"required": true, "content": content}));
    }
    described
}

fn parameter(parameter: &Parameter) -> Value {
    let schema = match parameter.kind {
        ParameterKind::Text => json!({"type": "string"}),
        ParameterKind::Count(max) => json!({"type": "integer", "minimum": 0, "maximum": max}),
        ParameterKind::Size(max) => json!({"type": "integer", "minimum": 1, "maximum": max}),
        ParameterKind::Flag => json!({"type": "boolean"}),
        ParameterKind::Word(words) => json!({"type": "string", "enum": words}),
        ParameterKind::Texts => json!({"type": "array", "items": {"type": "string"}}),
    };
    json!({"name": parameter.name, "in": "query", "description": parameter.about, "schema": schema})
}

/// The statuses of errors, and when they come.
const ERRORS: [(&str, &str); 11] = [
    ("400", "A parameter or the body is not understood."),
    ("401", "There is no session."),
    ("403", "The role is missing, or another site asks."),
    ("404", "It does not exist."),
    ("405", "The route does not know the method."),
    ("409", "Somebody else was first, or the rules refuse it."),
    ("413", "The body is too large."),
    ("415", "The body is not JSON."),
    ("422", "It exists and cannot do that."),
    ("500", "The store is damaged or the disk refuses."),
    ("503", "The server is busy."),
];

fn responses(reply: &ReplyKind, error: &Schema, schemas: &mut SchemaGenerator) -> Value {
    let mut all = Map::new();
    let (status, content) = match reply {
        ReplyKind::Json(schema) => ("200", json!({"application/json": {"schema": schema(schemas)}})),
        ReplyKind::Bytes => {
            let any = json!({"schema": {}});
            ("200", json!({"application/octet-stream": any, "text/plain": any, "application/json": any}))
        }
        ReplyKind::Events => ("200", json!({"text/event-stream": {"schema": {"type": "string"}}})),
        ReplyKind::Nothing => ("204", json!({})),
    };
    all.insert(status.to_owned(), json!({"description": "The answer.", "content": content}));
    all.extend(errors(error));
    Value::Object(all)
}

fn errors(error: &Schema) -> Map<String, Value> {
    let content = json!({"application/json": {"schema": error}});
    let one = |(status, about): &(&str, &str)| {
        ((*status).to_owned(), json!({"description": about, "content": content}))
    };
    ERRORS.iter().map(one).collect()
}

fn session(error: &Schema) -> Value {
    let content = json!({"application/json": {"schema": schema_for!(Session)}});
    let found = |status: &str, described: Value| {
        let mut all = errors(error);
        all.insert(status.to_owned(), described);
        Value::Object(all)
    };
    let answer = json!({"description": "The session.", "content": content});
    let body = json!({"application/json": {"schema": schema_for!(Exchange)}});
    json!({
        "get": {"operationId": "get_session", "summary": "Say who asks.", "responses": found("200", answer.clone())},
        "post": {
            "operationId": "post_session", "summary": "Exchange a token for a session.", "security": [],
            "requestBody": {"required": true, "content": body}, "responses": found("200", answer),
        },
        "delete": {
            "operationId": "delete_session", "summary": "End the session.",
            "responses": found("204", json!({"description": "It has ended."})),
        },
    })
}
