/** The shared data: canonical bytes, whole journals, and every tampered journal with the verdict of each level. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { canonical, parse, sha256, verify } from "../dist/index.js";
import { chunks, hasShared, level, shared } from "./helpers.mjs";

const cases = (name) => readFileSync(join(shared, name), "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));
const options = { skip: hasShared };

/** Reads JSON that may hold a key twice, as the recorded engine did: the last one counts. */
function trustedProblem(text) {
  try {
    return parse(text);
  } catch (error) {
    assert.equal(error.kind, "duplicate_key");
    return null;
  }
}

function problemOf(one, base) {
  if (one.verify_against_spec !== undefined) return trustedProblem(one.verify_against_spec);
  return trustedProblem(base.request)?.get("problem_spec") ?? null;
}

test("canonical bytes and digests are the recorded ones", options, async () => {
  let count = 0;
  for (const one of cases("canonical_json.ndjson")) {
    const expect = one.strict ?? one.expect;
    if (expect.ok) {
      const text = canonical(parse(one.input_json));
      assert.equal(text, expect.canonical, one.id);
      assert.equal(await sha256(new TextEncoder().encode(text)), expect.sha256, one.id);
    } else {
      assert.throws(() => parse(one.input_json), (error) => error.kind === expect.error, one.id);
    }
    count += 1;
  }
  assert.ok(count > 0);
});

test("recorded journals hold at every level", options, async () => {
  let count = 0;
  for (const one of cases("executions.ndjson")) {
    const problem = trustedProblem(one.request)?.get("problem_spec");
    if (problem === undefined) continue;
    const report = await verify({
      journal: chunks(one.expect.trace_ndjson),
      problem: new TextEncoder().encode(canonical(problem)),
      anchor: { hash: one.expect.head_hash, records: one.expect.records },
    });
    assert.ok(report.holds, `${one.id}: ${JSON.stringify(report.levels)}`);
    assert.equal(report.complete, true, one.id);
    count += 1;
  }
  assert.ok(count > 300);
});

test("every tampered journal gets the recorded verdicts", options, async () => {
  const bases = new Map(cases("executions.ndjson").map((one) => [one.id, one]));
  const wrong = [];
  let count = 0;
  for (const one of cases("tampered_traces.ndjson")) {
    const base = bases.get(one.base);
    const problem = problemOf(one, base);
    const report = await verify({
      journal: chunks(Buffer.from(one.trace_b64, "base64")),
      problem: problem === null ? null : new TextEncoder().encode(canonical(problem)),
      anchor: { hash: base.expect.head_hash, records: base.expect.records },
    });
    for (const name of ["bytes", "chain", "linked", "spec", "anchored"]) {
      const expected = one.expect[name];
      if (expected === undefined || (name === "spec" && problem === null)) continue;
      const found = level(report, name);
      const same = expected.ok ? found.verdict === "holds" : found.verdict === "broken" && (expected.line ?? found.line) === found.line;
      if (!same) wrong.push(`${one.id} ${one.op} ${name}: expected ${JSON.stringify(expected)}, found ${JSON.stringify(found)}`);
    }
    const complete = one.expect.linked?.complete;
    if (complete !== undefined && level(report, "linked").verdict === "holds" && complete !== report.complete) {
      wrong.push(`${one.id} ${one.op}: complete ${complete}, found ${report.complete}`);
    }
    count += 1;
  }
  assert.deepEqual(wrong, []);
  assert.ok(count > 200);
});
