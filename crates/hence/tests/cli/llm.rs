//! Skills with steps that ask a language model.

use serde_json::Value;

use hence_testkit::cli::World;
use hence_testkit::endpoint::{Endpoint, Reaction};
use hence_testkit::providers::{VOICES, Voice, error};

const SKILL: &str = "id: mail.sort\nversion: 1.0.0\nname: Sort mail\ndescription: Sort a mail by what it is about\n\
    inputs:\n  mail: {type: string, required: true}\noutputs:\n  topic: {type: string, required: true}\n  \
    line: {type: string, required: true}\nsteps:\n  - id: judge\n    uses: mail.judge\n    \
    input: {mail: inputs.mail}\n    output: {topic: outputs.topic}\n  - id: line\n    uses: text.template\n    \
    input: {template: 'About {{topic}}', values: {topic: outputs.topic}}\n    output: {text: outputs.line}\n    \
    config: {depends_on: [judge]}\n";

const RUN: [&str; 10] = [
    "run",
    "skill.yaml",
    "--capabilities",
    "models.yaml",
    "--input",
    "mail=Please pay",
    "--run-id",
    "sorted",
    "--now",
    "2026-02-02T00:00:00Z",
];

fn world(voice: Voice, url: &str, more: &str) -> World {
    let world = World::new();
    world.write("skill.yaml", SKILL);
    let api = voice.api();
    world.write(
        "models.yaml",
        format!(
            "capabilities:\n  mail.judge:\n    description: Judge a mail\n    effects: reads\n    \
             output: {{type: object, required: [topic], properties: {{topic: {{enum: [money, other]}}}}}}\n    \
             provider:\n      kind: llm\n      api: {api}\n      model: m-1\n      endpoint: {url}\n      {more}\n      \
             retries: {{max: 1, wait_seconds: 0.01}}\n      price: {{currency: EUR, input: 1, output: 2}}\n      \
             prompt: 'What is this about? {{{{mail}}}}'\n"
        ),
    );
    world
}

fn json(world: &World, arguments: &[&str]) -> Value {
    let answer = world.ask(&[arguments, &["--json"]].concat());
    serde_json::from_slice(&answer.stdout).unwrap_or_else(|_| panic!("{}", answer.stderr))
}

const GOOD: &str = r#"{"topic": "money"}"#;

#[test]
fn a_step_calls_a_model_and_records_tokens_and_cost() {
    for voice in VOICES {
        let mut journals = Vec::new();
        for stream in ["stream: false", "stream: true"] {
            let good = if stream.ends_with("true") { voice.streamed(GOOD, 9) } else { voice.whole(GOOD) };
            let bad = if stream.ends_with("true") { voice.streamed("?", 9) } else { voice.whole("?") };
            let endpoint = Endpoint::with(vec![error("503 Service Unavailable", "later"), bad, good]);
            let world = world(voice, &endpoint.url(), stream);
            let report = json(&world, &RUN);
            assert_eq!(report["outputs"]["line"], "About money", "{report}");
            drop(endpoint);
            let state = json(&world, &["state", "sorted", "/trace/metrics", "--cognition"]);
            assert_eq!(
                (&state["llm_calls"], &state["tokens_in"], &state["tokens_out"]),
                (&2.into(), &20.into(), &19.into()),
                "{state}"
            );
            let shown = json(&world, &["show", "sorted", "judge"]).to_string();
            assert!(shown.contains(r#""cost":{"amount":"0.000058","currency":"EUR"}"#), "{shown}");
            // The endpoint is closed: a replay calls nothing and reproduces every byte.
            let replay = json(&world, &["replay", "sorted"]);
            assert_eq!(replay["equal"], true, "{replay}");
            assert_eq!(world.ask(&["verify", "sorted"]).code, 0);
            // A run cut after the model's reply resumes without the model.
            let whole = world.journal("sorted");
            let ends: Vec<usize> =
                (0..whole.len()).filter(|at| whole[*at] == b'\n').map(|at| at + 1).collect();
            world.set_journal("sorted", &whole[..ends[1]]);
            assert_eq!(world.ask(&["resume", "sorted"]).code, 0, "{}", world.cli(&["resume", "sorted"]));
            assert_eq!(world.journal("sorted"), whole);
            journals.push(json(&world, &["state", "sorted", "/artifacts"]).to_string());
        }
        assert_eq!(journals[0], journals[1], "how a reply is delivered shows nowhere");
    }
}

#[test]
fn no_proxy_is_used_to_reach_this_machine() {
    let proxy = Endpoint::with(vec![Voice::OpenAi.whole(GOOD)]);
    let endpoint = Endpoint::with(vec![Voice::OpenAi.whole(GOOD)]);
    let mut world = world(Voice::OpenAi, &endpoint.url(), "stream: false");
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
        world = world.env(name, &proxy.url());
    }
    assert_eq!(world.ask(&RUN).code, 0);
    assert_eq!((proxy.requests().len(), endpoint.requests().len()), (0, 1));
}

#[test]
fn a_model_that_cannot_be_used_fails_its_step_with_a_class() {
    let never = || Voice::OpenAi.whole("never JSON");
    for (script, class) in [
        (vec![error("401 Unauthorized", "who are you?")], "ModelUnauthorized"),
        (vec![never(), never(), never()], "ModelReplyInvalid"),
        (vec![Reaction::Hang], "no reply within"),
    ] {
        let endpoint = Endpoint::with(script);
        let world = world(Voice::OpenAi, &endpoint.url(), "stream: false");
        let models = String::from_utf8(world.read("models.yaml")).unwrap();
        world
            .write("models.yaml", models.replace("effects: reads", "effects: reads\n    timeout_seconds: 1"));
        let answer = world.ask(&RUN);
        assert_eq!(answer.code, 1, "{}", answer.stderr);
        let journal = String::from_utf8(world.journal("sorted")).unwrap();
        assert!(journal.contains(class), "{class}: {journal}");
        assert_eq!(json(&world, &["replay", "sorted"])["equal"], true);
    }
}

#[test]
fn a_run_with_a_failing_model_continues_as_a_fork_without_repeating_effects() {
    let never = || Voice::OpenAi.whole("never JSON");
    let endpoint = Endpoint::with(vec![never(), never(), never(), Voice::OpenAi.whole(GOOD)]);
    let world = world(Voice::OpenAi, &endpoint.url(), "stream: false");
    assert_eq!(world.ask(&RUN).code, 1);
    let why = world.ask(&["why", "sorted"]);
    let said = String::from_utf8(why.stdout).unwrap();
    assert!(said.contains("none of 3 replies can be used"), "{said}");
    assert!(said.contains("hence fork sorted --from judge"), "{said}");
    // Resuming calls nothing: the end is recorded.
    assert_eq!((world.ask(&["resume", "sorted"]).code, endpoint.requests().len()), (1, 3));
    let report = json(&world, &["fork", "sorted", "--from", "judge", "--run-id", "again"]);
    assert_eq!(report["status"], "completed", "{report}");
    assert_eq!(endpoint.requests().len(), 4);
    assert_eq!(json(&world, &["replay", "again"])["equal"], true);
}

#[test]
fn no_key_of_a_model_reaches_a_record_or_a_message() {
    const KEY: &str = "sk-test-0123456789";
    let says = |voice: Voice| voice.whole(&format!(r#"{{"topic": "money", "key": "{KEY}"}}"#));
    for script in [
        vec![error("401 Unauthorized", &format!("{KEY} is not known"))],
        vec![says(Voice::OpenAi)],
        vec![Voice::OpenAi.whole(GOOD)],
    ] {
        let endpoint = Endpoint::with(script);
        let world = world(Voice::OpenAi, &endpoint.url(), "key: {$secret: MODEL_KEY}\n      stream: false");
        let models = String::from_utf8(world.read("models.yaml")).unwrap();
        world.write("models.yaml", format!("{models}secrets:\n  MODEL_KEY: {{environment: MODEL_KEY}}\n"));
        let refused = world.ask(&RUN);
        assert!(refused.stderr.contains("MODEL_KEY"), "{}", refused.stderr);
        let output = world.command(&RUN).env("MODEL_KEY", KEY).output().unwrap();
        let (out, err) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        let request = endpoint.requests().pop().unwrap_or_else(|| panic!("{out}{err}"));
        assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
        assert!(!out.contains(KEY) && !err.contains(KEY), "{out}{err}");
        let mut looked_at = 0;
        let mut folders = vec![world.path(".hence")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                looked_at += 1;
                let bytes = std::fs::read(&path).unwrap();
                assert!(
                    !bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes()),
                    "{}",
                    path.display()
                );
            }
        }
        assert!(looked_at >= 4);
        // A replay needs no key.
        assert_eq!(json(&world, &["replay", "sorted"])["equal"], true);
    }
}
