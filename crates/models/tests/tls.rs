//! A model behind real TLS, under an authority of the tests' own.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on should stop")]

use std::time::Duration;

use hence_canon::{Object, parse};
use hence_models::{AskError, FailureClass, Model, Question};
use hence_testkit::tls::{TlsServer, authority};

const REPLY: &str = r#"{"id": "c1", "object": "chat.completion", "model": "m-1", "choices": [{"index": 0,
    "finish_reason": "stop", "message": {"role": "assistant", "content": "well"}}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}"#;

fn asked(server: &TlsServer, more: &str) -> Result<Object, AskError> {
    let settings = format!(
        r#"{{"api": "openai", "model": "m-1", "endpoint": "https://localhost:{}/v1", "prompt": "how?",
            "stream": false, "retries": {{"max": 0}}{more}}}"#,
        server.port
    );
    let model = Model::read(parse(settings.as_bytes()).unwrap().as_object().unwrap()).unwrap();
    let input = Object::new().into();
    let (timeout, reply_bytes_max) = (Duration::from_secs(10), 1000);
    let question =
        Question { input: &input, schema: None, key: Some("sk-123456789"), timeout, reply_bytes_max };
    model.ask(&question).map(|answer| answer.output)
}

#[test]
fn a_model_under_a_private_authority_is_asked_where_that_is_declared() {
    let length = REPLY.len();
    let server = TlsServer::answering(format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{REPLY}"
    ));
    let trusting = format!(r#", "ca_file": "{}""#, authority());
    assert_eq!(asked(&server, &trusting).unwrap().get("text").unwrap().as_str(), Some("well"));
    assert!(server.requests()[0].to_lowercase().contains("authorization: bearer sk-123456789"));
    let untrusted = asked(&server, "").unwrap_err();
    assert!(
        matches!(&untrusted, AskError::Failed { class: FailureClass::Unreachable, message } if message.contains("ertificate")),
        "{untrusted}"
    );
    let gone = asked(&server, r#", "ca_file": "/no/such/file""#).unwrap_err().to_string();
    assert!(gone.contains("ca_file /no/such/file"), "{gone}");
    assert!(server.requests().is_empty(), "no key was shown to anyone");
}
