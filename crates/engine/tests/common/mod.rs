//! Real journals for tests that alter them.

use hence_canon::parse;
use hence_engine::{Engine, MemorySink, Reason, Request, Run, Sink};
use hence_state::Profile;

/// Runs a problem whose loop has the given number of iterations, and returns its journal.
pub(crate) fn journal(iterations: u32, profile: Profile) -> Vec<u8> {
    let problem = format!(
        r#"{{"version":"1.0.0","id":"täst","created_at":"2026-02-02T00:00:00Z",
            "inputs":{{"prompt":"line one\nline \"two\" é😀","context":{{"evidence":[{{"weight":0.25}}]}}}},
            "settings":{{"loop":{{"enabled":true,"start_step":"AcquireEvidence","end_step":"Verify",
                "max_iterations":{iterations},
                "stop_condition":{{"path":"artifacts.verification.status","operator":"equals","value":"no"}}}}}}}}"#
    );
    let request = Request::of_value(parse(problem.as_bytes()).unwrap(), profile);
    let (run, header) = Run::start(Reason::new(Engine::new().plan(&request).unwrap())).unwrap();
    let mut sink = MemorySink::default();
    sink.append(&header).unwrap();
    run.finish(&mut sink, |_| {}).unwrap();
    sink.journal
}
