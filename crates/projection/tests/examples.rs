//! Every example skill, run with the built-in capabilities, becomes a trace without findings.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    clippy::panic,
    reason = "a test that cannot go on should stop"
)]

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use hence_canon::{Canonical, Object, Value, canonical_bytes, parse};
use hence_capabilities::Library;
use hence_cognition::capability::TrustLevel;
use hence_cognition::run::Prepared;
use hence_cognition::schedule::FailureMode;
use hence_cognition::skill::{Need, Skill};
use hence_engine::{MemorySink, Run, Sink, without_defects};
use hence_projection::{Program, RecordedRun, trace_of_run};
use hence_review::validate::validate_canonical;
use hence_skills::{Links, NewSkillRun, SkillProgram, finish};
use hence_state::{ProblemSpec, Profile, Timestamp};

/// Gives each required text the content of a file of the example, those whose name it shares first.
fn inputs(skill: &Skill, folder: &Path) -> Object {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.retain(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        path.is_file() && name != "README.md" && !name.ends_with(".yaml")
    });
    let required =
        skill.inputs.iter().filter(|(_, field)| field.need == Need::Required && &*field.kind == "string");
    required
        .filter_map(|(name, _)| {
            let named = files.iter().find(|path| path.file_stem().is_some_and(|stem| stem == &**name));
            let text = std::fs::read_to_string(named.or(files.first())?).ok()?;
            Some((name.clone(), Value::from(text)))
        })
        .collect()
}

fn shown(folder: &Path) -> Option<Value> {
    let text = std::fs::read(folder.join("skill.yaml")).ok()?;
    let source = Canonical::of(hence_yaml::parse(&text).unwrap().value());
    let skill = Skill::read(&parse(source.bytes()).unwrap()).skill.unwrap();
    let library = Library::built_in();
    let prepared = Prepared::of(&skill, &library).unwrap();
    let new = NewSkillRun {
        id: "example".to_owned(),
        created_at: Timestamp::parse("2026-02-02T00:00:00Z").unwrap(),
        capabilities: None,
        policies: None,
        limits: Default::default(),
        links: Links::default(),
        inputs: inputs(&skill, folder),
        frame: None,
        on_failure: FailureMode::FailFast,
        trust: TrustLevel::default(),
    };
    let problem = new.problem(prepared.skill(), &source);
    let spec = Arc::new(ProblemSpec::decode(&problem, &Profile::STRICT).unwrap());
    // An example that is given more than a text, or calls more than functions, is tried where its own test is.
    let (run, header) = Run::start(SkillProgram::new(spec, &prepared, &source, &library).ok()?).ok()?;
    let mut sink = MemorySink::default();
    sink.append(&header).unwrap();
    finish(run, NonZeroUsize::MIN, &mut sink, |_| {}).ok()?;
    let problem = without_defects(problem);
    let recorded = RecordedRun {
        journal: &sink.journal,
        problem: &problem,
        blobs: &sink.blobs,
        links: &[],
        calls: None,
    };
    let program = Program::Skill { prepared: &prepared, source: &source, host: &library };
    let trace = trace_of_run(program, &recorded).unwrap();
    let again = trace_of_run(program, &recorded).unwrap();
    assert_eq!(canonical_bytes(&trace), canonical_bytes(&again));
    Some(trace)
}

#[test]
fn every_example_skill_becomes_a_valid_trace() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/skills"));
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let Some(trace) = shown(&path) else {
            eprintln!("{} is not tried here", path.display());
            continue;
        };
        let report = validate_canonical(&trace);
        assert!(report.findings().is_empty(), "{}: {:#?}", path.display(), report.findings());
        assert!(trace.get("residuals").unwrap().as_array().is_some_and(|gaps| !gaps.is_empty()));
        seen += 1;
    }
    assert!(seen >= 2, "no example was shown");
}
