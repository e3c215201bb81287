//! Who is answered: tokens, sessions, roles, hosts, origins.

use serde_json::json;

use super::{Response, Served, world};
use hence_testkit::cli::World;

fn status(response: &Response) -> (u16, String) {
    response.error()
}

#[test]
fn nobody_reads_without_a_token_of_this_start() {
    let world = world();
    let served = Served::start(&world);
    let ask = |headers: &[(&str, &str)]| served.send("GET", "/api/v1/runs", headers, b"");
    assert_eq!(status(&ask(&[])), (401, "E0802".into()));
    assert_eq!(status(&ask(&[("Authorization", "Bearer wrong")])), (401, "E0802".into()));
    assert_eq!(status(&ask(&[("Authorization", "Basic YTpi")])), (401, "E0802".into()));
    assert_eq!(status(&ask(&[("Cookie", "hence_session_1=x")])), (401, "E0802".into()));
    assert_eq!(served.get("/runs").status, 200);
    let other = Served::start(&world);
    assert_ne!(other.token, served.token, "every start makes a token of its own");
}

#[test]
fn a_token_is_exchanged_for_a_cookie_that_scripts_cannot_read() {
    let world = world();
    let served = Served::start(&world);
    let origin = format!("http://{}", served.address);
    let exchange = |token: &str| {
        let body = json!({"token": token}).to_string();
        let headers = [("Content-Type", "application/json"), ("Origin", &*origin)];
        served.send("POST", "/api/v1/session", &headers, body.as_bytes())
    };
    assert_eq!(status(&exchange("wrong")), (401, "E0802".into()));
    let session = exchange(&served.token);
    assert_eq!(session.json()["name"], "ada");
    assert_eq!(session.json()["roles"], json!(["read", "answer", "review"]));
    let cookie = session.header("set-cookie").unwrap();
    assert!(cookie.contains("; HttpOnly; SameSite=Strict; Path=/"), "{cookie}");
    let port = served.address.rsplit(':').next().unwrap();
    assert!(cookie.starts_with(&format!("hence_session_{port}=")), "ports of a host share cookies: {cookie}");
    assert!(!cookie.contains(&served.token), "the cookie is not the token");
    let pair = cookie.split(';').next().unwrap();
    let with = |method: &str, headers: &[(&str, &str)]| {
        let headers = [&[("Cookie", pair)], headers].concat();
        served.send(method, "/api/v1/session", &headers, b"")
    };
    assert_eq!(with("GET", &[]).status, 200);
    assert_eq!(status(&with("DELETE", &[])), (403, "E0802".into()), "a change needs an origin");
    assert_eq!(with("DELETE", &[("Origin", &origin)]).status, 204);
    assert_eq!(with("GET", &[]).status, 401);
}

#[test]
fn other_hosts_and_other_sites_are_not_answered() {
    let world = world();
    let served = Served::start(&world);
    let token = format!("Bearer {}", served.token);
    let ask = |headers: &[(&str, &str)]| {
        let headers = [&[("Authorization", &*token)], headers].concat();
        served.send("GET", "/api/v1/runs", &headers, b"")
    };
    let port = served.address.rsplit(':').next().unwrap();
    for host in ["evil.example", "evil.example:80", &format!("evil.example:{port}"), "127.0.0.1", ""] {
        assert_eq!(status(&ask(&[("Host", host)])), (421, "E0802".into()), "{host}");
    }
    assert_eq!(ask(&[("Host", &format!("localhost:{port}"))]).status, 200);
    for origin in
        ["http://evil.example", "null", "https://evil.example:443", &format!("http://localhost:1{port}")]
    {
        assert_eq!(status(&ask(&[("Origin", origin)])), (403, "E0802".into()), "{origin}");
    }
    assert_eq!(ask(&[("Origin", &format!("http://localhost:{port}"))]).status, 200);
    assert_eq!(served.raw(b"GET /api/v1/runs HTTP/1.0\r\n\r\n")[9..12], *b"421");
}

#[test]
fn the_page_is_confined() {
    let world = world();
    let served = Served::start(&world);
    for path in ["/", "/assets/app.js", "/assets/app.css", "/api/v1/runs", "/nothing"] {
        let response = served.send("GET", path, &[], b"");
        let policy = response.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{path}: {policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(response.header("referrer-policy"), Some("no-referrer"), "{path}");
        assert_eq!(response.header("cache-control"), Some("no-store"), "{path}");
    }
    let page = served.send("GET", "/", &[], b"");
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    let compressed = served.send("GET", "/assets/app.js", &[("Accept-Encoding", "gzip, br")], b"");
    assert_eq!(compressed.header("content-encoding"), Some("gzip"));
    assert_eq!(served.send("GET", "/nothing", &[], b"").error(), (404, "E0403".into()));
}

const TOKENS: &str = r#"
[[token]]
name = "reader"
token = "rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr"
[[token]]
name = "finance"
roles = ["answer"]
token = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
"#;

fn with_tokens(world: &World, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    world.write("tokens.toml", TOKENS);
    std::fs::set_permissions(world.path("tokens.toml"), std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn named_tokens_have_the_roles_of_their_file() {
    let world = world();
    with_tokens(&world, 0o600);
    let mut served = Served::with(&world, &["serve", "--token-file", "tokens.toml", "--json"]);
    assert_eq!(served.token, "", "no token is made");
    served.token = "r".repeat(32);
    assert_eq!(served.get("/runs").status, 200);
    let answer = json!({"step": "approve", "value": "yes"});
    assert_eq!(served.post("/runs/refund/answers", &answer).error(), (403, "E0802".into()));
    served.token = "a".repeat(32);
    assert_eq!(served.post("/runs/first/review", &json!({})).error(), (403, "E0802".into()));
    let answered = served.post("/runs/refund/answers", &answer);
    assert_eq!((answered.status, &answered.json()["by"]), (200, &json!("finance")));
}

#[test]
fn a_server_that_others_can_reach_needs_a_token_file_that_others_cannot_read() {
    let world = world();
    insta::assert_snapshot!(world.refused(&["serve", "--listen", "0.0.0.0:0"]));
    with_tokens(&world, 0o644);
    insta::assert_snapshot!(world.refused(&[
        "serve",
        "--listen",
        "0.0.0.0:0",
        "--token-file",
        "tokens.toml"
    ]));
    insta::assert_snapshot!(world.refused(&["serve", "--token-file", "nothing.toml"]));
    insta::assert_snapshot!(world.refused(&["view", "--listen", "0.0.0.0:0", "--no-open"]));
    with_tokens(&world, 0o600);
    let served =
        Served::with(&world, &["serve", "--listen", "0.0.0.0:0", "--token-file", "tokens.toml", "--json"]);
    let port = served.address.rsplit(':').next().unwrap();
    assert_eq!(served.send("GET", "/", &[("Host", &format!("localhost:{port}"))], b"").status, 421);
}
