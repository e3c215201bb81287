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
            // Everything but what was exchanged: that names the address and says whether the reply was streamed.
            let mut artifacts = json(&world, &["state", "sorted", "/artifacts"]);
            for artifact in artifacts.as_object_mut().unwrap().values_mut() {
                artifact
                    .as_object_mut()
                    .unwrap()
                    .get_mut("meta")
                    .map(|meta| meta.as_object_mut().unwrap().remove("exchanges"));
            }
            journals.push(artifacts.to_string());
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

/// Returns the exchanges that `show` prints.
fn exchanges(world: &World, run: &str, step: &str) -> Vec<Value> {
    json(world, &["show", run, step])["exchanges"].as_array().unwrap().clone()
}

fn blob(world: &World, exchange: &Value) -> std::path::PathBuf {
    let sha256 = exchange["sha256"].as_str().unwrap();
    let mut open = vec![world.path(".hence/blobs")];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.to_string_lossy().replace('/', "").ends_with(sha256) {
            return path;
        }
    }
    panic!("no blob {sha256}");
}

#[test]
fn what_was_sent_and_received_is_on_record_and_shown() {
    for voice in VOICES {
        let endpoint = Endpoint::with(vec![
            error("503 Service Unavailable", "later"),
            voice.whole("never JSON"),
            voice.whole(r#"{"topic": "cats"}"#),
            voice.whole(GOOD),
        ]);
        let world =
            world(voice, &endpoint.url(), "stream: false\n      temperature: 0.5\n      system: 'You sort.'");
        assert_eq!(json(&world, &RUN)["status"], "completed");
        let [call] = &*exchanges(&world, "sorted", "judge") else { panic!("one call was made") };
        assert_eq!(call["call"]["capability"], "mail.judge");
        let exchange = &call["exchange"];
        assert_eq!(
            (&exchange["api"], &exchange["parameters"]["model"]),
            (&voice.api().into(), &"m-1".into())
        );
        assert_eq!(exchange["parameters"]["temperature"], 0.5);
        assert!(exchange["parameters"]["max_tokens"].is_u64(), "{exchange}");
        assert!(exchange["parameters"].to_string().contains("json_schema"), "{exchange}");
        assert_eq!(exchange["messages"][0]["content"], "What is this about? Please pay");
        assert!(exchange.to_string().contains("You sort."), "{exchange}");
        let outcomes: Vec<&str> = exchange["requests"]
            .as_array()
            .unwrap()
            .iter()
            .map(|sent| sent["outcome"].as_str().unwrap())
            .collect();
        assert_eq!(outcomes, ["failed", "rejected", "rejected", "used"], "{exchange}");
        let requests = &exchange["requests"];
        assert!(requests[0]["reason"].as_str().unwrap().contains("503"), "{requests}");
        assert_eq!(requests[1]["text"], "never JSON");
        assert!(requests[1]["reason"].as_str().unwrap().starts_with("it is no JSON"), "{requests}");
        assert!(requests[2]["reason"].as_str().unwrap().contains("/topic"), "{requests}");
        assert!(requests[2]["asked_again"].as_str().unwrap().contains("/topic"), "{requests}");
        assert_eq!(requests[3]["text"], GOOD);
        assert!(requests[3]["finish_reason"].is_string(), "{requests}");
        let text = world.cli(&["show", "sorted", "judge"]);
        for part in ["What is this about? Please pay", "request 3  rejected", "request 4  used", "never JSON"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        // The trace names what a reviewer can look at.
        assert_eq!(world.ask(&["trace", "export", "sorted", "--out", "t.json"]).code, 0);
        let trace = String::from_utf8(world.read("t.json")).unwrap();
        assert!(trace.contains(&format!("sha256:{}", call["sha256"].as_str().unwrap())), "{trace}");
        assert_eq!(world.ask(&["verify", "sorted"]).code, 0);
        // It travels with the run.
        assert_eq!(world.ask(&["export", "sorted", "bundle"]).code, 0);
        assert_eq!(world.ask(&["import", "bundle", "--store", "other"]).code, 0);
        assert_eq!(world.ask(&["verify", "sorted", "--store", "other"]).code, 0);
        let imported = json(&world, &["show", "sorted", "judge", "--store", "other"]);
        assert_eq!(imported["exchanges"][0]["exchange"], *exchange);
    }
}

#[test]
fn an_exchange_that_is_missing_or_altered_is_named() {
    let endpoint = Endpoint::with(vec![Voice::OpenAi.whole(GOOD)]);
    let world = world(Voice::OpenAi, &endpoint.url(), "stream: false");
    assert_eq!(world.ask(&RUN).code, 0);
    let exchange = exchanges(&world, "sorted", "judge").remove(0);
    let (file, sha256) = (blob(&world, &exchange), exchange["sha256"].as_str().unwrap().to_owned());
    let whole = std::fs::read(&file).unwrap();
    let forged = String::from_utf8(whole.clone()).unwrap().replace("Please pay", "Please wait");
    for content in [Some(forged.into_bytes()), None] {
        std::fs::remove_file(&file).unwrap();
        if let Some(content) = &content {
            std::fs::write(&file, content).unwrap();
        }
        let verified = world.ask(&["verify", "sorted"]);
        assert_ne!(verified.code, 0);
        let said = String::from_utf8(verified.stdout).unwrap() + &verified.stderr;
        assert!(said.contains(&sha256[..12]), "{said}");
        let shown = world.cli(&["show", "sorted", "judge"]);
        assert!(shown.contains("model call of mail.judge: not available: blob"), "{shown}");
        assert_ne!(world.ask(&["show", "sorted", "judge"]).code, 0);
        if content.is_none() {
            std::fs::write(&file, &whole).unwrap();
        }
    }
    assert_eq!(world.ask(&["verify", "sorted"]).code, 0);
}

#[test]
fn calls_without_a_usable_reply_keep_what_was_sent_and_received() {
    let never = || Voice::OpenAi.whole("never JSON");
    for (script, outcomes) in [
        (vec![error("401 Unauthorized", "who are you?")], vec!["failed"]),
        (vec![never(), never(), never()], vec!["rejected", "rejected", "rejected"]),
        (vec![never(), Reaction::Hang], vec!["rejected", "no_reply"]),
    ] {
        let endpoint = Endpoint::with(script);
        let world = world(Voice::OpenAi, &endpoint.url(), "stream: false");
        let models = String::from_utf8(world.read("models.yaml")).unwrap();
        world
            .write("models.yaml", models.replace("effects: reads", "effects: reads\n    timeout_seconds: 1"));
        assert_eq!(world.ask(&RUN).code, 1);
        let [call] = &*exchanges(&world, "sorted", "judge") else { panic!("one call was made") };
        let exchange = &call["exchange"];
        assert_eq!(exchange["messages"][0]["content"], "What is this about? Please pay");
        let found: Vec<&str> = exchange["requests"]
            .as_array()
            .unwrap()
            .iter()
            .map(|sent| sent["outcome"].as_str().unwrap())
            .collect();
        assert_eq!(found, outcomes, "{exchange}");
        assert_eq!(world.ask(&["verify", "sorted"]).code, 0);
        assert_eq!(json(&world, &["replay", "sorted"])["equal"], true);
    }
}

#[test]
fn every_item_of_a_loop_and_every_attempt_has_its_exchange() {
    let endpoint =
        Endpoint::with(vec![Voice::OpenAi.whole("no"), Voice::OpenAi.whole(GOOD), Voice::OpenAi.whole(GOOD)]);
    let world = world(Voice::OpenAi, &endpoint.url(), "stream: false\n      repairs: 0");
    world.write(
        "skill.yaml",
        "id: s\nversion: 1.0.0\nname: N\ndescription: D\ninputs: {mail: {type: string}}\noutputs: {}\nsteps:\n  \
         - {id: each, uses: mail.judge, output: {topic: vars.topics}, config: {foreach: {items: \"['a', 'b']\", as: mail}, \
         retry: {max_attempts: 2, backoff_seconds: 0, on: [ModelReplyInvalid]}}}\n",
    );
    assert_eq!(json(&world, &RUN)["status"], "completed");
    let calls = exchanges(&world, "sorted", "each");
    let found: Vec<(u64, u64, &str)> = calls
        .iter()
        .map(|call| {
            let about = &call["call"];
            let prompt = call["exchange"]["messages"][0]["content"].as_str().unwrap();
            (about["item"].as_u64().unwrap(), about["attempt"].as_u64().unwrap(), prompt)
        })
        .collect();
    assert_eq!(
        found,
        [(0, 1, "What is this about? a"), (0, 2, "What is this about? a"), (1, 1, "What is this about? b")]
    );
    assert_eq!(world.ask(&["verify", "sorted"]).code, 0);
    assert_eq!(world.ask(&["doctor"]).code, 0, "{}", world.cli(&["doctor"]));
}

#[test]
fn no_secret_of_a_prompt_or_a_reply_reaches_the_store() {
    let secret = "tr0ub4dor-and-3-horses";
    let leaked = format!("I was told {secret}");
    let endpoint = Endpoint::with(vec![Voice::OpenAi.whole(&leaked), Voice::OpenAi.whole(GOOD)]);
    let world = world(Voice::OpenAi, &endpoint.url(), "stream: false\n      key: {$secret: KEY}")
        .env("MODEL_KEY", secret);
    let models = String::from_utf8(world.read("models.yaml")).unwrap();
    let models = models.replace("prompt: 'What", "system: 'Never say {{mail}}.'\n      prompt: 'What");
    let given = models.replace("effects: reads", "effects: reads\n    secrets: [inputs.mail]");
    world.write("models.yaml", given + "secrets:\n  KEY: {environment: MODEL_KEY}\n");
    let skill = SKILL.replace(
        "mail: {type: string, required: true}",
        "mail: {type: string, required: true, secret: true}",
    );
    world.write("skill.yaml", skill);
    let mut run = RUN.to_vec();
    let given = format!("mail={secret}");
    run[5] = &given;
    let answer = world.ask(&run);
    let mut open = vec![world.path(".hence")];
    let mut read = 0;
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            let content = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            assert!(!content.contains(secret), "{}: {content}", path.display());
            read += usize::from(content.contains("Never say [secret"));
        }
    }
    assert!(read > 0, "{}", answer.stderr);
}
