import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { test } from "node:test";

import { EmbeddedSource, readEmbedded } from "../../node_modules/.unit/source/embedded.js";
import { applied, shown, StateFold } from "../../node_modules/.unit/source/fold.js";
import { chunks } from "../../node_modules/.unit/source/source.js";

const LINES = ['{"index":0,"type":"header"}', '{"index":1,"result":{"output":{"input":{"q":1},"reads":["vars.a"],"writes":["vars.b"]}},"type":"step"}', '{"index":2,"type":"control"}'];

/** The data as a file has them: responses are texts. */
function asFile(held) {
  return { ...held, responses: Object.fromEntries(Object.entries(held.responses).map(([path, response]) => [path, JSON.stringify(response)])) };
}

function data() {
  let offset = 0;
  const items = LINES.map((line, index) => {
    const row = { index, kind: ["header", "step", "control"][index], what: ["strict", "read", "complete"][index], status: index === 1 ? "success" : null, logical_at: null, measured: null, hash: "h", offset, bytes: line.length };
    offset += line.length + 1;
    return row;
  });
  const base = "/runs/r%201";
  return {
    format: "hence-view/2", version: "0.1.0", run: "r 1", kind: "skill", left_out: [],
    responses: {
      [`${base}`]: { run: "r 1" },
      [`${base}/records`]: { total: 3, from: 0, next: null, items },
      [`${base}/state/patches`]: { total: 3, items: [{ index: 0, patch: [{ op: "set", at: "", value: { a: 1, list: [] } }] }, { index: 1, patch: [{ op: "set", at: "/list/0", value: "x" }, { op: "set", at: "/a", value: 2 }] }, { index: 2, patch: [{ op: "remove", at: "/a" }] }] },
      [`${base}/spans`]: { total: 3, from: 0, next: null, t0: null, items: [{ index: 1, track: "steps" }, { index: 1, track: "calls" }, { index: 2, track: "control" }] },
      [`${base}/gaps`]: { total: 2, from: 0, next: null, counts: [], items: [{ id: "g1", kind: "assumption" }, { id: "g2", kind: "unverified" }] },
      [`${base}/lineage`]: { total: 4, nodes: ["a", "b", "c", "d"].map((id) => ({ id })), edges: [{ from: "a", to: "b", kind: "used" }, { from: "b", to: "c", kind: "made" }, { from: "d", to: "c", kind: "made" }] },
      [`${base}/actions`]: { total: 1, items: [{ id: 7, index: 1 }] },
    },
    raw: { [`${base}/journal`]: { text: `${LINES.join("\n")}\n` }, "/blobs/ab": { base64: Buffer.from([0, 255]).toString("base64") } },
  };
}

test("a file is read: base64, gzip, JSON", async () => {
  const packed = gzipSync(JSON.stringify(asFile(data()))).toString("base64");
  const source = await readEmbedded(JSON.stringify({ format: "hence-view/2", encoding: "gzip+base64", data: packed }));
  assert.equal(source.run, "r 1");
  assert.deepEqual(await source.get("/runs/r%201"), { run: "r 1" });
  await assert.rejects(readEmbedded(JSON.stringify({ format: "other", data: "" })), /format/);
});

test("windows and filters are taken from whole lists", async () => {
  const source = new EmbeddedSource(asFile(data()));
  const records = await source.get("/runs/r%201/records", { from: 1, limit: 1 });
  assert.deepEqual([records.items.length, records.items[0].index, records.total, records.next], [1, 1, 3, 2]);
  const spans = await source.get("/runs/r%201/spans", { from: 1, limit: 1 });
  assert.deepEqual(spans.items.map((span) => span.track), ["steps", "calls"]);
  assert.deepEqual([spans.total, spans.next], [3, 2]);
  const gaps = await source.get("/runs/r%201/gaps", { kind: "unverified" });
  assert.deepEqual(gaps.items.map((gap) => gap.id), ["g2"]);
  await assert.rejects(source.get("/runs/other"), /does not hold/);
  await assert.rejects(source.get("/runs/r%201/__proto__"), /does not hold/);
  await assert.rejects(source.post("/x", {}), /nothing can be recorded/);
});

test("states, changes and values follow from the patches", async () => {
  const source = new EmbeddedSource(asFile(data()));
  const state = await source.get("/runs/r%201/state", { at: 1 });
  assert.deepEqual(state.value.value, { a: 2, list: ["x"] });
  assert.deepEqual((await source.get("/runs/r%201/state", { at: 0 })).value.value, { a: 1, list: [] });
  const changed = await source.get("/runs/r%201/state/changes", { at: 2 });
  assert.deepEqual(changed.items.map((item) => [item.pointer, item.change]), [["/a", "removed"]]);
  const values = await source.get("/runs/r%201/state/values", { pointer: "/a" });
  assert.deepEqual(values.items.map((item) => [item.index, item.change, item.value?.value]), [[0, "added", 1], [1, "changed", 2], [2, "removed", undefined]]);
});

test("a record is made from its line, and a search reads the lines", async () => {
  const source = new EmbeddedSource(asFile(data()));
  const record = await source.get("/runs/r%201/records/1");
  assert.deepEqual([record.line, record.reads[0].place, record.writes[0].place, record.input.value, record.actions], [LINES[1], "vars.a", "vars.b", { q: 1 }, [7]]);
  const found = await source.get("/runs/r%201/search", { text: "VARS" });
  assert.deepEqual(found.items.map((hit) => hit.index), [1]);
  await assert.rejects(source.get("/runs/r%201/records/9"), /record 9/);
});

test("the lineage of one node is walked in the direction that was asked for", async () => {
  const source = new EmbeddedSource(asFile(data()));
  const ids = async (direction) => (await source.get("/runs/r%201/lineage", { node: "b", direction })).nodes.map((node) => node.id);
  assert.deepEqual(await ids("ancestors"), ["a", "b"]);
  assert.deepEqual(await ids("descendants"), ["b", "c"]);
  assert.deepEqual(await ids("both"), ["a", "b", "c"]);
});

test("an overview that a file does not hold is made from the spans", async () => {
  const held = data();
  held.responses["/runs/r%201/spans"].items = [{ index: 1, track: "steps", status: "failed", start_ms: 5, end_ms: 9, duration_ms: 4 }, { index: 1, track: "people", status: "answered", start_ms: 6, end_ms: 20, duration_ms: 14 }];
  const overview = await new EmbeddedSource(asFile(held)).get("/runs/r%201/spans/overview", { buckets: 10 });
  assert.deepEqual([overview.total, overview.end_ms, overview.items.length], [2, 20, 1]);
  assert.deepEqual([overview.items[0].failed, overview.items[0].wait_ms, overview.items[0].busy_ms, overview.items[0].people], [1, 14, 4, 1]);
});

test("bytes are given in parts until all are there", async () => {
  const source = new EmbeddedSource(asFile(data()));
  let text = "";
  for await (const part of chunks(source, "/runs/r%201/journal")) text += Buffer.from(part).toString();
  assert.equal(text, `${LINES.join("\n")}\n`);
  assert.deepEqual([...(await source.bytes("/blobs/ab", 1, 10)).bytes], [255]);
});

test("an operation never changes the state before it", () => {
  const before = { a: { b: [1, 2] } };
  const after = applied(before, { op: "remove", at: "/a/b/0" });
  assert.deepEqual([before, after], [{ a: { b: [1, 2] } }, { a: { b: [2] } }]);
  assert.equal({}.polluted, undefined);
  applied({}, { op: "set", at: "/__proto__/polluted", value: 1 });
  assert.equal({}.polluted, undefined);
  const fold = new StateFold(Array.from({ length: 1000 }, (_, index) => ({ index, patch: [index === 0 ? { op: "set", at: "", value: { n: 0 } } : { op: "set", at: "/n", value: index }] })));
  for (const at of [999, 0, 512, 300, 301, 255, 256]) assert.deepEqual(fold.at(at), { n: at });
});

test("a long value is shown by its start", () => {
  assert.deepEqual([shown("x").whole, shown("x".repeat(5000)).whole, shown("x".repeat(5000)).start.length], [true, false, 512]);
  assert.deepEqual([shown([1]).kind, shown({}).kind, shown(null).kind, shown(1.5).kind, shown(false).kind], ["array", "object", "null", "number", "boolean"]);
});
