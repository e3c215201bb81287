//! The loop with the real worker and scripted models, in memory. Without the worker these tests say so and pass.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "helpers of tests"
)]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use hence_canon::{Digest, Value, parse};
use hence_cognition::budget::{Limits as CallLimits, Usage};
use hence_engine::{Driven, Evidence, MemorySink, Run, RunError, Sink as _, replay, without_defects};
use hence_journal::RecordIndex;
use hence_journal::verify::{Level, Outcome};
use hence_sandbox::{Limits, Monty, Sandbox, SandboxError, WorkerProgram};
use hence_solve::{
    AnswerForms, BlockEnd, ChildEnd, ChildLink, Content, Context, ContextFault, ContextKind, ContextPin,
    Entry, Halt, InterpreterPin, ModelPin, ModelReply, Models, NewChild, NoReply, Progress, Request, Rules,
    SYSTEM_PROMPT, SolveJournal, SolveLimits, SolveProgram, Spec, Text, Tools, drive,
};
use hence_state::{ProblemSpec, Profile};

type Script = dyn Fn(&Request) -> Result<String, NoReply> + Send + Sync;

/// The end of a scripted reply that its limit of tokens cut off there.
const CUT: &str = "[cut]";

/// Models that answer by a function of the request, and child runs in memory. Replies are logged by the index of their
/// record, as the call log of a store logs them.
struct World {
    script: Box<Script>,
    worker: WorkerProgram,
    asked: AtomicUsize,
    logged: Mutex<BTreeMap<(String, u64), ModelReply>>,
    journals: Mutex<BTreeMap<String, (Value, MemorySink)>>,
}

struct Bench<'w> {
    world: &'w World,
    run: String,
    contexts: Vec<Context>,
}

impl Tools for Bench<'_> {
    fn interpreter(&self, limits: Limits) -> Result<Box<dyn Sandbox>, SandboxError> {
        Ok(Box::new(Monty::start(&self.world.worker, limits)?))
    }

    fn contexts(&self) -> Result<&[Context], ContextFault> {
        Ok(&self.contexts)
    }
}

impl Models for Bench<'_> {
    fn ask(&self, index: RecordIndex, _: &ModelPin, request: &Request) -> Result<ModelReply, NoReply> {
        let key = (self.run.clone(), index.get());
        if let Some(reply) = self.world.logged.lock().unwrap().get(&key) {
            return Ok(reply.clone());
        }
        let text = (self.world.script)(request)?;
        self.world.asked.fetch_add(1, Ordering::SeqCst);
        let usage = Usage { calls: 1, tokens_in: 10, tokens_out: 5, ..Usage::default() };
        let (text, finish) = match text.strip_suffix(CUT) {
            Some(text) => (text, "length"),
            None => (&*text, "stop"),
        };
        let reply =
            ModelReply { text: text.into(), finish_reason: Some(finish.into()), answered_by: None, usage };
        self.world.logged.lock().unwrap().insert(key, reply.clone());
        Ok(reply)
    }

    fn child(&self, child: &NewChild) -> Result<ChildEnd, NoReply> {
        let problem = child.spec.problem(&child.run, "2026-01-01T00:00:00Z");
        let known = self.world.journals.lock().unwrap().get(&*child.run).map(|(_, sink)| sink.clone());
        let bench = self.world.bench(&child.run, vec![content(&child.context)]);
        let (progress, sink) =
            bench.drive(&problem, known).map_err(|error| NoReply::Unavailable(error.to_string()))?;
        let head = hence_journal::read_tail(&sink.journal).unwrap().head.to_string();
        let answer = progress.variables().answer();
        let answer = answer.ok_or_else(|| format!("{:?}", progress.end().map(|end| &end.exhausted.limit)));
        let link = ChildLink { run: child.run.clone(), head: head.into() };
        self.world.journals.lock().unwrap().insert(child.run.to_string(), (problem, sink));
        Ok(ChildEnd { answer, used: progress.used().clone(), link })
    }

    fn halt(&self) -> Option<Halt> {
        None
    }

    fn concurrency(&self) -> usize {
        4
    }
}

fn content(value: &Value) -> Content {
    match value {
        Value::String(text) => Content::Text(Text::in_memory("t", text)),
        other => Content::Value(Arc::new(other.clone())),
    }
}

impl World {
    fn new(script: impl Fn(&Request) -> Result<String, NoReply> + Send + Sync + 'static) -> Option<Self> {
        let worker = match Monty::find() {
            Ok(worker) => worker,
            Err(error) => {
                println!("skipped: {error}");
                return None;
            }
        };
        let (asked, logged, journals) = (AtomicUsize::new(0), Mutex::default(), Mutex::default());
        Some(Self { script: Box::new(script), worker, asked, logged, journals })
    }

    /// Answers turn n with text n, and a sub-call with what `sub` makes of its prompt.
    fn turns(turns: &'static [&'static str]) -> Option<Self> {
        Self::new(move |request| {
            if request.system.is_none() {
                return Ok(format!("<{}>", request.messages.first().unwrap().text));
            }
            let turn = request
                .messages
                .iter()
                .filter(|message| message.role == hence_solve::Role::Assistant)
                .count();
            Ok((*turns.get(turn).unwrap_or(&"I do not know.")).to_owned())
        })
    }

    fn bench(&self, run: &str, contents: Vec<Content>) -> Bench<'_> {
        let contexts =
            contents.into_iter().enumerate().map(|(number, content)| Context { number, content }).collect();
        Bench { world: self, run: run.to_owned(), contexts }
    }

    fn spec(&self, change: impl FnOnce(&mut Spec)) -> Spec {
        let identity = hence_sandbox::Identity {
            name: Monty::NAME,
            version: self.worker.version.clone(),
            protocol: Monty::PROTOCOL,
        };
        let limits = Limits {
            block_milliseconds: 3000,
            memory_bytes: 64 << 20,
            output_bytes: 100_000,
            ..Limits::default()
        };
        let pin = |text: &str| ContextPin {
            kind: ContextKind::Text,
            path: "t".into(),
            sha256: Digest::of(text.as_bytes()),
            bytes: text.len() as u64,
            characters: text.chars().count() as u64,
            files: 1,
        };
        let mut spec = Spec {
            question: "Where is the needle?".into(),
            model: ModelPin {
                name: "http://127.0.0.1/v1#m".into(),
                settings: hence_canon::Object::new(),
                max_tokens: 1000,
                price: None,
            },
            sub_model: None,
            system: Digest::of(SYSTEM_PROMPT.as_bytes()),
            interpreter: InterpreterPin::of(&identity, limits),
            contexts: vec![pin(&haystack())],
            limits: SolveLimits::default(),
            window_tokens: 100_000,
            forms: AnswerForms::Final,
            recovery: hence_solve::Recovery::Retry,
            parent: None,
            rules: Rules::Second,
        };
        change(&mut spec);
        spec
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

fn haystack() -> String {
    format!("{}needle{}", "hay ".repeat(30_000), " straw".repeat(10_000))
}

fn problem_of(value: &Value) -> Arc<ProblemSpec> {
    Arc::new(ProblemSpec::decode(value, &Profile::STRICT).unwrap())
}

impl Bench<'_> {
    fn program(&self, problem: &Value) -> SolveProgram<'_> {
        SolveProgram::new(problem_of(problem), Some(SYSTEM_PROMPT.into()), Some(self)).unwrap()
    }

    /// Drives a run from its beginning, or from where a journal ends.
    fn drive(&self, problem: &Value, from: Option<MemorySink>) -> Result<(Progress, MemorySink), RunError> {
        let (run, mut sink) = match from {
            None => {
                let (run, header) = Run::start(self.program(problem))?;
                let mut sink = MemorySink::default();
                sink.append(&header).unwrap();
                (run, sink)
            }
            Some(sink) => {
                let run = Run::resume(self.program(problem), &sink.journal, &sink.blobs).unwrap();
                (run, sink)
            }
        };
        match drive(run, self, &mut sink, &mut |_| {})? {
            Driven::Finished(run) => Ok((run.program().progress().clone(), sink)),
            Driven::Blocked(..) | Driven::Paused(..) => panic!("the run stopped"),
        }
    }

    /// Checks that a journal holds at every level, and that a replay gives the same bytes.
    fn check(&self, problem: &Value, sink: &MemorySink) {
        let document = without_defects(problem.clone());
        let evidence = Evidence {
            problem: Some(&document),
            may_be_unfinished: false,
            ..Evidence::of_journal(&sink.journal, &sink.blobs)
        };
        let replayed = replay(self.program(problem), &evidence).unwrap();
        assert!(replayed.difference.is_none(), "{:?}", replayed.difference);
        let system: Arc<str> = SYSTEM_PROMPT.into();
        let (spec, tools): (_, &dyn Tools) = (problem_of(problem), self);
        let journal =
            SolveJournal { problem: &spec, system: Some(&system), tools: Ok(tools), evidence: &evidence };
        let report = evidence.verify(&journal, Level::Replay);
        for level in &report.levels {
            assert!(!matches!(level.outcome, Outcome::Broken(_)), "{level:?}");
        }
    }
}

fn blocks(progress: &Progress) -> Vec<hence_solve::Block> {
    let blocks = progress.path().iter().filter_map(|(_, entry)| match &**entry {
        Entry::Block(block) => Some((**block).clone()),
        _ => None,
    });
    blocks.collect()
}

/// Runs turns over the haystack, checks the journal, and returns the end.
fn solve(
    turns: &'static [&'static str],
    change: impl FnOnce(&mut Spec),
) -> Option<(Progress, MemorySink, usize)> {
    let world = World::turns(turns)?;
    let bench = world.bench("run", vec![content(&haystack().into())]);
    let problem = world.spec(change).problem("run", "2026-01-01T00:00:00Z");
    let (progress, sink) = bench.drive(&problem, None).unwrap();
    bench.check(&problem, &sink);
    Some((progress, sink, world.asked()))
}

fn json(text: &str) -> Value {
    parse(text.as_bytes()).unwrap()
}

const NEEDLE: &[&str] = &[
    "Look first.\n```repl\nprint(len(context))\nfound = search('needle')\nat = found[0]['start']\n```",
    "```python\nparts = [slice(at - 4, at + 6), slice(0, 3)]\nreplies = llm_query_batched(parts + [parts[0]])\nset('kept', {'n': 1})\ncheckpoint('before')\n```\n```repl\nchild = rlm_query('CHILD', context='abc')\n```",
    "```repl\nprint(get('kept'), replies, child)\nFinal = {'at': at, 'child': child}\n```",
];

fn needle_world() -> Option<World> {
    World::new(|request| {
        if request.system.is_none() {
            return Ok(format!("<{}>", request.messages.first().unwrap().text));
        }
        if request.messages.first().unwrap().text.contains("CHILD") {
            return Ok("```repl\nFinal = context + llm_query('deep')\n```".to_owned());
        }
        let turn =
            request.messages.iter().filter(|message| message.role == hence_solve::Role::Assistant).count();
        Ok(NEEDLE[turn].to_owned())
    })
}

#[test]
fn a_question_is_answered_by_slices_sub_calls_children_and_variables() {
    let Some(world) = needle_world() else { return };
    let bench = world.bench("run", vec![content(&haystack().into())]);
    let problem = world.spec(|_| {}).problem("run", "2026-01-01T00:00:00Z");
    let (progress, sink) = bench.drive(&problem, None).unwrap();
    assert_eq!(progress.variables().answer(), Some(json(r#"{"at":120000,"child":"abc<deep>"}"#)));
    assert_eq!(
        progress.variables().value("replies"),
        Some(json(r#"["<hay needle>","<hay>","<hay needle>"]"#))
    );
    // Three turns, two different prompts, one turn and one call of the child; the repeated prompt costs nothing.
    assert_eq!((world.asked(), progress.used().cached, progress.used().sub_calls), (7, 1, 5));
    assert_eq!((progress.used().turns, progress.turns(), progress.used().calls.calls), (4, 3, 7));
    let reads = &blocks(&progress)[1].reads;
    assert_eq!(
        reads.iter().map(|read| (read.start, read.end)).collect::<Vec<_>>(),
        [(0, 3), (119_996, 120_006)]
    );
    bench.check(&problem, &sink);
    // The context is in no record.
    assert!(sink.journal.len() + sink.blobs.values().map(Vec::len).sum::<usize>() < 50_000);
}

#[test]
fn a_run_that_was_cut_anywhere_gives_the_same_bytes_and_asks_nothing_twice() {
    let Some(world) = needle_world() else { return };
    let bench = world.bench("run", vec![content(&haystack().into())]);
    let problem = world.spec(|_| {}).problem("run", "2026-01-01T00:00:00Z");
    let (_, whole) = bench.drive(&problem, None).unwrap();
    let asked = world.asked();
    let lines: Vec<&[u8]> = whole.journal.split_inclusive(|byte| *byte == b'\n').collect();
    for count in 1..lines.len() {
        let cut = MemorySink { journal: lines[..count].concat(), blobs: whole.blobs.clone() };
        let (_, again) = bench.drive(&problem, Some(cut)).unwrap();
        assert!(again.journal == whole.journal, "cut after {count} records");
    }
    assert_eq!(world.asked(), asked);
}

#[test]
fn a_limit_that_stops_a_block_is_a_result_and_earlier_variables_stay() {
    for (code, limit) in [
        ("while True: pass", "time"),
        ("x = []\nwhile True: x.append('y' * 100000)", "memory"),
        ("while True: print('x' * 1000)", "output"),
        ("while True: slice(0, 1)", "time"),
        ("for n in range(300): slice(0, 1)\nwhile True: get('kept')", "time"),
        ("while True:\n    try:\n        nowhere\n    except NameError:\n        pass", "time"),
    ] {
        let turns: &'static [&'static str] = Box::leak(Box::new([
            "```repl\nkept = 7\n```",
            Box::leak(
                format!("```repl\nlost = llm_query('paid')\n{code}\n```\n```repl\nnever = 1\n```")
                    .into_boxed_str(),
            ),
            "```repl\nFinal = [kept, 'lost' in show_vars(), 'never' in show_vars()]\n```",
        ]));
        let Some((progress, _, asked)) = solve(turns, |_| {}) else { return };
        assert_eq!(blocks(&progress)[1].end, BlockEnd::Stopped { limit: limit.into() });
        assert_eq!(progress.variables().answer(), Some(json("[7,false,false]")), "{code}");
        assert_eq!(asked, 4);
    }
}

#[test]
fn the_number_of_host_calls_of_a_block_is_limited_and_pinned() {
    let turns = &[
        "```repl\nfor n in range(49): slice(0, 1)\nkept = 1\n```",
        "```repl\nwhile True: slice(0, 1)\n```",
        "```repl\nFinal = kept\n```",
    ];
    let few = |spec: &mut Spec| spec.interpreter.limits.host_calls = Some(50);
    let Some((progress, ..)) = solve(turns, few) else { return };
    assert_eq!(blocks(&progress)[0].end, BlockEnd::Completed);
    assert_eq!(blocks(&progress)[1].end, BlockEnd::Stopped { limit: "host_calls".into() });
    assert_eq!(progress.variables().answer(), Some(1.into()));
    let pinned = progress.problem().canonical().value().to_string();
    assert!(pinned.contains("\"host_calls\":50"), "{pinned}");
}

#[test]
fn code_that_was_cut_off_does_not_run_and_the_model_is_told() {
    let turns = &[
        "Nearly.\n```repl\na = 1\n```\n```repl\nFinal=4[cut]",
        "FINAL(f(x)[cut]",
        "```repl\nFinal = a + 41\n```[cut]",
    ];
    let compat = |spec: &mut Spec| spec.forms = AnswerForms::Compat;
    let Some((progress, ..)) = solve(turns, compat) else { return };
    assert_eq!((progress.turns(), progress.variables().answer()), (3, Some(42.into())));
    let told: Vec<String> =
        progress.turn_request().messages.iter().map(|message| message.text.to_string()).collect();
    assert!(
        told[2].contains("cut off at its limit of tokens") && told[2].contains("was not run"),
        "{told:?}"
    );
    assert!(
        told[4].contains("cut off at its limit of tokens") && !told[4].contains("was not run"),
        "{told:?}"
    );
}

#[test]
fn a_block_that_raised_has_not_answered() {
    let turns = &[
        "```repl\nkept = 1\nFinal = 'early'\nraise ValueError('no')\n```",
        "```repl\nset('Final', 'early')\n1 / 0\n```",
        "```repl\nFINAL('early')\n1 / 0\n```",
        "```repl\nanswer['content'], answer['ready'] = 'early', True\n1 / 0\n```",
        // What the blocks before assigned does not come back.
        "```repl\nother = 2\n```",
        "```repl\nFinal = [kept, other]\n```",
    ];
    let compat = |spec: &mut Spec| spec.forms = AnswerForms::Compat;
    let Some((progress, ..)) = solve(turns, compat) else { return };
    assert_eq!((progress.turns(), progress.variables().answer()), (6, Some(json("[1,2]"))));
    for block in &blocks(&progress)[..4] {
        assert!(block.refused.iter().any(|(name, _)| &**name == "Final"), "{block:?}");
    }
}

#[test]
fn a_run_of_the_first_rules_keeps_them() {
    let first = |spec: &mut Spec| {
        spec.rules = Rules::First;
        spec.interpreter.limits.host_calls = None;
    };
    let turns = &["```repl\nFinal = 'early'\n1 / 0\n```"];
    let Some((progress, ..)) = solve(turns, first) else { return };
    assert_eq!(progress.variables().answer(), Some("early".into()));
    let pinned = progress.problem().canonical().value().to_string();
    assert!(!pinned.contains("rules") && !pinned.contains("host_calls"), "{pinned}");
    let (progress, ..) = solve(&["```repl\nFinal=4[cut]"], first).unwrap();
    assert_eq!(progress.variables().answer(), Some(4.into()));
    let (progress, ..) = solve(&["```repl\nFinal = llm_query_batched('ab')\n```"], first).unwrap();
    assert_eq!(progress.variables().answer(), Some(json(r#"["<a>","<b>"]"#)));
    let (progress, ..) = solve(&["```repl\n__final('x')\n```"], first).unwrap();
    assert_eq!(progress.variables().answer(), Some("x".into()));
}

#[test]
fn calls_that_cannot_be_meant_raise() {
    let turns = &[
        "```repl\nseen = []\nfor f in [lambda: llm_query_batched('text'), lambda: rlm_query_batched('text'), lambda: rlm_query_batched(['a'], 'b'), lambda: set('context', 1), lambda: set('context_3', 1), lambda: set('prompt', 1), lambda: set('_x', 1), lambda: __final('x')]:\n    try:\n        f()\n    except Exception as e:\n        seen.append(type(e).__name__)\n```",
        "```repl\nFinal = seen\n```",
    ];
    let Some((progress, _, asked)) = solve(turns, |_| {}) else { return };
    let expected = r#"["TypeError","TypeError","TypeError","ValueError","ValueError","ValueError","ValueError","NameError"]"#;
    assert_eq!((progress.variables().answer(), asked), (Some(json(expected)), 2));
}

#[test]
fn a_text_that_stays_on_the_disk_is_counted_in_one_call_and_not_handed_down() {
    let Some(world) = World::turns(&[
        "```repl\ncounts = [context.count('ab'), context.count('ba'), context.count('')]\ntry:\n    rlm_query('q', context=context)\nexcept MemoryError as e:\n    Final = counts + [str(e)[:9]]\n```",
    ]) else {
        return;
    };
    let text: Arc<str> = "ab".repeat(9 << 20).into();
    let bench = world.bench("run", vec![Content::Text(Text::in_memory("t", &text))]);
    let few = |spec: &mut Spec| spec.interpreter.limits.host_calls = Some(5);
    let problem = world.spec(few).problem("run", "2026-01-01T00:00:00Z");
    let (progress, sink) = bench.drive(&problem, None).unwrap();
    let expected = format!("[{0},{1},{2},\"context_0\"]", 9 << 20, (9 << 20) - 1, (18 << 20) + 1);
    assert_eq!(progress.variables().answer(), Some(json(&expected)), "{:?}", blocks(&progress));
    bench.check(&problem, &sink);
}

#[test]
fn errors_are_exceptions_that_code_can_catch() {
    let turns = &[
        "```repl\nimport sys\nsys.exit(0)\n```\n```repl\ndef r(n): return r(n + 1)\nr(0)\n```",
        "```repl\nseen = []\nfor f in [lambda: get('none'), lambda: slice('a', 1), lambda: llm_query(5), lambda: llm_query('x', model='other'), lambda: rollback('none'), lambda: search('x', name='context_9')]:\n    try:\n        f()\n    except Exception as e:\n        seen.append(type(e).__name__)\nprint(seen)\n```",
        "```repl\nFinal = seen\n```",
    ];
    let Some((progress, ..)) = solve(turns, |_| {}) else { return };
    let made = blocks(&progress);
    assert!(matches!(&made[0].end, BlockEnd::Raised(_)) && matches!(&made[1].end, BlockEnd::Raised(_)));
    assert_eq!(
        progress.variables().answer(),
        Some(json(r#"["KeyError","TypeError","TypeError","ValueError","KeyError","KeyError"]"#))
    );
}

#[test]
fn a_limit_ends_a_run_with_the_best_partial_answer() {
    let Some((progress, ..)) = solve(&["I think it is 5."], |spec| spec.limits.turns = 3) else { return };
    let end = progress.end().unwrap();
    assert_eq!((&*end.exhausted.limit, end.partial.as_deref()), ("turns", Some("I do not know.")));
    let tokens = |spec: &mut Spec| {
        spec.limits.calls = CallLimits { tokens: Some(1000), ..CallLimits::default() };
    };
    let Some((progress, ..)) = solve(&["Perhaps."], tokens) else { return };
    assert_eq!(progress.end().unwrap().exhausted.limit, "tokens");
    assert_eq!(progress.turns(), 0);
}

#[test]
fn sub_calls_over_a_limit_raise_and_the_others_are_made() {
    let turns = &[
        "```repl\nr = llm_query_batched(['a', 'b', 'c', 'd'], errors='keep')\nok = [x for x in r if isinstance(x, str)]\nbad = [x['error']['type'] for x in r if not isinstance(x, str)]\n```",
        "```repl\ntry:\n    llm_query('e')\nexcept PermissionError as e:\n    Final = [ok, bad, str(e)[:15]]\n```",
    ];
    let Some((progress, _, asked)) = solve(turns, |spec| spec.limits.sub_calls = 3) else { return };
    let expected = r#"[["<a>","<b>","<c>"],["PermissionError"],"limit sub_calls"]"#;
    assert_eq!((progress.variables().answer(), asked), (Some(json(expected)), 5));
}

#[test]
fn a_rollback_restores_variables_also_in_the_interpreter() {
    let turns = &[
        "```repl\na = 1\n```\n```repl\ncheckpoint('one')\n```",
        "```repl\na = 2\nb = 3\n```",
        "```repl\nrollback('one')\nc = 4\n```",
        "```repl\ntry:\n    b\n    gone = False\nexcept NameError:\n    gone = True\n```",
        "```repl\nset('a', 9)\n```",
        "```repl\nFinal = [a, get('a'), sorted(show_vars())]\n```",
    ];
    let Some((progress, ..)) = solve(turns, |_| {}) else { return };
    let answer = progress.variables().answer().unwrap();
    assert_eq!(answer.at(0), answer.at(1), "{answer}");
    assert_eq!(answer.at(0), Some(&9.into()), "{answer}");
    assert!(!answer.to_string().contains("\"b\""), "{answer}");
    assert_eq!(progress.variables().value("gone"), Some(true.into()));
}

#[test]
fn a_long_conversation_is_summarized_and_its_turns_stay_as_a_variable() {
    let Some(world) = World::new(|request| {
        let last = &request.messages.last().unwrap().text;
        let first = &request.messages.first().unwrap().text;
        Ok(if last.contains("Summarize it") {
            "I printed a lot.".to_owned()
        } else if first.contains("I printed a lot.") {
            "```repl\nFinal = [len(get('history_1')), get('history_1')[0]['turn'], big]\n```".to_owned()
        } else {
            "```repl\nbig = 3\nprint('x' * 15000)\n```".to_owned()
        })
    }) else {
        return;
    };
    let bench = world.bench("run", vec![content(&haystack().into())]);
    let problem = world.spec(|spec| spec.window_tokens = 8000).problem("run", "2026-01-01T00:00:00Z");
    let (progress, sink) = bench.drive(&problem, None).unwrap();
    assert_eq!(progress.variables().answer(), Some(json("[2,1,3]")));
    bench.check(&problem, &sink);
}

#[test]
fn forms_of_other_runtimes_count_only_when_they_are_asked_for() {
    let compat = |spec: &mut Spec| spec.forms = AnswerForms::Compat;
    let Some((progress, ..)) = solve(&["```repl\nfound = 'x' * 3\n```\nFINAL_VAR(found)"], compat) else {
        return;
    };
    assert_eq!(progress.variables().answer(), Some("xxx".into()));
    // A variable of the same block counts, and one that is not there is named.
    let turns = &["```repl\nFINAL_VAR('none')\n```", "```repl\nres = 7\nFINAL_VAR('res')\n```"];
    let (progress, ..) = solve(turns, compat).unwrap();
    assert_eq!((progress.turns(), progress.variables().answer()), (2, Some(7.into())));
    assert!(blocks(&progress)[0].refused[0].1.contains("no variable none"), "{:?}", blocks(&progress)[0]);
    let (progress, ..) = solve(&["I will FINAL(1) then.", "FINAL(42)"], compat).unwrap();
    assert_eq!(progress.variables().answer(), Some("42".into()));
    let turns = &["```repl\nanswer['content'] = [1]\nanswer['ready'] = True\n```"];
    assert_eq!(solve(turns, compat).unwrap().0.variables().answer(), Some(json("[1]")));
    let (progress, ..) = solve(&["FINAL(42)"], |spec| spec.limits.turns = 2).unwrap();
    assert_eq!(progress.variables().answer(), None);
}

#[test]
fn replies_without_code_or_text_go_on() {
    let turns = &["", "   ", "no code", "```json\n{}\n```", "```repl\nFinal = 0\n```"];
    let Some((progress, ..)) = solve(turns, |_| {}) else { return };
    assert_eq!((progress.turns(), progress.variables().answer()), (5, Some(0.into())));
}
