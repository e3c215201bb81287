//! Closed pipes: no command panics or reports an error.

use std::process::Stdio;

use hence_testkit::cli::World;

#[test]
fn a_closed_pipe_is_not_an_error() {
    let world = World::with_run("refund-42");
    let script = format!("'{}' \"$@\" 2>&1 | head -1", env!("CARGO_BIN_EXE_hence"));
    let commands: [&[&str]; 6] = [
        &["log", "refund-42"],
        &["verify", "refund-42"],
        &["state", "refund-42"],
        &["run", "problem.json"],
        &["log", "nothing"],
        &["run", "problem.json", "--journal", "-"],
    ];
    for arguments in commands {
        let mut shell = std::process::Command::new("/bin/sh");
        shell.args(["-c", &script, "sh"]).args(arguments).current_dir(world.path("")).stdin(Stdio::null());
        let output = shell.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.stderr.is_empty() && !text.contains("panicked"), "{arguments:?}: {text}");
    }
}

#[test]
fn closed_outputs_change_no_exit_code() {
    let world = World::with_run("refund-42");
    let cases: [(&[&str], i32); 4] =
        [(&["verify", "refund-42"], 0), (&["log", "refund-42"], 0), (&["log", "nothing"], 2), (&["rnu"], 2)];
    for (arguments, code) in cases {
        let mut child = world.command(arguments).spawn().unwrap();
        // Both ends are closed before the command writes, or while it does.
        drop((child.stdout.take(), child.stderr.take()));
        assert_eq!(child.wait().unwrap().code(), Some(code), "{arguments:?}");
    }
}

#[test]
fn a_piped_prompt_reads_the_rest_of_its_input_as_a_value() {
    let world = World::new();
    assert_eq!(world.ask(&["vars", "init", "v", "What?"]).code, 0);
    let answer = world.ask_with_input(&["repl", "v"], b"set first 1\nset note -\nhello\nworld\n");
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let read = world.ask(&["vars", "get", "v", "note"]);
    assert_eq!(String::from_utf8(read.stdout).unwrap().trim_end(), "hello\nworld");
    assert_eq!(world.ask(&["vars", "get", "v", "first"]).code, 0);
}
