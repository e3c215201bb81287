//! Secrets reach the providers that need them and are stored nowhere.

use insta::assert_snapshot;

use hence_testkit::cli::World;

const SECRETS: [&str; 2] = ["correct-horse-battery", "staple+of/the=day"];

/// The secrets in base64, as in a header.
const ENCODED: [&str; 2] = ["Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5", "c3RhcGxlK29mL3RoZT1kYXk="];

const CAPABILITIES: &str = r#"
secrets:
  TOKEN: {environment: REGISTRY_TOKEN}
capabilities:
  echo:
    description: Says everything it was given, on both ways
    provider:
      kind: command
      command: [/bin/sh, -c, "read input; echo \"$TOKEN $input\" >&2; echo \"$TOKEN\" > seen; printf '{\"input\": %s, \"token\": \"%s\", \"encoded\": \"%s\", \"%s\": 1}' \"$input\" \"$TOKEN\" \"$(printf %s \"$TOKEN\" | /usr/bin/base64)\" \"$TOKEN\""]
      secret_environment: {TOKEN: {$secret: TOKEN}}
    secrets: [inputs.password]
  fail:
    description: Says everything and fails
    provider:
      kind: command
      command: [/bin/sh, -c, "read input; echo \"$TOKEN $input\" >&2; exit 1"]
      secret_environment: {TOKEN: {$secret: TOKEN}}
    secrets: ["inputs.*"]
  nosy:
    description: Is given a secret that is not meant for it
    provider: {kind: command, command: [/bin/cat]}
"#;

const SKILL: &str = r#"
id: secretive
version: 1.0.0
name: Secretive
description: Uses secrets and keeps none
inputs:
  password: {type: string, required: true, secret: true}
  note: {type: string}
outputs: {}
capabilities: capabilities.yaml
steps:
  - {id: echo, uses: echo, input: {password: inputs.password, note: inputs.note}, output: {input: vars.input, token: outputs.token}}
  - {id: pure, uses: text.join, input: {parts: [inputs.password]}, output: {text: outputs.pure}}
  - {id: again, uses: echo, input: {password: inputs.password}, output: {encoded: outputs.encoded}}
  - {id: last, uses: LAST, input: {password: inputs.password}, output: {token: outputs.x}}
"#;

fn world(last: &str) -> World {
    let world = World::new().env("REGISTRY_TOKEN", SECRETS[1]).env("HENCE_SECRET_PASSWORD", SECRETS[0]);
    world.write("capabilities.yaml", CAPABILITIES).write("skill.yaml", SKILL.replace("LAST", last));
    world
}

/// Fails if a secret is in anything that was stored or printed.
fn assert_nowhere(world: &World, said: &str) {
    for needle in SECRETS.iter().chain(&ENCODED) {
        assert!(!said.contains(needle), "{needle} was said: {said}");
        for (path, bytes) in world.stored() {
            let found = bytes.windows(needle.len()).any(|window| window == needle.as_bytes());
            assert!(!found, "{needle} is in {}", path.display());
        }
    }
}

#[test]
fn secrets_reach_the_provider_and_nothing_else() {
    for last in ["fail", "nosy"] {
        let world = world(last);
        let note = format!("note=the token is {}", SECRETS[1]);
        let answer = world.ask(&["run", "skill.yaml", "--run-id", "s", "--input", &note, "--json"]);
        assert_eq!(answer.code, 1, "{}", answer.stderr);
        let said = format!("{}{}", String::from_utf8_lossy(&answer.stdout), answer.stderr);
        assert_nowhere(&world, &said);
        // The program had it.
        assert_eq!(String::from_utf8(world.read("seen")).unwrap().trim(), SECRETS[1]);
        let report = answer.json();
        assert_eq!(report["outputs"]["token"], "[secret TOKEN]");
        assert_eq!(report["outputs"]["pure"], r#"{"$secret":"inputs.password"}"#);
        let message = report["failure"]["message"].as_str().unwrap();
        let expected = match last {
            "fail" => "[secret TOKEN] {\"password\":\"[secret inputs.password]\"}",
            _ => "the secret `inputs.password` is missing: the capability is not declared to be given it",
        };
        assert!(message.contains(expected), "{message}");
        for arguments in
            [&["log", "s"][..], &["show", "s", "echo"], &["state", "s"], &["state", "s", "--cognition"]]
        {
            assert_nowhere(&world, &world.cli(arguments));
        }
    }
}

#[test]
fn a_secret_can_be_given_as_an_input_and_is_not_stored() {
    let world = World::new().env("REGISTRY_TOKEN", SECRETS[1]);
    world.write("capabilities.yaml", CAPABILITIES).write("skill.yaml", SKILL.replace("LAST", "echo"));
    world.write("password", SECRETS[0]);
    let answer = world.ask(&["run", "skill.yaml", "--run-id", "s", "--input", "password=@password"]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert_nowhere(&world, &answer.stderr);
    assert_eq!(world.read("seen"), format!("{}\n", SECRETS[1]).into_bytes());
}

#[test]
fn resuming_needs_the_secrets_again_and_replaying_does_not() {
    let world = world("echo");
    assert_eq!(world.ask(&["run", "skill.yaml", "--run-id", "s"]).code, 0);
    let whole = world.journal("s");
    let bare = World::new();
    for (path, bytes) in world.stored() {
        let name = path.strip_prefix(world.path("")).unwrap().to_str().unwrap().to_owned();
        if path.is_file() {
            bare.write(&name, bytes);
        }
    }
    let answer = bare.ask(&["replay", "s"]);
    assert_eq!(answer.code, 0, "{}", bare.cli(&["replay", "s"]));
    assert_eq!(bare.ask(&["verify", "s"]).code, 0, "{}", bare.cli(&["verify", "s"]));
    let two: Vec<u8> = whole.split_inclusive(|byte| *byte == b'\n').take(2).flatten().copied().collect();
    bare.set_journal("s", &two);
    // A copy of a store was not made where it is now.
    let copied = bare.refused(&["resume", "s"]);
    assert!(copied.contains("E0323"), "{copied}");
    assert_snapshot!(bare.refused(&["resume", "s", "--trust-imported"]), @r"
    --- stderr
    error[E0322]: 2 secrets are missing
      the secret `TOKEN` is missing: the environment variable REGISTRY_TOKEN is not set
      the secret `inputs.password` is missing: the environment variable HENCE_SECRET_PASSWORD is not set
    hint: set what is listed and try again; nothing was run; `hence explain E0322` says more
    [exit 1]
    ");
    world.set_journal("s", &two);
    assert_eq!(world.ask(&["resume", "s"]).code, 0, "{}", world.cli(&["resume", "s"]));
    assert!(world.journal("s") == whole);
}

#[test]
fn a_new_run_needs_its_secrets_before_anything_happens() {
    let world = World::new();
    world.write("capabilities.yaml", CAPABILITIES).write("skill.yaml", SKILL.replace("LAST", "echo"));
    let refused = world.refused(&["run", "skill.yaml"]);
    assert!(refused.contains("E0322") && refused.contains("HENCE_SECRET_PASSWORD"), "{refused}");
    assert!(refused.contains("REGISTRY_TOKEN"), "{refused}");
    assert!(!world.path("seen").exists());
}

#[test]
fn a_value_written_in_a_skill_is_not_a_secret() {
    let world = World::new();
    world.write("capabilities.yaml", CAPABILITIES);
    let skill = SKILL
        .replace("secret: true}", "secret: true, default: x}")
        .replace("outputs: {}", "outputs: {o: {type: string, secret: true}}");
    world.write("skill.yaml", skill.replace("LAST", "echo"));
    let said = world.cli(&["check", "skill.yaml"]);
    assert!(
        said.contains("a secret input has no default") && said.contains("only inputs are secret"),
        "{said}"
    );
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().chain([&0, &0]).take(3).fold(0, |bits, byte| bits << 8 | usize::from(*byte));
        for at in 0..4 {
            let known = at <= group.len();
            text.push(if known { char::from(ALPHABET[bits >> (18 - 6 * at) & 63]) } else { '=' });
        }
    }
    text
}

fn hexadecimal(bytes: &[u8], prefix: &str, between: &str) -> String {
    bytes.iter().map(|byte| format!("{prefix}{byte:02x}")).collect::<Vec<_>>().join(between)
}

/// The spellings of a secret in which a provider may repeat it.
fn spellings(secret: &str) -> Vec<String> {
    let bytes = secret.as_bytes();
    let wide: Vec<u8> = secret.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let percent = hexadecimal(bytes, "%", "");
    let long = base64(format!("user:{secret}").as_bytes());
    let wrapped: Vec<&str> = long.as_bytes().chunks(19).map(|line| str::from_utf8(line).unwrap()).collect();
    let escaped: String = secret.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
    vec![
        secret.to_owned(),
        hexadecimal(bytes, "", ":"),
        hexadecimal(bytes, "", " ").to_uppercase(),
        hexadecimal(bytes, "\\x", ""),
        hexadecimal(bytes, "0x", ", "),
        base64(bytes),
        wrapped.join("\n"),
        base64(format!("u:{secret}").as_bytes()).replace('+', "-").replace('/', "_").replace('=', ""),
        percent.clone(),
        escaped,
        base64(&wide),
        base64(percent.as_bytes()),
        hexadecimal(base64(bytes).as_bytes(), "", ""),
    ]
}

#[test]
fn no_spelling_of_a_secret_reaches_the_store_or_the_terminal() {
    let secret = "tr0ub4dor&3/é horse";
    let all = spellings(secret);
    let skill = "id: s\nversion: 1.0.0\nname: N\ndescription: D\ninputs: {}\noutputs: {}\ncapabilities: c.yaml\nsteps:\n  \
        - {id: says, uses: says, input: {}, output: {all: vars.all}}\n  - {id: fails, uses: fails, input: {}}\n";
    let command = |id: &str, code: i32| {
        format!(
            "  {id}:\n    description: d\n    effects: reads\n    provider: {{kind: command, secret_environment: {{TOKEN: \
             {{$secret: TOKEN}}}}, command: [/bin/sh, -c, \"cat >/dev/null; cat errors >&2; cat reply; exit {code}\"]}}\n"
        )
    };
    let declared = "secrets: {TOKEN: {environment: SOME_TOKEN}}\ncapabilities:\n".to_owned();
    let world = World::new().env("PATH", "/usr/bin:/bin").env("SOME_TOKEN", secret);
    world.write("c.yaml", declared + &command("says", 0) + &command("fails", 3)).write("skill.yaml", skill);
    let mut reply = serde_json::json!({"all": all});
    all.iter().for_each(|spelling| reply[format!("<{spelling}>")] = 1.into());
    world.write("reply", reply.to_string());
    world.write("errors", all.iter().map(|spelling| format!("I got {spelling}.\n")).collect::<String>());
    let answer = world.ask(&["run", "skill.yaml", "--run-id", "s"]);
    assert_eq!(answer.code, 1, "{}", answer.stderr);
    let mut said = String::from_utf8_lossy(&answer.stdout).into_owned() + &answer.stderr;
    let readings: [&[&str]; 6] = [
        &["log", "s"],
        &["show", "s", "says"],
        &["show", "s", "fails"],
        &["state", "s"],
        &["why", "s"],
        &["trace", "export", "s"],
    ];
    readings.iter().for_each(|reading| said.push_str(&world.cli(reading)));
    assert!(said.contains("[secret TOKEN]"), "{said}");
    for spelling in &all {
        // As it is, and as JSON writes it.
        let quoted = serde_json::Value::from(spelling.as_str()).to_string();
        for needle in [spelling.as_str(), &quoted[1..quoted.len() - 1]] {
            assert!(!said.contains(needle), "{needle} was said: {said}");
            for (path, bytes) in world.stored() {
                let found = bytes.windows(needle.len()).any(|window| window == needle.as_bytes());
                assert!(!found, "{needle} is in {}", path.display());
            }
        }
    }
}

#[test]
fn a_secret_that_is_too_short_to_be_kept_out_is_refused_with_the_reason() {
    for value in ["abc", "  x  \n"] {
        let world = World::new().env("REGISTRY_TOKEN", value).env("HENCE_SECRET_PASSWORD", SECRETS[0]);
        world.write("capabilities.yaml", CAPABILITIES).write("skill.yaml", SKILL.replace("LAST", "echo"));
        let refused = world.ask(&["run", "skill.yaml", "--run-id", "s"]);
        assert_eq!(refused.code, 1, "{}", refused.stderr);
        assert!(refused.stderr.contains("occurs in unrelated texts"), "{}", refused.stderr);
        assert!(!world.path("seen").exists());
    }
}
