//! Workers that serve one session after the other: nothing of a session is visible in the next one, and what a limit stopped is replaced. Without the
//! worker these tests say so and pass.

#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "helpers of tests")]

use std::sync::Arc;

use hence_canon::{Value, parse};
use hence_sandbox::{Answer, Event, Limit, Limits, Monty, PyValue, Sandbox as _, WorkerPool};

fn pool() -> Option<Arc<WorkerPool>> {
    match Monty::find() {
        Ok(_) => Some(Arc::default()),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

fn data(event: Event) -> Value {
    match event {
        Event::Completed(PyValue::Data(value)) => value,
        other => panic!("{other:?}"),
    }
}

fn json(text: &str) -> Value {
    parse(text.as_bytes()).unwrap()
}

#[test]
fn a_session_leaves_nothing_to_the_next_one_in_its_process() {
    let Some(pool) = pool() else { return };
    let mut first = pool.session(Limits::default()).unwrap();
    let process = first.process_id().unwrap();
    // Names, functions, classes, changed modules and types, caches, random numbers, and printed text.
    let marks = "secret = 'mine'\ndef f():\n    return secret\nclass C:\n    kept = secret\nlen = f\nimport json\nimport math\nimport re\nimport random\nfirst = [random.random() for _ in range(3)]\nre.compile('secret+')\nprint('said')";
    let event = first.feed(marks, &[("given", &Value::from("input"))]).unwrap();
    assert!(matches!(event, Event::Completed(_)), "{event:?}");
    for code in ["json.secret = 1", "math.pi = 3", "json.dumps = f", "C.kept = []", "f.kept = 1"] {
        // Most of these are refused; none may outlive the session.
        first.feed(code, &[]).unwrap();
    }
    assert_eq!(data(first.feed("first", &[]).unwrap()).as_array().unwrap().len(), 3);
    let drawn = data(first.feed("first", &[]).unwrap());
    drop(first);

    let mut second = pool.session(Limits::default()).unwrap();
    assert_eq!(second.process_id().unwrap(), process, "the process is the same");
    assert_eq!(second.take_output().text, "");
    assert_eq!(data(second.feed("list(locals())", &[]).unwrap()), json("[]"));
    for name in ["secret", "f", "C", "given", "json", "math", "first"] {
        assert_eq!(second.feed(name, &[]).unwrap(), Event::Lookup(name.to_owned()), "{name}");
        assert!(matches!(second.resume(Answer::Undefined).unwrap(), Event::Raised(_)), "{name}");
    }
    let clean = "import json\nimport math\nimport random\n[len('abc'), json.dumps([1]), round(math.pi, 5), hasattr(json, 'secret'), [random.random() for _ in range(3)]]";
    let found = data(second.feed(clean, &[]).unwrap());
    assert_eq!(found, Value::from(vec![3.into(), "[1]".into(), json("3.14159"), false.into(), drawn]));
}

#[test]
fn the_memory_and_the_time_of_a_session_are_not_charged_to_the_next_one() {
    let Some(pool) = pool() else { return };
    let limits = Limits { block_milliseconds: 2000, memory_bytes: 64 << 20, ..Limits::default() };
    let mut processes = std::collections::BTreeSet::new();
    for _ in 0..6 {
        let mut session = pool.session(limits).unwrap();
        processes.insert(session.process_id().unwrap());
        // Two of these at the same time do not fit.
        let event = session.feed("x = 'y' * (40 << 20)\nlen(x)", &[]).unwrap();
        assert_eq!(data(event), Value::from(40_u64 << 20));
        let event = session.feed("n = 0\nfor i in range(300000):\n    n += i\nn", &[]).unwrap();
        assert!(matches!(event, Event::Completed(_)), "{event:?}");
    }
    assert_eq!(processes.len(), 1);
}

#[test]
fn a_worker_that_was_stopped_or_left_or_killed_is_replaced() {
    let Some(pool) = pool() else { return };
    let limits = Limits { block_milliseconds: 200, ..Limits::default() };
    let mut stopped = pool.session(limits).unwrap();
    let mut seen = vec![stopped.process_id().unwrap()];
    assert_eq!(stopped.feed("while True: pass", &[]).unwrap(), Event::Stopped(Limit::Time));
    drop(stopped);
    // One whose block waits for an answer is not used again.
    let mut left = pool.session(limits).unwrap();
    seen.push(left.process_id().unwrap());
    assert!(matches!(left.feed("secret = 1\nask()", &[]).unwrap(), Event::Call(_)));
    drop(left);
    // One whose process somebody ended while it waited is not used either.
    let idle = pool.session(limits).unwrap();
    seen.push(idle.process_id().unwrap());
    drop(idle);
    let pid = i32::try_from(*seen.last().unwrap()).ok().and_then(rustix::process::Pid::from_raw).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let mut fresh = pool.session(limits).unwrap();
    seen.push(fresh.process_id().unwrap());
    assert_eq!(data(fresh.feed("1 + 1", &[]).unwrap()), Value::from(2));
    assert!(matches!(fresh.feed("secret", &[]).unwrap(), Event::Lookup(_)));
    // Other limits are those of another process.
    let other = pool.session(Limits::default()).unwrap();
    seen.push(other.process_id().unwrap());
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 5);
}
