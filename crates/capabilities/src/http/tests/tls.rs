//! HTTP over real TLS, with a certificate authority of the tests.

use super::*;

use hence_testkit::tls::{TlsServer, authority};

fn asked(host: &str, server: &TlsServer, ca_file: &str) -> Result<Value, CallError> {
    let port = server.port;
    let ca_file = if ca_file.is_empty() { String::new() } else { format!(r#", "ca_file": "{ca_file}""#) };
    let provider = format!(
        r#""url": "https://{host}:{port}/", "retries": 0, "headers": {{"X-Api-Key": "{{{{secrets.TOKEN}}}}"}}{ca_file}"#
    );
    ask(&Asked { provider: &provider, ..Asked::default() })
}

#[test]
fn a_service_under_a_private_authority_is_trusted_where_that_is_declared() {
    let server = TlsServer::answering(json("200 OK", r#"{"ok": true}"#));
    assert_eq!(asked("localhost", &server, &authority()).unwrap().to_string(), r#"{"ok":true}"#);
    assert!(server.requests()[0].contains("x-api-key: hunter2-hunter2"));
    // A server with an unknown authority receives nothing, above all no secrets.
    let unknown = asked("localhost", &server, "").unwrap_err().to_string();
    assert!(unknown.starts_with("HttpUnreachable: ") && unknown.contains("ertificate"), "{unknown}");
    // The certificate is valid for a name, not for an address.
    let other = asked("127.0.0.1", &server, &authority()).unwrap_err().to_string();
    assert!(other.starts_with("HttpUnreachable: ") && other.contains("ertificate"), "{other}");
    assert!(server.requests().is_empty());
}

#[test]
fn authorities_that_cannot_be_read_stop_the_call_before_anything_is_sent() {
    let server = TlsServer::answering(json("200 OK", "{}"));
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "no certificate").unwrap();
    for (file, said) in [("/no/such/file", "No such file"), (empty.to_str().unwrap(), "holds no certificate")]
    {
        let error = asked("localhost", &server, file).unwrap_err().to_string();
        assert!(error.starts_with("HttpMisconfigured: GET https://localhost:"), "{error}");
        assert!(error.contains(": ca_file ") && error.contains(said), "{error}");
    }
    assert!(server.requests().is_empty());
}
