//! Asking models at an endpoint that follows a script, in both ways providers talk.
//!
//! One file, because all tests share the question and run it in both ways.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::time::Duration;

use hence_canon::{Value, parse};
use hence_models::{Answer, AskError, FailureClass, Model, Question};
use hence_testkit::endpoint::{End, Endpoint, Reaction, Request};
use hence_testkit::providers::{VOICES, Voice, busy, error, json_reply};

const KEY: &str = "sk-test-0123456789";
const SCHEMA: &str = r#"{"type": "object", "properties": {"verdict": {"type": "string"}, "score": {"type": "integer"}},
    "required": ["verdict"], "additionalProperties": false}"#;
const GOOD: &str = r#"{"verdict": "für gut befunden ✓", "score": 12345678901234567890123}"#;

fn model(url: &str, voice: Voice, more: &str) -> Model {
    let api = voice.api();
    let settings = format!(
        r#"{{"api": "{api}", "model": "m-1", "endpoint": "{url}", "key": {{"$secret": "TEST_KEY"}},
            "system": "You judge {{{{kind}}}}.", "prompt": "Judge: {{{{text}}}}",
            "max_tokens": 500, "temperature": 0.5, "seed": 7{more}}}"#
    );
    Model::read(parse(settings.as_bytes()).unwrap().as_object().unwrap()).unwrap()
}

/// The question of a test, unless it asks another.
struct Asked {
    input: &'static str,
    schema: Option<&'static str>,
    key: Option<&'static str>,
    timeout: Duration,
    reply_bytes_max: u64,
}

impl Default for Asked {
    fn default() -> Self {
        Self {
            input: r#"{"kind": "mails", "text": "Hello"}"#,
            schema: Some(SCHEMA),
            key: Some(KEY),
            timeout: Duration::from_secs(20),
            reply_bytes_max: 1_000_000,
        }
    }
}

impl Asked {
    fn of(self, model: &Model) -> Result<Answer, AskError> {
        let schema = self.schema.map(|schema| parse(schema.as_bytes()).unwrap());
        model.ask(&Question {
            input: &parse(self.input.as_bytes()).unwrap(),
            schema: schema.as_ref(),
            key: self.key,
            timeout: self.timeout,
            reply_bytes_max: self.reply_bytes_max,
        })
    }
}

/// Asks with short waits and without streaming, unless `more` says otherwise.
fn asked(voice: Voice, more: &str, script: Vec<Reaction>) -> (Result<Answer, AskError>, Vec<Request>) {
    asked_with(Asked::default(), voice, more, script)
}

fn asked_with(
    asked: Asked,
    voice: Voice,
    more: &str,
    script: Vec<Reaction>,
) -> (Result<Answer, AskError>, Vec<Request>) {
    let endpoint = Endpoint::with(script);
    let patience = r#", "retries": {"max": 2, "wait_seconds": 0.002, "wait_seconds_max": 0.05}"#;
    let delivery = if more.contains("stream") { "" } else { r#", "stream": false"# };
    let answer = asked.of(&model(&endpoint.url(), voice, &format!("{patience}{delivery}{more}")));
    (answer, endpoint.requests())
}

fn class(result: Result<Answer, AskError>) -> (FailureClass, String) {
    match result {
        Err(AskError::Failed { class, message }) => {
            assert!(!message.contains(KEY), "{message}");
            (class, message)
        }
        other => panic!("expected a failure, found {other:?}"),
    }
}

fn text(object: &hence_canon::Object) -> String {
    Value::from(object.clone()).to_string()
}

#[test]
fn a_good_reply_is_an_exact_object_with_its_metrics() {
    for voice in VOICES {
        let (answer, requests) = asked(voice, "", vec![voice.whole(GOOD)]);
        let answer = answer.unwrap();
        assert_eq!(text(&answer.output), parse(GOOD.as_bytes()).unwrap().to_string());
        let tokens = GOOD.len();
        assert_eq!(text(&answer.meta), format!(r#"{{"llm_calls":1,"tokens_in":10,"tokens_out":{tokens}}}"#));
        assert_eq!(requests.len(), 1);
    }
}

#[test]
fn a_request_says_what_its_settings_say() {
    let (_, requests) = asked(Voice::OpenAi, "", vec![Voice::OpenAi.whole(GOOD)]);
    let request = requests.first().unwrap();
    assert_eq!(request.path, "/v1/chat/completions");
    assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    let at = |pointer: &str| request.body.pointer(pointer).unwrap().to_string();
    assert_eq!(at("/model"), r#""m-1""#);
    assert_eq!(at("/messages/0/content"), r#""You judge mails.""#);
    assert_eq!(at("/messages/1/content"), r#""Judge: Hello""#);
    assert_eq!(
        (at("/max_tokens"), at("/temperature"), at("/seed")),
        ("500".into(), "0.5".into(), "7".into())
    );
    assert_eq!(at("/response_format/type"), r#""json_schema""#);
    assert_eq!(at("/response_format/json_schema/schema/properties/verdict/type"), r#""string""#);

    let (_, requests) = asked(Voice::Anthropic, "", vec![Voice::Anthropic.whole(GOOD)]);
    let request = requests.first().unwrap();
    assert_eq!(request.path, "/v1/messages");
    assert_eq!(request.header("x-api-key"), Some(KEY));
    assert!(request.header("anthropic-version").is_some());
    let at = |pointer: &str| request.body.pointer(pointer).unwrap().to_string();
    assert_eq!((at("/system"), at("/max_tokens")), (r#""You judge mails.""#.into(), "500".into()));
    assert_eq!(at("/messages/0/content"), r#""Judge: Hello""#);
    assert_eq!(at("/output_config/format/type"), r#""json_schema""#);
}

#[test]
fn a_models_name_is_sent_as_it_is_written() {
    for voice in VOICES {
        for name in ["m-high", "family::m-max", "gpt-5-low", "plain", "a-none"] {
            for stream in [false, true] {
                let reaction = if stream { voice.streamed("hi", 50) } else { voice.whole("hi") };
                let endpoint = Endpoint::with(vec![reaction]);
                let settings = format!(
                    r#"{{"api": "{}", "model": "{name}", "endpoint": "{}", "prompt": "p", "stream": {stream}}}"#,
                    voice.api(),
                    endpoint.url()
                );
                let model = Model::read(parse(settings.as_bytes()).unwrap().as_object().unwrap()).unwrap();
                Asked { schema: None, key: None, ..Asked::default() }.of(&model).unwrap();
                let body = endpoint.requests().pop().unwrap().body;
                assert_eq!(body.get("model").unwrap(), name);
                for unasked in ["reasoning_effort", "output_config", "thinking", "verbosity"] {
                    assert_eq!(body.get(unasked), None, "{name}: {body}");
                }
            }
        }
    }
}

#[test]
fn an_endpoint_without_constraints_is_told_the_schema_in_words() {
    for voice in VOICES {
        for structure in ["json", "prompt"] {
            let more = format!(r#", "structure": "{structure}""#);
            let (answer, requests) = asked(voice, &more, vec![voice.whole(GOOD)]);
            answer.unwrap();
            let body = &requests.first().unwrap().body;
            let told = body.pointer(if voice == Voice::OpenAi { "/messages/0/content" } else { "/system" });
            let told = told.unwrap().as_str().unwrap();
            assert!(told.starts_with("You judge mails.\n\nReply with one JSON object"), "{told}");
            assert!(told.contains(r#""verdict""#) && !body.to_string().contains("json_schema"), "{body}");
        }
    }
}

#[test]
fn a_model_without_a_key_is_asked_without_one() {
    for voice in VOICES {
        let endpoint = Endpoint::with(vec![voice.whole("hi"), voice.streamed("hi", 10)]);
        for stream in [false, true] {
            let settings = format!(
                r#"{{"api": "{}", "model": "m", "endpoint": "{}", "prompt": "p", "stream": {stream}}}"#,
                voice.api(),
                endpoint.url()
            );
            let model = Model::read(parse(settings.as_bytes()).unwrap().as_object().unwrap()).unwrap();
            let asked = Asked { schema: None, key: None, ..Asked::default() };
            assert_eq!(text(&asked.of(&model).unwrap().output), r#"{"text":"hi"}"#);
        }
        for request in endpoint.requests() {
            assert_eq!(request.header("authorization").or(request.header("x-api-key")), None);
        }
    }
}

#[test]
fn a_streamed_reply_gives_what_a_whole_one_gives_however_it_is_split() {
    for voice in VOICES {
        let (whole, _) = asked(voice, "", vec![voice.whole(GOOD)]);
        let whole = whole.unwrap();
        for chunk_bytes in [1, 2, 3, 7, 64, 100_000] {
            let (answer, requests) =
                asked(voice, r#", "stream": true"#, vec![voice.streamed(GOOD, chunk_bytes)]);
            assert_eq!(answer.unwrap(), whole, "{voice:?} {chunk_bytes}");
            assert_eq!(requests.first().unwrap().body.get("stream"), Some(&true.into()));
        }
    }
}

#[test]
fn a_stream_that_breaks_off_is_asked_for_again_and_never_taken_for_whole() {
    for voice in VOICES {
        for end in [End::Proper, End::Cut] {
            let (answer, requests) =
                asked(voice, r#", "stream": true"#, vec![voice.cut(GOOD, end), voice.streamed(GOOD, 16)]);
            assert_eq!(answer.unwrap().meta.get("llm_calls"), Some(&Value::from(1)));
            assert_eq!(requests.len(), 2);
            let script = (0..3).map(|_| voice.cut(GOOD, end)).collect();
            let (class, message) = class(asked(voice, r#", "stream": true"#, script).0);
            assert_eq!(class, FailureClass::Unreachable, "{message}");
            assert!(message.ends_with("(3 times in a row)"), "{message}");
        }
    }
}

#[test]
fn errors_that_last_are_told_at_once() {
    for voice in VOICES {
        for stream in ["false", "true"] {
            let more = format!(r#", "stream": {stream}"#);
            let once = |reaction| {
                let (answer, requests) = asked(voice, &more, vec![reaction]);
                assert_eq!(requests.len(), 1);
                class(answer)
            };
            let (kind, message) = once(error("401 Unauthorized", &format!("bad key {KEY}")));
            assert_eq!(kind, FailureClass::Unauthorized);
            assert!(
                message.ends_with("/v1/: the endpoint answers 401 Unauthorized: bad key [key]"),
                "{message}"
            );
            assert!(message.starts_with("model `m-1` at http://127.0.0.1:"), "{message}");
            let (kind, message) = once(error("400 Bad Request", "unknown model"));
            assert_eq!(kind, FailureClass::RequestRefused);
            assert!(message.ends_with("400 Bad Request: unknown model"), "{message}");
            // A redirect would take the key elsewhere.
            let headers = vec![("location", "http://127.0.0.1:9/".to_owned())];
            let (kind, _) =
                once(Reaction::Reply { status: "307 Temporary Redirect", headers, body: String::new() });
            assert_eq!(kind, FailureClass::RequestRefused);
        }
    }
}

#[test]
fn no_endpoint_can_send_a_request_elsewhere() {
    for voice in VOICES {
        for status in
            ["301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"]
        {
            let elsewhere = Endpoint::with(vec![voice.whole(GOOD)]);
            let host = elsewhere.url().replace("http://", "//");
            for location in [elsewhere.url(), host, "/elsewhere".to_owned()] {
                let headers = vec![("location", location)];
                let redirect = Reaction::Reply { status, headers, body: String::new() };
                let (answer, requests) = asked(voice, "", vec![redirect, voice.whole(GOOD)]);
                assert_eq!((class(answer).0, requests.len()), (FailureClass::RequestRefused, 1));
            }
            assert!(elsewhere.requests().is_empty());
        }
    }
}

#[test]
fn a_whole_reply_can_come_in_chunks_that_cut_characters() {
    for voice in VOICES {
        let Reaction::Reply { body, .. } = voice.whole(GOOD) else { panic!("a whole reply is one") };
        for chunk_bytes in [1, 2, 3, 5, 1000] {
            let chunked = Reaction::Chunked { body: body.clone(), chunk_bytes };
            let (answer, _) = asked(voice, "", vec![chunked]);
            assert_eq!(text(&answer.unwrap().output), parse(GOOD.as_bytes()).unwrap().to_string());
        }
    }
}

#[test]
fn errors_that_may_pass_are_tried_again_a_few_times() {
    for voice in VOICES {
        for stream in ["false", "true"] {
            let more = format!(r#", "stream": {stream}"#);
            let good = || if stream == "true" { voice.streamed(GOOD, 50) } else { voice.whole(GOOD) };
            let script =
                vec![error("500 Internal Server Error", "oops"), error("529 Overloaded", "later"), good()];
            let (answer, requests) = asked(voice, &more, script);
            // What came of the weather on the line is not recorded.
            assert_eq!(answer.unwrap().meta.get("llm_calls"), Some(&Value::from(1)));
            assert_eq!(requests.len(), 3);
            let script = (0..3).map(|_| error("500 Internal Server Error", "oops")).collect();
            let (answer, requests) = asked(voice, &more, script);
            let (class, message) = class(answer);
            assert_eq!((class, requests.len()), (FailureClass::Unavailable, 3));
            assert!(message.ends_with("500 Internal Server Error: oops (3 times in a row)"), "{message}");
        }
    }
}

#[test]
fn a_busy_endpoint_gets_the_time_it_asks_for_up_to_the_longest_wait() {
    for voice in VOICES {
        let script = vec![busy("429 Too Many Requests", "retry-after-ms", "40"), voice.whole(GOOD)];
        let (answer, requests) = asked(voice, "", script);
        assert_eq!((answer.is_ok(), requests.len()), (true, 2));
        let script = vec![busy("429 Too Many Requests", "retry-after", "0"), voice.whole(GOOD)];
        let (answer, requests) = asked(voice, "", script);
        assert_eq!((answer.is_ok(), requests.len()), (true, 2));
        for stream in ["false", "true"] {
            let script = vec![busy("429 Too Many Requests", "retry-after", "3600")];
            let (answer, requests) = asked(voice, &format!(r#", "stream": {stream}"#), script);
            let (class, message) = class(answer);
            assert_eq!((class, requests.len()), (FailureClass::RateLimited, 1));
            assert!(message.ends_with("slow down; it asks to wait 3600s, allowed are 50ms"), "{message}");
        }
    }
}

#[test]
fn an_endpoint_that_cannot_be_reached_is_reported() {
    for voice in VOICES {
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        for stream in ["false", "true"] {
            let more = format!(r#", "stream": {stream}, "retries": {{"max": 1, "wait_seconds": 0}}"#);
            let (class, message) =
                class(Asked::default().of(&model(&format!("http://{closed}/v1/"), voice, &more)));
            assert_eq!(class, FailureClass::Unreachable);
            assert!(message.contains("no connection: Connection refused"), "{message}");
            assert!(message.ends_with("(2 times in a row)"), "{message}");
        }
    }
}

#[test]
fn a_hanging_endpoint_times_out() {
    for voice in VOICES {
        for stream in ["false", "true"] {
            let more = format!(r#", "stream": {stream}"#);
            let asked = Asked { timeout: Duration::from_millis(200), ..Asked::default() };
            let (answer, _) = asked_with(asked, voice, &more, vec![Reaction::Hang]);
            assert_eq!(answer, Err(AskError::TimedOut(Duration::from_millis(200))));
        }
    }
    // The time counts also while waiting to ask again.
    let endpoint = Endpoint::with(vec![error("503 Service Unavailable", "later")]);
    let model = model(&endpoint.url(), Voice::OpenAi, r#", "retries": {"wait_seconds": 20}"#);
    let asked = Asked { timeout: Duration::from_millis(150), ..Asked::default() };
    assert_eq!(asked.of(&model), Err(AskError::TimedOut(Duration::from_millis(150))));
}

#[test]
fn a_reply_that_cannot_be_used_is_repaired() {
    for voice in VOICES {
        for bad in [r#"{"verdict": 1}"#, "Sure, here you are!", "[]", "", "{\"verdict\": \"cut of"] {
            let (answer, requests) = asked(voice, "", vec![voice.whole(bad), voice.whole(GOOD)]);
            let answer = answer.unwrap();
            assert_eq!(text(&answer.output), parse(GOOD.as_bytes()).unwrap().to_string());
            let tokens = bad.len() + GOOD.len();
            assert_eq!(
                text(&answer.meta),
                format!(r#"{{"llm_calls":2,"tokens_in":20,"tokens_out":{tokens}}}"#)
            );
            // The model sees its reply and what is wrong with it.
            let again = requests.last().unwrap().body.to_string();
            assert!(again.contains("That reply cannot be used: it "), "{again}");
        }
        let (_, requests) = asked(voice, "", vec![voice.whole(r#"{"verdict": 1}"#), voice.whole(GOOD)]);
        assert!(requests.last().unwrap().body.to_string().contains("at /verdict: "));
    }
}

#[test]
fn a_model_that_never_learns_is_asked_a_bounded_number_of_times() {
    for voice in VOICES {
        let script = (0..5).map(|_| voice.whole("never JSON")).collect();
        let (answer, requests) = asked(voice, r#", "repairs": 3"#, script);
        let (class, message) = class(answer);
        assert_eq!((class, requests.len()), (FailureClass::ReplyInvalid, 4));
        assert!(
            message
                .contains("none of 4 replies can be used (40 tokens in, 40 out); of the last, it is no JSON")
        );
        let (answer, requests) = asked(voice, r#", "repairs": 0"#, vec![voice.whole("{}")]);
        assert!(answer.is_err());
        assert_eq!(requests.len(), 1);
    }
}

#[test]
fn replies_that_are_none_are_not_taken_for_some() {
    for voice in VOICES {
        let html = || Reaction::Reply {
            status: "200 OK",
            headers: vec![("content-type", "text/html".to_owned())],
            body: "<html>".to_owned(),
        };
        let broken = || json_reply("200 OK", r#"{"id": "#.to_owned());
        let other = || json_reply("200 OK", r#"{"hello": "world"}"#.to_owned());
        for make in [&html as &dyn Fn() -> Reaction, &broken, &other] {
            let (answer, requests) = asked(voice, r#", "repairs": 0"#, (0..3).map(|_| make()).collect());
            let (class, message) = class(answer);
            let gave_up = matches!(class, FailureClass::Unavailable | FailureClass::ReplyInvalid);
            assert!(gave_up && requests.len() <= 3, "{class:?} {message}");
        }
        // A stream of something else.
        let events = || Reaction::Stream { events: "data: {oh\n\n".into(), chunk_bytes: 4, end: End::Proper };
        let (answer, _) = asked(voice, r#", "stream": true"#, (0..3).map(|_| events()).collect());
        class(answer);
    }
}

#[test]
fn a_reply_at_the_limit_is_read_and_one_byte_more_is_not() {
    for voice in VOICES {
        let reply = r#"{"verdict":"ok"}"#;
        for stream in ["false", "true"] {
            let limited = |limit: usize| {
                let more = format!(r#", "stream": {stream}"#);
                let asked = Asked { reply_bytes_max: limit as u64, ..Asked::default() };
                let reaction = if stream == "true" { voice.streamed(reply, 100) } else { voice.whole(reply) };
                asked_with(asked, voice, &more, vec![reaction]).0
            };
            assert!(limited(reply.len()).is_ok());
            assert_eq!(class(limited(reply.len() - 1)).0, FailureClass::ReplyTooLarge);
        }
        // A whole reply without an end is left while it comes, and so is one that says beforehand how long it is.
        let piece = "x".repeat(4000);
        let announced = vec![("content-type", "application/json".to_owned())];
        let long = "y".repeat(2_000_000);
        for endless in [
            Reaction::Endless { piece: piece.clone(), bytes_max: 2_000_000_000 },
            Reaction::Reply { status: "200 OK", headers: announced, body: long },
        ] {
            let asked = Asked { reply_bytes_max: 100_000, ..Asked::default() };
            let (answer, requests) = asked_with(asked, voice, r#", "stream": false"#, vec![endless]);
            let (class, message) = class(answer);
            assert_eq!((class, requests.len()), (FailureClass::ReplyTooLarge, 1));
            assert!(message.ends_with("the reply has more than 100000 bytes"), "{message}");
        }
        // Of an error only the beginning is read.
        for stream in ["true", "false"] {
            let body = format!("no{}", "z".repeat(3_000_000));
            let refused = Reaction::Reply { status: "400 Bad Request", headers: Vec::new(), body };
            let more = format!(r#", "stream": {stream}"#);
            let (class, message) = class(asked(voice, &more, vec![refused]).0);
            assert_eq!(class, FailureClass::RequestRefused);
            assert!(message.len() < 2000 && message.contains("400 Bad Request: nozz"), "{message}");
        }
        // An event that never ends is left, too.
        let endless = Reaction::Endless { piece, bytes_max: 2_000_000_000 };
        let asked = Asked { reply_bytes_max: 100_000, ..Asked::default() };
        let (kind, _) = class(asked_with(asked, voice, r#", "stream": true"#, vec![endless]).0);
        assert_eq!(kind, FailureClass::ReplyTooLarge);
        // An endless stream is left as soon as the limit is passed.
        let piece = voice.piece(&"x".repeat(4000));
        let endless = Reaction::Endless { piece, bytes_max: 2_000_000_000 };
        let asked = Asked { reply_bytes_max: 100_000, ..Asked::default() };
        let (answer, requests) = asked_with(asked, voice, r#", "stream": true"#, vec![endless]);
        let (class, message) = class(answer);
        assert_eq!((class, requests.len()), (FailureClass::ReplyTooLarge, 1));
        assert!(message.ends_with("the reply has more than 100000 bytes"), "{message}");
    }
}

#[test]
fn a_reply_that_was_cut_or_declined_says_so_and_is_not_repaired() {
    for (voice, cut, declined) in
        [(Voice::OpenAi, "length", "content_filter"), (Voice::Anthropic, "max_tokens", "refusal")]
    {
        let (answer, requests) = asked(voice, "", vec![voice.ended(r#"{"verdict": "#, cut)]);
        let (kind, message) = class(answer);
        assert_eq!((kind, requests.len()), (FailureClass::ReplyCut, 1));
        assert!(message.ends_with("the reply was cut at 500 tokens, its `max_tokens`"), "{message}");
        let (kind, _) = class(asked(voice, "", vec![voice.ended("", declined)]).0);
        assert_eq!(kind, FailureClass::Declined);
    }
}

#[test]
fn costs_add_up_exactly_over_repairs() {
    for voice in VOICES {
        let more = r#", "price": {"currency": "USD", "input": "0.15", "output": "0.60"}"#;
        let reply = r#"{"verdict":"ok"}"#;
        let (answer, _) = asked(voice, more, vec![voice.whole("no"), voice.whole(reply)]);
        // (20 × 0.15 + 18 × 0.60) / 1 000 000
        let cost = answer.unwrap().meta.get("cost").unwrap().to_string();
        assert_eq!(cost, r#"{"amount":"0.0000138","currency":"USD"}"#);
    }
}

#[test]
fn no_key_reaches_an_answer_or_an_error() {
    for voice in VOICES {
        let (kind, message) =
            class(asked(voice, "", vec![voice.whole(&format!(r#"{{"verdict": "{KEY}"}}"#))]).0);
        assert_eq!(kind, FailureClass::ReplyInvalid);
        assert!(message.ends_with("the reply shows the key it was asked with"), "{message}");
    }
}

#[test]
fn a_prompt_that_lacks_a_value_is_not_sent() {
    let endpoint = Endpoint::with(vec![Reaction::Hang]);
    let model = model(&endpoint.url(), Voice::OpenAi, "");
    let (kind, message) = class(Asked { input: r#"{"kind": "mails"}"#, ..Asked::default() }.of(&model));
    assert_eq!(kind, FailureClass::InvalidInput);
    assert_eq!(message, "the prompt names `text`, which the input does not have");
    assert!(endpoint.requests().is_empty());
}

/// Asks and returns also what was exchanged.
fn recorded(
    asked: Asked,
    voice: Voice,
    more: &str,
    script: Vec<Reaction>,
) -> (Result<Answer, AskError>, Value) {
    let endpoint = Endpoint::with(script);
    let patience = r#", "retries": {"max": 1, "wait_seconds": 0.002, "wait_seconds_max": 0.05}"#;
    let delivery = if more.contains("stream") { "" } else { r#", "stream": false"# };
    let model = model(&endpoint.url(), voice, &format!("{patience}{delivery}{more}"));
    let schema = asked.schema.map(|schema| parse(schema.as_bytes()).unwrap());
    let (answer, exchange) = model.ask_recorded(&Question {
        input: &parse(asked.input.as_bytes()).unwrap(),
        schema: schema.as_ref(),
        key: asked.key,
        timeout: asked.timeout,
        reply_bytes_max: asked.reply_bytes_max,
    });
    (answer, exchange.unwrap())
}

fn requests(exchange: &Value) -> &[Value] {
    exchange.get("requests").and_then(Value::as_array).unwrap()
}

fn word<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_else(|| panic!("no {key} in {value}"))
}

#[test]
fn an_exchange_has_the_prompt_the_parameters_and_every_reply_with_its_fate() {
    for voice in VOICES {
        let script = vec![voice.whole("nonsense"), voice.whole(GOOD)];
        let (answer, exchange) = recorded(Asked::default(), voice, "", script);
        assert!(answer.is_ok());
        assert_eq!(word(&exchange, "system").lines().next(), Some("You judge mails."));
        let message = exchange.get("messages").and_then(|all| all.at(0)).unwrap();
        assert_eq!((word(message, "role"), word(message, "content")), ("user", "Judge: Hello"));
        let parameters = exchange.get("parameters").unwrap();
        assert_eq!(word(parameters, "model"), "m-1");
        assert!(parameters.get("messages").is_none() && parameters.get("temperature").is_some());
        let [rejected, used] = requests(&exchange) else { panic!("{exchange}") };
        assert_eq!((word(rejected, "outcome"), word(rejected, "text")), ("rejected", "nonsense"));
        assert!(word(rejected, "reason").starts_with("it is no JSON"));
        assert!(word(rejected, "asked_again").contains("cannot be used"));
        assert_eq!((word(used, "outcome"), word(used, "text")), ("used", GOOD));
        assert!(used.get("asked_again").is_none());
        assert!(!exchange.to_string().contains(KEY), "the key is in a header, not in the exchange");
    }
}

#[test]
fn what_arrived_of_a_broken_reply_is_part_of_the_exchange() {
    for voice in VOICES {
        let cut = || voice.cut("half a rep", End::Cut);
        let (answer, exchange) = recorded(Asked::default(), voice, r#", "stream": true"#, vec![cut(), cut()]);
        assert!(answer.is_err());
        for request in requests(&exchange) {
            assert_eq!(
                (word(request, "outcome"), word(request, "text")),
                ("failed", "half a rep"),
                "{exchange}"
            );
        }
        // A body that is not JSON is kept as it came, and bytes that are no text do no harm.
        let odd = || json_reply("200 OK", "{not json \u{fffd}".to_owned());
        let (answer, exchange) = recorded(Asked::default(), voice, "", vec![odd(), odd()]);
        assert!(answer.is_err());
        assert!(
            requests(&exchange).iter().all(|request| word(request, "text").starts_with("{not json")),
            "{exchange}"
        );
        // What a model refuses to say, or does not end, is there with the reason.
        let (answer, exchange) =
            recorded(Asked::default(), voice, "", vec![voice.ended("so far", "max_tokens")]);
        assert!(answer.is_err());
        let [request] = requests(&exchange) else { panic!("{exchange}") };
        assert_eq!((word(request, "text"), word(request, "finish_reason")), ("so far", "max_tokens"));
    }
}

#[test]
fn a_question_that_times_out_leaves_what_was_sent() {
    let asked = Asked { timeout: Duration::from_millis(300), ..Asked::default() };
    let (answer, exchange) = recorded(asked, Voice::OpenAi, "", vec![Reaction::Hang]);
    assert!(matches!(answer, Err(AskError::TimedOut(_))));
    let [request] = requests(&exchange) else { panic!("{exchange}") };
    assert_eq!(word(request, "outcome"), "no_reply");
}

#[test]
fn a_reply_that_is_too_large_leaves_no_more_than_is_allowed() {
    let huge = "x".repeat(10_000_000);
    for stream in ["true", "false"] {
        let reply =
            if stream == "true" { Voice::OpenAi.streamed(&huge, 65_536) } else { Voice::OpenAi.whole(&huge) };
        let asked = Asked { reply_bytes_max: 100_000, schema: None, ..Asked::default() };
        let (answer, exchange) =
            recorded(asked, Voice::OpenAi, &format!(r#", "stream": {stream}"#), vec![reply]);
        assert!(matches!(answer, Err(AskError::Failed { class: FailureClass::ReplyTooLarge, .. })));
        assert!(exchange.to_string().len() < 300_000, "{}", exchange.to_string().len());
    }
}
