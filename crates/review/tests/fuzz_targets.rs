//! The fuzz targets of traces and logs over a small corpus: seeds, and seeds with a few bytes changed by fixed numbers.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests")]

#[path = "../../../fuzz/src/corpus.rs"]
mod corpus;
#[expect(unreachable_pub, reason = "a library when it is fuzzed, a module here")]
#[expect(clippy::expect_used, reason = "what must hold stops the target when it does not")]
#[path = "../../../fuzz/src/trace.rs"]
mod trace;

#[expect(unreachable_pub, reason = "a library when it is fuzzed, a module here")]
#[path = "../../../fuzz/src/import.rs"]
mod import;

/// The number of variants of each seed.
const VARIANTS: u64 = 400;

const TELLING: &[u8] = b" \n:{}[]\",0123456789abcdeflmnrstu.-+\\\x1b\xc3\xa9\xff";

const TRACE: &str = r#"{"trace_id": "t", "spec_version": "1.7", "assistant": "a", "model": "m", "timestamp": "2026-01-01",
 "trigger": {"type": "TaskReceived"}, "outcome": {"type": "ProcessCompleted"}, "files_modified": ["a.rs"],
 "actions": [
  {"id": 1, "category": "activity", "type": "EditFile", "label": "l", "rationale": "r", "inputs": [], "outputs": ["a1"],
   "evidence": [{"type": "FileRef", "ref": "a.rs"}], "meta_action_id": "m1"},
  {"id": 2, "category": "reasoning", "type": "Verify", "label": "l", "rationale": "r", "inputs": ["a1", "g"], "outputs": ["v"],
   "execution": {"tool": "z3"}, "meta_action_id": "m1"},
  {"id": 3, "category": "gateway", "type": "ExclusiveDecision", "label": "l", "rationale": "r", "decision_basis": "b",
   "options": [{"label": "o", "chosen": true, "next_action_id": 1}]}],
 "meta_actions": [{"id": "m1", "title": "t", "action_ids": [1, 2], "source": "plan_declared"}],
 "artifacts": [
  {"artifact_id": "a1", "artifact_type": "FormalModel", "producer_action_id": 1, "payload": {"model_language": "iml", "formal_code": "x"}},
  {"artifact_id": "g", "artifact_type": "VerificationGoal", "derived_from": ["a1"], "payload": {"goal_id": 1, "kind": "lemma",
   "description": "d", "src": "s", "target_artifact_id": "a1"}},
  {"artifact_id": "v", "artifact_type": "VerificationResult", "producer_action_id": 2, "derived_from": ["g", "a1"], "payload":
   {"goal_id": 1, "goal_artifact_id": "g", "status": "proved", "result": {"proved": {"proof_pp": "p"}}}}],
 "residuals": [{"residual_id": "r1", "kind": "assumption", "statement": "s", "severity": "high",
  "target": {"target_type": "artifact", "target_id": "a1"}}],
 "goals": [{"id": "g1", "intent": "i", "acceptance": [{"id": "x", "kind": "gap", "binding": {"residual_id": "r1"}}]}]}"#;

const CIRCLE: &str = r#"{"trace_id": "t", "actions": [{"id": 1, "type": "ReadFile", "outputs": ["a", "b"]}, {"id": 1}],
 "artifacts": [{"artifact_id": "a", "derived_from": ["b", "c"]}, {"artifact_id": "b", "derived_from": ["a"]},
 {"artifact_id": "c", "derived_from": ["c"]}, {"artifact_id": "a", "supersedes": "a"}, {"artifact_id": "d", "derived_from": ["x"]}]}"#;

const CLAUDE: &str = r#"{"type": "user", "sessionId": "s", "cwd": "/p", "message": {"content": "Mend the loader and test it"}}
{"type": "assistant", "message": {"model": "m", "content": [{"type": "text", "text": "Look."}, {"type": "tool_use", "id": "1", "name": "Edit", "input": {"file_path": "/p/a.rs"}}]}}
{"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "1", "content": "done, password=x"}]}}
{"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "2", "name": "Bash", "input": {"command": "cargo test"}}]}}
{"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "2", "content": "Exit code: 3", "is_error": true}]}}
"#;

const CODEX: &str = r#"{"type": "session_meta", "payload": {"id": "c"}}
{"type": "response_item", "payload": {"type": "custom_tool_call", "name": "apply_patch", "call_id": "2", "input": "*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** Add File: c"}}
{"type": "response_item", "payload": {"type": "function_call", "name": "update_plan", "arguments": "{\"plan\": [{\"step\": \"x\", \"status\": \"in_progress\"}]}"}}
{"type": "response_item", "payload": {"type": "function_call", "name": "shell", "call_id": "3", "arguments": "{\"command\": [\"git\", \"commit\"]}"}}
{"type": "response_item", "payload": {"type": "function_call_output", "call_id": "3", "output": "{\"output\": \"no\", \"metadata\": {\"exit_code\": 1}}"}}
"#;

const GEMINI: &str = r#"{"sessionId": "g", "messages": [{"type": "user", "content": "Do it now, all of it"}, {"type": "gemini",
 "toolCalls": [{"name": "write_file", "args": {"file_path": "a"}, "status": "success", "result": "ok"}]}]}"#;

const OTLP: &str = r#"{"resourceSpans": [{"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "s"}}]}, "scopeSpans": [{"spans": [
 {"traceId": "t", "spanId": "1", "name": "plan", "startTimeUnixNano": "1"},
 {"traceId": "t", "spanId": "2", "parentSpanId": "1", "name": "search", "startTimeUnixNano": "2", "endTimeUnixNano": "9000000",
  "attributes": [{"key": "ponens.outputs", "value": {"stringValue": "a, b"}}], "status": {"code": 2, "message": "no"}},
 {"traceId": "t", "spanId": "3", "parentSpanId": "1", "name": "chat", "attributes": {"ponens.inputs": "a, x"}}]}]}]}"#;

const LANGFUSE: &str = r#"{"id": "t", "userId": "u", "observations": [{"id": "1", "type": "GENERATION", "name": "chat", "startTime":
 "2026-01-01T00:00:00Z", "endTime": "2026-01-01T00:00:01Z", "output": {"a": 1}, "metadata": {"ponens.outputs": "o"}}]}"#;

/// The same spans as an export request in protobuf: one resource, one scope, one span with a name and ids.
const PROTOBUF: &[u8] = b"\x0a\x1e\x12\x1c\x12\x1a\x0a\x10tttttttttttttttt\x12\x01s\x2a\x03a b";

#[test]
fn traces_hold_over_the_corpus() {
    let seeds = ["", "null", "[[]]", r#"{"actions": 3}"#, CIRCLE, TRACE];
    corpus::run("trace", trace::trace, seeds, TELLING, VARIANTS);
}

#[test]
fn logs_hold_over_the_corpus() {
    let seeds = [CLAUDE, CODEX, GEMINI, OTLP, LANGFUSE].map(str::as_bytes);
    corpus::run(
        "import",
        import::import_log,
        seeds.into_iter().chain([PROTOBUF, b""]),
        TELLING,
        VARIANTS / 4,
    );
}
