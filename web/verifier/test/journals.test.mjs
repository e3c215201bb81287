/** Journals: fixtures of the repository, runs and bundles of the real binary, and what nobody should send. */

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { canonical, parse, sha256, verify } from "../dist/index.js";
import { chunks, cli, hence, level, noHence, root } from "./helpers.mjs";

const work = mkdtempSync(join(tmpdir(), "hence-verifier-"));
after(() => rmSync(work, { recursive: true, force: true }));

function ask(...args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...args, "--json"], { encoding: "utf8", maxBuffer: 1 << 28 });
  return { status, stderr, report: status === 2 ? null : JSON.parse(stdout) };
}

test("every run of the fixtures holds, and damaged ones are found where they are damaged", () => {
  const store = join(root, "fixtures", "store-1", "runs");
  for (const run of readdirSync(store)) {
    const { status, report } = ask(join(store, run));
    assert.equal(status, 0, run);
    for (const name of ["bytes", "chain", "linked", "spec"]) assert.equal(level(report, name).verdict, "holds", `${run} ${name}`);
    assert.equal(level(report, "replay").verdict, "not_checked");
  }
  const flipped = ask(join(root, "fixtures", "store-1-flipped", "runs", "flipped"));
  assert.equal(flipped.status, 1);
  assert.equal(flipped.report.intact, 7);
  assert.deepEqual(level(flipped.report, "chain").reasons.map((one) => one.code), ["record_hash_mismatch"]);
  const torn = ask(join(root, "fixtures", "store-1-torn", "runs", "torn"));
  assert.equal(torn.report.intact, 13);
  assert.ok(torn.report.torn_bytes > 0);
  assert.deepEqual(level(torn.report, "bytes").reasons.map((one) => one.code), ["missing_final_lf"]);
});

test("blobs are checked, and what needs a missing one is named", () => {
  const store = join(work, "blobs");
  cpSync(join(root, "fixtures", "store-1"), store, { recursive: true });
  const run = join(store, "runs", "blob");
  assert.ok(ask(run).report.items.some((item) => item.kind === "blob" && item.verdict === "holds"));
  const [folder] = readdirSync(join(store, "blobs"));
  const [name] = readdirSync(join(store, "blobs", folder));
  const path = join(store, "blobs", folder, name);
  writeFileSync(path, `${readFileSync(path, "utf8")} `);
  const altered = ask(run);
  assert.equal(altered.status, 1);
  assert.ok(altered.report.items.some((item) => item.verdict === "broken" && item.name === folder + name));
  rmSync(path);
  const missing = ask(run);
  assert.equal(missing.status, 0);
  assert.ok(missing.report.items.some((item) => item.verdict === "not_checked" && item.name === folder + name));
  assert.ok(level(missing.report, "spec").unchecked.some((one) => one.includes("the blob of")));
});

test("another skill than the pinned one is found", () => {
  const store = join(work, "skill");
  cpSync(join(root, "fixtures", "store-1"), store, { recursive: true });
  const path = join(store, "runs", "skill", "skill.json");
  writeFileSync(path, readFileSync(path, "utf8").replace("1.0.0", "1.0.1"));
  const { status, report } = ask(join(store, "runs", "skill"));
  assert.equal(status, 1);
  assert.ok(report.items.some((item) => item.name === "skill.json" && item.verdict === "broken"));
});

test("runs and bundles of the real binary hold, and agree with its own verdicts", { skip: noHence }, () => {
  const store = join(work, "store");
  const run = (...args) => spawnSync(hence, ["--store", store, ...args], { cwd: root, encoding: "utf8" });
  for (const file of readdirSync(join(root, "examples")).filter((name) => name.endsWith(".json"))) {
    run("run", join("examples", file));
    run("run", join("examples", file), "--profile", "compat", "--run-id", `compat-${file}`);
    run("run", join("examples", file), "--policy", "reasoning", "--policy", "records", "--run-id", `policy-${file}`);
  }
  const vendors = join("examples", "skills", "vendor-comparison");
  run("run", join(vendors, "skill.yaml"), "--input", `table=@${join(vendors, "vendors.csv")}`, "--run-id", "vendors");
  run("fork", "vendors", "--from", "check", "--run-id", "forked");
  run("vars", "init", "audit", "count the errors");
  run("vars", "set", "audit", "n", "3", "--type", "number");
  const runs = readdirSync(join(store, "runs"));
  assert.ok(runs.length >= 10, String(runs));
  for (const name of runs) {
    const { status, report } = ask(join(store, "runs", name));
    assert.equal(status, 0, `${name}: ${JSON.stringify(report)}`);
    assert.equal(level(report, "spec").verdict, "holds", name);
    const own = JSON.parse(execFileSync(hence, ["--store", store, "--json", "verify", report.trace_id], { encoding: "utf8" }));
    assert.equal(report.head, own.head, name);
    if (report.complete !== null) assert.equal(report.complete, own.complete, name);
  }
  assert.ok(ask(join(store, "runs", "forked")).report.items.some((item) => item.kind === "origin" && item.verdict === "holds"));
  const bundle = join(work, "bundle");
  run("export", "vendors", bundle);
  assert.equal(ask(bundle).status, 0);
  const problem = readFileSync(join(bundle, "problem.json"), "utf8");
  writeFileSync(join(bundle, "problem.json"), problem.replace("vendors", "vendorz"));
  const altered = ask(bundle);
  assert.equal(altered.status, 1);
  assert.ok(altered.report.items.some((item) => item.kind === "file" && item.name === "problem.json" && item.verdict === "broken"));
});

test("a head kept elsewhere shows a cut end", async () => {
  const bytes = readFileSync(join(root, "fixtures", "store-1", "runs", "strict", "trace.ndjson"), "utf8");
  const lines = bytes.split("\n").filter(Boolean);
  const anchor = { hash: JSON.parse(lines.at(-1)).record_hash, records: lines.length };
  const cut = await verify({ journal: chunks(`${lines.slice(0, -1).join("\n")}\n`), anchor });
  assert.equal(level(cut, "chain").verdict, "holds");
  assert.deepEqual(level(cut, "anchored").reasons.map((one) => one.code), ["record_count_mismatch"]);
  assert.equal(level(await verify({ journal: chunks(bytes), anchor }), "anchored").verdict, "holds");
  const other = await verify({ journal: chunks(bytes), anchor: { ...anchor, hash: "0".repeat(64) } });
  assert.deepEqual(level(other, "anchored").reasons.map((one) => one.code), ["head_mismatch"]);
});

test("a changed byte anywhere in a journal is found", async () => {
  const bytes = readFileSync(join(root, "fixtures", "store-1", "runs", "strict", "trace.ndjson"));
  for (let at = 0; at < bytes.length; at += 37) {
    const copy = Uint8Array.from(bytes);
    copy[at] ^= 1;
    const report = await verify({ journal: chunks(copy) });
    assert.equal(report.holds, false, `byte ${at}`);
  }
});

const HOSTILE = {
  blank: "\n", spaces: "  \t\n", crlf: "{}\r\n", bom: "\ufeff{}\n", list: "[1]\n", scalar: "1\n", empty: "{}\n", nul: "\u0000\n", duplicate: '{"a":1,"a":2}\n',
  surrogate: '{"a":"\\ud800"}\n', deep: `${"[".repeat(100000)}\n`, deepObject: `${'{"a":'.repeat(100000)}\n`, nan: '{"a":NaN}\n', huge: `{"a":1${"0".repeat(5000)}}\n`,
  exponent: '{"a":1e99999}\n', prototype: '{"__proto__":{"type":"header"},"type":"header"}\n', unfinished: '{"type":"hea', control: '{"type":"control"}\n',
  step: '{"type":"step","result":{}}\n', header: '{"type":"header","index":18446744073709551616,"record_hash":1}\n', version: '{"type":"header","version":"９９９９.1.1"}\n',
};

for (const [name, text] of Object.entries(HOSTILE)) {
  test(`hostile line: ${name}`, async () => {
    const genuine = readFileSync(join(root, "fixtures", "store-1", "runs", "strict", "trace.ndjson"), "utf8");
    const first = `${genuine.split("\n")[0]}\n`;
    for (const [journal, line] of [[text, 0], [first + text, 1]]) {
      const report = await verify({ journal: chunks(journal), problem: new TextEncoder().encode(text) });
      assert.equal(level(report, "chain").verdict, "broken");
      assert.equal(level(report, "chain").line, line);
    }
  });
}

test("bytes that are no UTF-8, in pieces of any size", async () => {
  const bytes = Uint8Array.from({ length: 4000 }, (_, at) => (at * 73 + (at >> 3)) % 256);
  for (const size of [1, 7, 4000]) {
    const parts = [];
    for (let at = 0; at < bytes.length; at += size) parts.push(bytes.subarray(at, at + size));
    assert.equal((await verify({ journal: chunks(...parts) })).holds, false);
  }
  assert.deepEqual(level(await verify({ journal: chunks() }), "chain").reasons.map((one) => one.code), ["empty_trace"]);
});

test("a line of 10 MB is read and one of 65 MB is refused", async () => {
  const long = await verify({ journal: chunks(`{"a":"${"x".repeat(10_000_000)}"}\n`) });
  assert.equal(level(long, "bytes").verdict, "holds");
  async function* endless() {
    const part = new Uint8Array(1 << 20).fill(0x20);
    for (let at = 0; at < 65; at += 1) yield part;
    yield Uint8Array.of(0x0a);
  }
  const report = await verify({ journal: endless() });
  assert.deepEqual(level(report, "chain").reasons.map((one) => one.code), ["line_too_long"]);
});

/** Makes the journal of a skill with many steps, hashed as docs/format.md says, without any state behind it. */
async function* longJournal(records) {
  const time = (at) => new Date(Date.UTC(2026, 0, 1) + at * 1000).toISOString().replace(".000", "");
  const zero = "0".repeat(64);
  const seal = async (members) => {
    const hash = await sha256(new TextEncoder().encode(canonical(new Map(Object.entries(members)))));
    return { hash, line: `${canonical(new Map(Object.entries({ ...members, record_hash: hash })))}\n` };
  };
  const json = (made) => parse(JSON.stringify(made));
  let { hash, line } = await seal({ canonicalization: "json-c14n-v1", clock: "ticking", created_at: time(0), engine_version: "0.1.0", hash_algorithm: "sha256", index: 0n,
    initial_state_hash: zero, problem_spec_hash: zero, profile: "strict", trace_id: "long", type: "header", version: "1.0.0" });
  yield new TextEncoder().encode(line);
  const output = json({ action: "set", at: time(0), state: "s" });
  const outputHash = await sha256(new TextEncoder().encode(canonical(output)));
  const inputHash = outputHash;
  for (let index = 1; index < records; index += 1) {
    ({ hash, line } = await seal({ index: BigInt(index), prev_hash: hash, result: new Map(Object.entries({ finished_at: time(index), input_hash: inputHash, output,
      output_hash: outputHash, started_at: time(index - 1), status: "success", step: "vars.set", version: "1.0.0" })), state_after_hash: zero, state_before_hash: zero,
      step_index: BigInt(index - 1), type: "step" }));
    yield new TextEncoder().encode(line);
  }
}

test("many records are read as a stream, in bounded memory", async () => {
  // The whole million takes minutes; HENCE_VERIFIER_RECORDS=1000000 asks for it.
  const records = Number(process.env.HENCE_VERIFIER_RECORDS ?? 20_000);
  let most = 0;
  const report = await verify({ journal: longJournal(records) }, { onProgress: () => { most = Math.max(most, process.memoryUsage().heapUsed); } });
  assert.equal(report.records, records);
  assert.equal(level(report, "linked").verdict, "holds", JSON.stringify(level(report, "linked")));
  assert.ok(most < 600 * 1024 * 1024, `${most} bytes`);
});

test("outputs beyond the memory limit are named as not checked", async () => {
  const report = await verify({ journal: longJournal(2000) }, { heldBytesMax: 50_000 });
  assert.equal(level(report, "chain").verdict, "holds");
  assert.ok(level(report, "linked").unchecked.some((one) => one.startsWith("records from ")));
});

test("the command says what is wrong with its arguments and prints no control characters", () => {
  assert.equal(spawnSync(process.execPath, [cli]).status, 2);
  assert.equal(spawnSync(process.execPath, [cli, join(work, "absent")]).status, 2);
  assert.equal(spawnSync(process.execPath, [cli, root, "--anchor", "x"]).status, 2);
  const path = join(work, "escape.ndjson");
  writeFileSync(path, '{"type":"header","version":"\\u001b[31m"}\n');
  const { stdout } = spawnSync(process.execPath, [cli, path], { encoding: "utf8" });
  assert.ok(stdout.includes("\\u001b") && !stdout.includes("\u001b"));
});

test("the run of a trace that an agent reports holds, and another report in its place is found", { skip: noHence }, () => {
  const store = join(work, "reported");
  const run = (...args) => execFileSync(hence, ["trace", ...args, "--store", store], { cwd: work, stdio: "pipe" });
  run("init", "reported", "Fix the rounding", "--agent", "an-agent");
  run("act", "reported", "EditFile", "Sum in cents", "--why", "Cents do not round");
  const folder = join(store, "runs", "reported");
  const { status, report } = ask(folder);
  assert.equal(status, 0, JSON.stringify(report.levels));
  assert.equal(report.kind, "trace");
  for (const name of ["linked", "spec"]) assert.match(level(report, name).unchecked.join(), /whether each operation follows/);
  // Without its problem the first step says what kind of run it is.
  assert.equal(ask(join(folder, "trace.ndjson")).report.kind, "trace");
  const altered = join(work, "altered.ndjson");
  const lines = readFileSync(join(folder, "trace.ndjson"), "utf8").trimEnd().split("\n").map((line) => parse(line));
  lines[2].get("result").set("step", "trace.link");
  writeFileSync(altered, rehashed(lines));
  const found = level(ask(altered).report, "linked");
  assert.equal(found.verdict, "broken");
  assert.equal(found.reasons[0].code, "result_refused");
});

/** The lines as somebody writes them who computes the chain anew. */
function rehashed(lines) {
  let before = null;
  return lines.map((record) => {
    if (before !== null) record.set("prev_hash", before);
    record.delete("record_hash");
    before = createHash("sha256").update(canonical(record)).digest("hex");
    record.set("record_hash", before);
    return `${canonical(record)}\n`;
  }).join("");
}
