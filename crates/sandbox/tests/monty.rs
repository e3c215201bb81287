//! The worker `monty`, driven for real. Without the worker these tests say so and pass.

#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "helpers of tests")]

use hence_canon::{Value, parse};
use hence_sandbox::{Answer, Event, Limit, Limits, Monty, PyValue, Sandbox, WorkerProgram};

fn program() -> Option<WorkerProgram> {
    match Monty::find() {
        Ok(program) => Some(program),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

fn worker(limits: Limits) -> Option<Monty> {
    program().map(|program| Monty::start(&program, limits).unwrap())
}

fn json(text: &str) -> Value {
    parse(text.as_bytes()).unwrap()
}

fn data(event: Event) -> Value {
    match event {
        Event::Completed(PyValue::Data(value)) => value,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_session_keeps_its_variables_and_asks_its_host() {
    let Some(mut worker) = worker(Limits::default()) else { return };
    assert_eq!(worker.identity().name, "monty");
    let input = json(r#"{"a":[1,2.5,null,true,"x",123456789012345678901234567890]}"#);
    let event = worker.feed("print('hello')\ny = f(1, key='two')\n[given, y]", &[("given", &input)]).unwrap();
    let Event::Call(call) = event else { panic!("{event:?}") };
    assert_eq!((&*call.name, call.arguments.len(), &*call.named[0].0), ("f", 1, "key"));
    let event = worker.resume(Answer::Value(&json(r#"{"r":[]}"#))).unwrap();
    assert_eq!(data(event), Value::Array([input.clone(), json(r#"{"r":[]}"#)].into()));
    assert_eq!(worker.take_output().text, "hello\n");
    // A later block sees what an earlier one left, and every name is listed.
    assert_eq!(data(worker.feed("list(locals())", &[]).unwrap()), json(r#"["given","y"]"#));
    let event = worker.feed("try:\n    g(1)\nexcept ValueError as e:\n    print('caught', e)", &[]).unwrap();
    assert!(matches!(event, Event::Call(_)), "{event:?}");
    worker.resume(Answer::Raise { kind: "ValueError", message: "no" }).unwrap();
    assert_eq!(worker.take_output().text, "caught no\n");
    let event = worker.feed("x = 1\nunknown", &[]).unwrap();
    assert_eq!(event, Event::Lookup("unknown".to_owned()));
    let event = worker.resume(Answer::Undefined).unwrap();
    let Event::Raised(error) = event else { panic!("{event:?}") };
    assert_eq!((&*error.kind, error.line), ("NameError", Some(2)));
    assert_eq!(data(worker.feed("x", &[]).unwrap()), Value::from(1));
    let event = worker.feed("h(1)", &[]).unwrap();
    assert!(matches!(event, Event::Call(_)), "{event:?}");
    let event = worker.resume(Answer::Undefined).unwrap();
    assert!(matches!(event, Event::Raised(_)), "{event:?}");
}

#[test]
fn a_dump_is_loaded_by_another_worker() {
    let Some(mut first) = worker(Limits::default()) else { return };
    first.feed("x = [1, {'a': 'b'}]", &[]).unwrap();
    let dump = first.dump().unwrap();
    assert_eq!(data(first.feed("x", &[]).unwrap()), json(r#"[1,{"a":"b"}]"#));
    drop(first);
    let mut second = worker(Limits::default()).unwrap();
    second.load(&dump).unwrap();
    assert_eq!(data(second.feed("x", &[]).unwrap()), json(r#"[1,{"a":"b"}]"#));
    let mut third = worker(Limits::default()).unwrap();
    assert!(third.load(b"not a dump").is_err());
}

#[test]
fn a_limit_stops_a_block_and_says_which() {
    let limits =
        Limits { block_milliseconds: 300, memory_bytes: 64 << 20, output_bytes: 10_000, ..Limits::default() };
    let cases = [
        ("while True: pass", Limit::Time),
        ("def f():\n    while True: pass\ntry:\n    f()\nexcept BaseException:\n    pass", Limit::Time),
        ("x = 'x' * (1 << 40)", Limit::Memory),
        ("x = []\nwhile True: x.append('y' * 100000)", Limit::Memory),
        ("try:\n    [0] * 10**12\nexcept MemoryError:\n    print('caught')", Limit::Memory),
        ("while True: print('x' * 1000)", Limit::Output),
        ("print('é' * 10000)", Limit::Output),
    ];
    for (code, expected) in cases {
        let Some(mut worker) = worker(limits) else { return };
        let event = worker.feed(code, &[]).unwrap();
        assert_eq!(event, Event::Stopped(expected), "{code}");
        let printed = worker.take_output();
        assert_eq!(
            (printed.is_cut, printed.text.len() <= 10_000),
            (expected == Limit::Output, true),
            "{code}"
        );
        assert!(worker.feed("1", &[]).is_err(), "the worker is gone after {code}");
    }
}

#[test]
fn a_block_that_calls_its_host_without_end_is_stopped_by_time_or_by_the_number_of_calls() {
    let loops = "while True:\n    try:\n        host(1)\n    except BaseException:\n        pass";
    let short = Limits { block_milliseconds: 200, ..Limits::default() };
    let few = Limits { host_calls: Some(100), ..Limits::default() };
    for (limits, code, expected) in [
        (short, "while True: host(1)", Limit::Time),
        (short, loops, Limit::Time),
        (few, "while True: host(1)", Limit::HostCalls),
        (few, loops, Limit::HostCalls),
    ] {
        let Some(mut worker) = worker(limits) else { return };
        let (mut event, mut calls) = (worker.feed(code, &[]).unwrap(), 0);
        while let Event::Call(_) = event {
            calls += 1;
            event = worker.resume(Answer::Value(&Value::from(1))).unwrap();
        }
        assert_eq!(event, Event::Stopped(expected), "{code}");
        assert!(expected == Limit::Time || calls == 100, "{calls} calls of {code}");
    }
}

#[test]
fn the_count_of_calls_begins_anew_with_each_block() {
    let Some(mut worker) = worker(Limits { host_calls: Some(3), ..Limits::default() }) else { return };
    for _ in 0..3 {
        let mut event = worker.feed("for n in range(3): host(n)", &[]).unwrap();
        while let Event::Call(_) = event {
            event = worker.resume(Answer::Value(&Value::from(1))).unwrap();
        }
        assert!(matches!(event, Event::Completed(_)), "{event:?}");
    }
}

#[test]
fn bad_code_raises_and_the_session_goes_on() {
    let Some(mut worker) = worker(Limits::default()) else { return };
    for code in [
        "def r(n): return r(n + 1)\nr(0)",
        "1 / 0",
        "this is no python",
        "x = (",
        "raise KeyError('k')",
        "\u{0}",
    ] {
        let event = worker.feed(code, &[]).unwrap();
        assert!(matches!(event, Event::Raised(_)), "{code:?}: {event:?}");
    }
    assert_eq!(data(worker.feed("1 + 1", &[]).unwrap()), Value::from(2));
}

#[test]
fn time_and_chance_are_the_same_in_every_worker() {
    let code = "import random, time, datetime\n[random.random(), random.randint(0, 10**9), time.time(), str(datetime.datetime.now())]";
    let run = || worker(Limits::default()).map(|mut worker| data(worker.feed(code, &[]).unwrap()));
    assert_eq!(run(), run());
}

/// Ways out of Python sandboxes that are known from elsewhere. Each must raise, be undefined, or ask the host for a
/// function that no host has; none may reach a file, a process, the network or the environment.
const TRICKS: [&str; 64] = [
    "open('/etc/passwd').read()",
    "open('/tmp/hence-escape', 'w').write('x')",
    "import os\nos.system('id')",
    "import os\nos.popen('id').read()",
    "import os\nos.environ['PATH']",
    "import os\nos.getenv('HOME').upper()",
    "import os\nos.listdir('/')",
    "import os\nos.fork()",
    "import os\nos.execv('/bin/sh', ['sh'])",
    "import os\nos.kill(1, 9)",
    "import os\nos.remove('/tmp/x')",
    "import os\nos.open('/etc/passwd', 0)",
    "import subprocess\nsubprocess.run(['id'])",
    "import socket\nsocket.socket()",
    "import urllib.request\nurllib.request.urlopen('http://127.0.0.1')",
    "import http.client",
    "import ctypes\nctypes.CDLL(None)",
    "import sys\nsys.exit(0)",
    "import sys\nsys.modules['os'].system('id')",
    "import sys\nsys._getframe(0).f_globals",
    "import importlib\nimportlib.import_module('os').system('id')",
    "__import__('os').system('id')",
    "__builtins__.__import__('os').system('id')",
    "__builtins__['open']('/etc/passwd')",
    "__loader__.load_module('os')",
    "eval('__import__(\"os\").system(\"id\")')",
    "exec('import os; os.system(\"id\")')",
    "compile('1', 'x', 'exec').co_code",
    "().__class__.__bases__[0].__subclasses__()",
    "''.__class__.__mro__[1].__subclasses__()",
    "[].__class__.__base__.__subclasses__()[0]",
    "type('X', (object,), {'__del__': 1}).__subclasses__()",
    "(lambda: 0).__globals__['__builtins__']",
    "(lambda: 0).__code__.co_consts",
    "(lambda: 0).__closure__[0]",
    "def f(): pass\nf.__globals__['os']",
    "def f(): pass\nf.__code__ = None",
    "def g():\n    yield 1\ng().gi_frame.f_back.f_globals",
    "async def c(): pass\nc().cr_frame.f_globals",
    "try:\n    1 / 0\nexcept Exception as e:\n    e.__traceback__.tb_frame.f_globals",
    "getattr((), '__cla' + 'ss__').__subclasses__()",
    "getattr(__builtins__, 'open')('/etc/passwd')",
    "vars()['__builtins__']",
    "globals()['__builtins__']",
    "locals()['__builtins__']",
    "'{0.__class__.__mro__[1].__subclasses__}'.format('')[0](1)",
    "'{0.__globals__[os]}'.format(lambda: 0)",
    "str.format('{x.__init__.__globals__}', x=object())",
    "object.__reduce_ex__(object(), 2)[9]",
    "import pickle\npickle.loads(b'cos\\nsystem\\n(S\"id\"\\ntR.')",
    "import marshal\nmarshal.loads(b'')",
    "import code\ncode.interact()",
    "import pdb\npdb.set_trace()",
    "breakpoint()",
    "input()",
    "help()",
    "import builtins\nbuiltins.open('/etc/passwd')",
    "import io\nio.open('/etc/passwd').read()",
    "import pathlib\npathlib.Path('/etc/passwd').read_text()",
    "import pathlib\npathlib.Path('/tmp/hence-escape').write_text('x')",
    "import pathlib\nlist(pathlib.Path('/').iterdir())[0]",
    "import tempfile\ntempfile.mkdtemp()",
    "import threading\nthreading.Thread(target=print).start()",
    "import gc\ngc.get_objects()",
];

fn open_files(process: u32) -> Vec<String> {
    let files = std::fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    let links = files.filter_map(|file| std::fs::read_link(file.path()).ok());
    links.map(|link| link.to_string_lossy().into_owned()).collect()
}

#[test]
fn a_value_that_grows_when_it_is_shown_stops_the_block() {
    let Some(mut worker) = worker(Limits { memory_bytes: 64 << 20, ..Limits::default() }) else { return };
    let event = worker.feed("x = [1]\nfor i in range(60): x = [x, x]\nrepr(x)", &[]).unwrap();
    // The interpreter may notice it, or the system ends the worker.
    assert!(matches!(event, Event::Stopped(Limit::Memory | Limit::Crash)), "{event:?}");
}

#[test]
fn known_tricks_to_leave_a_sandbox_fail() {
    let Some(program) = program() else { return };
    for trick in TRICKS {
        let mut worker = Monty::start(&program, Limits::default()).unwrap();
        let mut event = worker.feed(trick, &[]).unwrap();
        // The host has no function and no name for any of these.
        while matches!(event, Event::Call(_) | Event::Lookup(_)) {
            event = worker.resume(Answer::Undefined).unwrap();
        }
        assert!(matches!(event, Event::Raised(_) | Event::Stopped(_)), "{trick:?} gave {event:?}");
        // The worker has opened no file: it has its three streams and what this process had open when it started.
        let before = open_files(std::process::id());
        for file in open_files(worker.process_id()) {
            let is_stream =
                ["pipe:", "/dev/null", "socket:", "anon_inode:"].iter().any(|kind| file.starts_with(kind));
            assert!(is_stream || before.contains(&file), "{trick:?} left {file} open");
        }
    }
    assert!(!std::path::Path::new("/tmp/hence-escape").exists());
}

#[test]
fn a_worker_ends_with_its_session() {
    let Some(worker) = worker(Limits::default()) else { return };
    let id = worker.process_id();
    drop(worker);
    assert!(!std::path::Path::new(&format!("/proc/{id}")).exists());
}

#[test]
fn a_program_that_is_no_worker_is_refused() {
    let named = |name: &str| (name == "HENCE_MONTY").then(|| "/bin/true".into());
    let error = WorkerProgram::find(&named).unwrap_err();
    assert_eq!(error.tried, ["/bin/true: it is another program"]);
    assert!(WorkerProgram::find(&|_| None).unwrap_err().tried.is_empty());
}
