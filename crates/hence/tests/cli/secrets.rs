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
    assert_snapshot!(bare.refused(&["resume", "s"]), @r"
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
