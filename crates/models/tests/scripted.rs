//! The scripted model server: the real client meets every reaction of it, in both API shapes.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::time::Duration;

use hence_canon::parse;
use hence_models::{Answer, AskError, FailureClass, Model, ModelRef, Question};
use hence_testkit::model_server::{ModelServer, Said};
use hence_testkit::providers::VOICES;

fn model(name: &str, more: &str) -> Model {
    let name: ModelRef = name.parse().unwrap();
    let more =
        format!(r#"{{"prompt": "Double {{{{n}}}}.", "retries": {{"max": 1, "wait_seconds": 0.001}}{more}}}"#);
    let more = parse(more.as_bytes()).unwrap();
    let mut settings = name.settings();
    for (key, value) in more.as_object().unwrap().iter() {
        settings = settings.with(key.clone(), value.clone());
    }
    Model::read(&settings).unwrap()
}

fn ask(model: &Model, number: u64) -> Result<Answer, AskError> {
    model.ask(&Question {
        input: &parse(format!(r#"{{"n": {number}}}"#).as_bytes()).unwrap(),
        schema: None,
        key: None,
        timeout: Duration::from_secs(20),
        reply_bytes_max: 100_000,
    })
}

#[test]
fn requests_at_the_same_time_get_the_answers_to_what_they_ask() {
    for voice in VOICES {
        for more in [r#", "stream": true"#, r#", "stream": false"#] {
            let server = ModelServer::answering(|asked| {
                let number: u64 = asked.last().trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap();
                Said::Text((number * 2).to_string())
            });
            let model = Arc::new(model(&server.model(voice, "m-2"), more));
            let threads: Vec<_> = (0..8u64)
                .map(|number| {
                    let model = model.clone();
                    std::thread::spawn(move || (number, ask(&model, number).unwrap()))
                })
                .collect();
            for thread in threads {
                let (number, answer) = thread.join().unwrap();
                assert_eq!(answer.output.get("text").unwrap().as_str(), Some(&*(number * 2).to_string()));
            }
            assert_eq!((server.count(), server.asked().len()), (8, 8));
            let asked = server.asked();
            assert!(asked.iter().all(|asked| asked.voice == voice && asked.model == "m-2"));
            assert!(asked.iter().all(|asked| asked.is_streamed == more.contains("true")));
        }
    }
}

#[test]
fn every_reaction_reaches_the_client_as_what_it_is() {
    for voice in VOICES {
        let said = |script: Vec<Said>| {
            let server = ModelServer::with(script);
            let answer = ask(&model(&server.model(voice, "m"), ""), 1);
            (answer, server.count())
        };
        let text = |answer: Result<Answer, AskError>| match answer {
            Ok(answer) => answer.output.get("text").unwrap().as_str().unwrap().to_owned(),
            Err(AskError::Failed { class, .. }) => class.name().to_owned(),
            Err(other) => panic!("{other}"),
        };
        let (answer, count) = said(vec![Said::RateLimited("0"), Said::Text("later".to_owned())]);
        assert_eq!((&*text(answer), count), ("later", 2));
        let (answer, count) = said(vec![Said::Slow(Duration::from_millis(5), "slow".to_owned())]);
        assert_eq!((&*text(answer), count), ("slow", 1));
        let (answer, count) = said(vec![Said::Cut("half".to_owned()), Said::Text("whole".to_owned())]);
        assert_eq!((&*text(answer), count), ("whole", 2));
        let (answer, count) = said(vec![Said::Malformed("<html>".to_owned()), Said::Text("json".to_owned())]);
        assert_eq!((&*text(answer), count), ("json", 2));
        let (answer, count) = said(vec![Said::Error("401 Unauthorized", "no".to_owned())]);
        assert_eq!((text(answer), count), (FailureClass::Unauthorized.name().to_owned(), 1));
        // The script has one answer, and the client asks twice.
        let (answer, count) = said(vec![Said::Error("503 Service Unavailable", "busy".to_owned())]);
        assert_eq!((text(answer), count), (FailureClass::Unavailable.name().to_owned(), 2));
    }
}

#[test]
fn a_server_that_says_nothing_ends_with_the_test() {
    let server = ModelServer::with(vec![Said::Nothing]);
    let question = Question {
        input: &parse(br#"{"n": 1}"#).unwrap(),
        schema: None,
        key: None,
        timeout: Duration::from_millis(50),
        reply_bytes_max: 1000,
    };
    let answer = model(&server.model(VOICES[0], "m"), "").ask(&question);
    assert!(matches!(answer, Err(AskError::TimedOut(_))));
}
