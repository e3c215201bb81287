use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use super::*;

fn shell(script: &str) -> Program {
    let environment = vec![("PATH".into(), std::env::var_os("PATH").unwrap())];
    Program { path: "/bin/sh".into(), arguments: vec!["-c".into(), script.into()], environment }
}

fn job(scripts: &[&str], input: Option<&[u8]>) -> Job {
    let programs = scripts.iter().map(|script| shell(script)).collect();
    Job { programs, directory: "/".into(), input: input.map(<[u8]>::to_vec) }
}

const LIMITS: Limits =
    Limits { timeout: Duration::from_secs(600), output: Keep::All(1 << 22), errors: Keep::End(64) };

fn exited(scripts: &[&str], input: Option<&[u8]>) -> Exited {
    match run(job(scripts, input), &LIMITS) {
        Ended::Exited(exited) => exited,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_program_gets_its_input_and_gives_its_output_and_its_status() {
    let found = exited(&["cat; echo oh >&2; exit 3"], Some(b"hello"));
    assert_eq!((found.output.as_slice(), found.errors.as_slice()), (&b"hello"[..], &b"oh\n"[..]));
    assert_eq!((found.status.code(), found.input), (Some(3), Delivery::Whole));
    assert_eq!(exited(&["kill -9 $$"], None).status.signal(), Some(9));
    assert_eq!(exited(&["cat"], None).output, b"", "without an input there is an empty one");
}

#[test]
fn programs_are_joined_and_their_messages_follow_one_another() {
    let found = exited(&["echo a >&2; cat", "sed s/x/y/; echo b >&2", "cat; echo c >&2"], Some(b"x\n"));
    assert_eq!((found.output.as_slice(), found.errors.as_slice()), (&b"y\n"[..], &b"a\nb\nc\n"[..]));
    let found = exited(&["yes", "head -n 1"], None);
    assert_eq!((found.output.as_slice(), found.status.code()), (&b"y\n"[..], Some(0)));
}

#[test]
fn a_descendant_that_holds_the_pipes_does_not_delay_the_answer() {
    for hold in ["sleep 600 &", "sleep 600 >&2 &", "(sleep 600; sleep 600) &"] {
        let found = exited(&[&format!("{hold} echo done; exit 0")], None);
        assert_eq!((found.output.as_slice(), found.status.code()), (&b"done\n"[..], Some(0)), "{hold}");
    }
}

#[test]
fn a_program_that_takes_too_long_or_writes_too_much_is_ended() {
    let short = Limits { timeout: Duration::from_millis(100), ..LIMITS };
    for script in ["sleep 600", "trap '' TERM INT HUP; sleep 600; sleep 600", "sleep 600 & wait"] {
        assert!(matches!(run(job(&[script], None), &short), Ended::TimedOut), "{script}");
    }
    let little = Limits { output: Keep::All(3), ..LIMITS };
    assert!(matches!(run(job(&["yes"], None), &little), Ended::TooMuch));
    assert!(matches!(run(job(&["printf 1234"], None), &little), Ended::TooMuch));
    assert!(matches!(run(job(&["printf 123"], None), &little), Ended::Exited(_)));
}

#[test]
fn a_stream_is_stored_at_its_start_or_its_end() {
    let limits = Limits { output: Keep::Start(3), errors: Keep::End(3), ..LIMITS };
    let Ended::Exited(found) = run(job(&["printf 12345; printf 12345 >&2"], None), &limits) else {
        panic!("it exits");
    };
    assert_eq!((found.output.as_slice(), found.errors.as_slice()), (&b"123"[..], &b"345"[..]));
}

#[test]
fn a_program_that_cannot_be_started_is_named_and_the_others_are_ended() {
    let mut job = job(&["sleep 600", "cat"], None);
    job.programs[1].path = "/no/such/program".into();
    let Ended::NotStarted { program, error } = run(job.clone(), &LIMITS) else { panic!("it is not there") };
    assert_eq!((program, error.kind()), (1, std::io::ErrorKind::NotFound));
    job.programs[1].path = "/bin/true\0".into();
    let Ended::NotStarted { error, .. } = run(job.clone(), &LIMITS) else { panic!("it has no name") };
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    job.directory = "/no/such/folder".into();
    assert!(matches!(run(job, &LIMITS), Ended::NotStarted { program: 0, .. }));
}

#[test]
fn input_that_is_cut_is_told_from_input_that_nobody_wants() {
    // Larger than any pipe.
    let large = vec![b'x'; 1 << 21];
    assert_eq!(exited(&["cat > /dev/null"], Some(&large)).input, Delivery::Whole);
    assert_eq!(exited(&["exec 0<&-; exit 0"], Some(&large)).input, Delivery::Unread);
    assert_eq!(exited(&["exit 0"], Some(&large)).input, Delivery::Unread);
    let cut = exited(&["head -c 10 > /dev/null; echo '{}'"], Some(&large)).input;
    assert!(matches!(cut, Delivery::Cut { delivered, .. } if delivered < 1 << 21), "{cut:?}");
    // A small input is handed over at once, or not at all.
    for _ in 0..20 {
        let small = exited(&["exit 0"], Some(b"{}")).input;
        assert!(matches!(small, Delivery::Whole | Delivery::Unread), "{small:?}");
    }
    // A descendant that holds the input open does not turn a cut one into a whole one.
    let held = exited(&["head -c 10 > /dev/null; sleep 600 <&0 & exit 0"], Some(&large)).input;
    assert!(matches!(held, Delivery::Cut { .. }), "{held:?}");
}
