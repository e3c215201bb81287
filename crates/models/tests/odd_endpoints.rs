//! Endpoints that answer in another form than their API says: other content types, streams without their last event, and
//! replies that do not say how many tokens they have.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hence_canon::parse;
use hence_models::{
    AskError, Chat, ChatModel, ChatReply, FailureClass, Model, ModelRef, NOT_REPORTED, Speaker,
};
use hence_testkit::endpoint::{End, Reaction};
use hence_testkit::model_server::{ModelServer, Said};
use hence_testkit::providers::{VOICES, Voice};

/// Asks a model that reacts so, and returns what came of it and the number of requests.
fn asked(
    voice: Voice,
    delivery: &str,
    reaction: impl Fn() -> Reaction + Send + Sync + 'static,
) -> (Result<ChatReply, AskError>, usize) {
    let server = ModelServer::answering(move |_| Said::Reaction(reaction()));
    let name: ModelRef = server.model(voice, "m").parse().unwrap();
    let more = format!(
        r#"{{"prompt": "-", "stream": {delivery}, "retries": {{"max": 3, "wait_seconds": 0.001}},
            "price": {{"currency": "USD", "input": "1", "output": "2"}}}}"#
    );
    let more = parse(more.as_bytes()).unwrap();
    let mut settings = name.settings();
    for (key, value) in more.as_object().unwrap().iter() {
        settings = settings.with(key.clone(), value.clone());
    }
    let chat = ChatModel::new(Model::read(&settings).unwrap()).unwrap();
    let reply = chat.reply(&question(None));
    (reply, server.count())
}

fn question<'a>(is_over: Option<&'a (dyn Fn() -> bool + Sync)>) -> Chat<'a> {
    Chat {
        system: None,
        messages: &[],
        key: None,
        idempotency_key: None,
        timeout: Duration::from_secs(20),
        reply_bytes_max: 100_000,
        is_over,
    }
}

fn body_of(reaction: Reaction) -> String {
    match reaction {
        Reaction::Reply { body, .. } => body,
        Reaction::Stream { events, .. } => events,
        _ => panic!("no body"),
    }
}

fn typed(content_type: Option<&str>, body: String) -> Reaction {
    let headers = content_type.map(|kind| ("content-type", kind.to_owned()));
    Reaction::Reply { status: "200 OK", headers: headers.into_iter().collect(), body }
}

#[test]
fn a_body_of_another_type_is_named_and_asked_for_once() {
    for voice in VOICES {
        for delivery in ["true", "false"] {
            for kind in ["text/html; charset=utf-8", "text/plain"] {
                let (reply, requests) =
                    asked(voice, delivery, move || typed(Some(kind), "<html>Welcome</html>".to_owned()));
                let Err(AskError::Failed { class, message }) = reply else { panic!("{reply:?}") };
                assert_eq!((class, requests), (FailureClass::Unavailable, 1), "{message}");
                assert!(message.contains(kind) && message.contains("Welcome"), "{message}");
            }
        }
    }
}

#[test]
fn a_reply_in_plain_text_or_of_no_type_is_read() {
    for voice in VOICES {
        for delivery in ["true", "false"] {
            for kind in [Some("text/plain; charset=utf-8"), None] {
                let (reply, requests) =
                    asked(voice, delivery, move || typed(kind, body_of(voice.whole("hello"))));
                assert_eq!((reply.unwrap().text.as_str(), requests), ("hello", 1));
            }
        }
        let (reply, requests) =
            asked(voice, "true", move || typed(Some("text/plain"), body_of(voice.streamed("hello", 64))));
        assert_eq!((reply.unwrap().text.as_str(), requests), ("hello", 1));
    }
}

#[test]
fn a_stream_that_says_why_it_ended_is_whole_without_its_last_event() {
    for voice in VOICES {
        let last = match voice {
            Voice::OpenAi => "data: [DONE]",
            Voice::Anthropic => "event: message_stop",
        };
        for end in [End::Proper, End::Cut] {
            let (reply, requests) = asked(voice, "true", move || {
                let events = body_of(voice.streamed("hello", 64));
                let events = events.split(last).next().unwrap().to_owned();
                Reaction::Stream { events, chunk_bytes: 64, end }
            });
            let reply = reply.unwrap();
            assert_eq!((reply.text.as_str(), requests), ("hello", 1));
            assert_eq!(reply.meta.get("tokens_out").and_then(|count| count.as_u64()), Some(5));
        }
        // Without a reason it broke off, and is asked for again.
        let (reply, requests) = asked(voice, "true", move || voice.cut("hello", End::Proper));
        assert!(reply.is_err() && requests == 4, "{reply:?}");
    }
}

#[test]
fn a_usage_that_is_no_count_is_not_reported_and_does_not_cost_nothing() {
    let names = |voice| match voice {
        Voice::OpenAi => ("prompt_tokens", "completion_tokens"),
        Voice::Anthropic => ("input_tokens", "output_tokens"),
    };
    for voice in VOICES {
        let (sent, received) = names(voice);
        let usages = [
            "null".to_owned(),
            "{}".to_owned(),
            "\"many\"".to_owned(),
            format!(r#"{{"{sent}": -1, "{received}": 5}}"#),
            format!(r#"{{"{sent}": 10, "{received}": 1.5}}"#),
            format!(r#"{{"{sent}": "10", "{received}": 5}}"#),
            format!(r#"{{"{sent}": 10}}"#),
        ];
        for usage in usages {
            let stated = usage.clone();
            let (reply, _) = asked(voice, "false", move || {
                let mut body: serde_json::Value =
                    serde_json::from_str(&body_of(voice.whole("hello"))).unwrap();
                *body.get_mut("usage").unwrap() = serde_json::from_str(&stated).unwrap();
                typed(Some("application/json"), body.to_string())
            });
            let meta = reply.unwrap().meta;
            assert_eq!(meta.get("tokens").and_then(|said| said.as_str()), Some(NOT_REPORTED), "{usage}");
            assert!(!meta.contains_key("cost") && !meta.contains_key("tokens_in"), "{usage}");
        }
        // The events of a stream without a usage.
        let (reply, _) = asked(voice, "true", move || {
            let events = body_of(voice.streamed("hello", 64)).replace("\"usage\"", "\"unused\"");
            Reaction::Stream { events, chunk_bytes: 64, end: End::Proper }
        });
        assert_eq!(reply.unwrap().meta.get("tokens").and_then(|said| said.as_str()), Some(NOT_REPORTED));
    }
}

#[test]
fn a_call_ends_when_nobody_waits_for_it_any_more() {
    let server = ModelServer::with(vec![Said::Nothing]);
    let name: ModelRef = server.model(Voice::OpenAi, "m").parse().unwrap();
    let settings = name.settings().with("prompt", "-");
    let chat = ChatModel::new(Model::read(&settings).unwrap()).unwrap();
    let asked = AtomicUsize::new(0);
    let is_over = || asked.fetch_add(1, Ordering::SeqCst) >= 2;
    let messages = [(Speaker::User, "q".into())];
    let question = Chat { messages: &messages, ..question(Some(&is_over)) };
    assert!(matches!(chat.reply(&question), Err(AskError::TimedOut(_))));
    assert_eq!(asked.load(Ordering::SeqCst), 3);
}
