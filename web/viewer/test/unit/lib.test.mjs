import assert from "node:assert/strict";
import { test } from "node:test";

import { fieldsOf, readAnswer } from "../../node_modules/.unit/lib/answerform.js";
import { ago, bytes, count, duration, moneyChange, outcomeText } from "../../node_modules/.unit/lib/format.js";
import { ExactNumber, numberOf, parseJson, printJson } from "../../node_modules/.unit/lib/json.js";
import { diffLines } from "../../node_modules/.unit/lib/linediff.js";
import { nested } from "../../node_modules/.unit/lib/nesting.js";
import { changes, rowsOf, valueAt } from "../../node_modules/.unit/lib/pointer.js";
import { recordHash, withoutMember } from "../../node_modules/.unit/lib/recordhash.js";
import { parseRoute, runAddress } from "../../node_modules/.unit/lib/route.js";
import { treeRows } from "../../node_modules/.unit/lib/statetree.js";
import { look } from "../../node_modules/.unit/lib/status.js";
import { oneLine, pieces, visible } from "../../node_modules/.unit/lib/text.js";
import { PageCache, pagesOf } from "../../node_modules/.unit/lib/windows.js";

test("an address is read back as it was written", () => {
  for (const [view, step, query] of [["answer", null, {}], ["record", 12, {}], ["state", 3, { path: "/artifacts/a b", after: "1" }], ["timeline", null, { by: "time" }], ["answer", 4, {}]]) {
    const route = parseRoute(runAddress("a/b #ü?&", view, step, query));
    assert.equal(route.page, "run");
    assert.deepEqual([route.run, route.view, route.step], ["a/b #ü?&", view, step]);
    for (const [key, value] of Object.entries(query)) assert.equal(route.query[key], value);
  }
});

test("an address that names no view is unknown and never an exception", () => {
  for (const hash of ["#/run", "#/run/a/step", "#/run/a/step/x", "#/run/a/step/-1", "#/run/a/step/99999999999999999999", "#/run/a/b/1", "#/nowhere", "#/run/a/step/1/more"]) {
    assert.equal(parseRoute(hash).page, "unknown", hash);
  }
  assert.equal(parseRoute("#/run/%E0%A4%A").run, "%E0%A4%A");
  assert.equal(parseRoute("").page, "runs");
  assert.equal(parseRoute("#/run/a?view=nonsense").view, "answer");
  assert.equal(parseRoute("#/run/a?__proto__=x").query.polluted, undefined);
});

test("characters that change how a text reads are shown by number", () => {
  assert.equal(visible("a\u202eb\u001b[31m\u200b\u0000\u2066"), "a⟨U+202E⟩b⟨U+001B⟩[31m⟨U+200B⟩⟨U+0000⟩⟨U+2066⟩");
  assert.equal(visible("\ud800x"), "⟨U+D800⟩x");
  assert.equal(visible("\u{e0041}"), "⟨U+E0041⟩");
  assert.equal(visible("line\n\ttab é 日本 👩‍💻 ❤️"), "line\n\ttab é 日本 👩‍💻 ❤️");
  assert.deepEqual(pieces(""), []);
  assert.equal(oneLine("a\n\n b   c", 20), "a b c");
  assert.equal(oneLine("x".repeat(100), 10), `${"x".repeat(9)}…`);
});

test("numbers keep the spelling that a double would lose", () => {
  const text = '{"a":1.0,"b":12345678901234567890,"c":7,"d":[1e-05,-0.0]}';
  const value = parseJson(text);
  assert.equal(numberOf(value.c), 7);
  // Node 20 does not give the source of a number; a browser that does keeps it.
  if (value.a instanceof ExactNumber) {
    assert.equal(printJson(value, 0), text);
    assert.equal(numberOf(value.a), 1);
  } else assert.equal(value.a, 1);
  assert.equal(printJson({ x: new ExactNumber("1.0"), y: ["é", null, true], z: {} }, 0), '{"x":1.0,"y":["é",null,true],"z":{}}');
});

test("pointers find values, and changes name the highest place that differs", () => {
  const before = { a: { b: [1, 2] }, "x/y": 1, gone: true };
  const after = { a: { b: [1, 3, 4] }, "x/y": 1, "~": 0 };
  assert.equal(valueAt(after, "/a/b/2"), 4);
  assert.equal(valueAt(after, "/x~1y"), 1);
  assert.equal(valueAt(after, "/__proto__"), undefined);
  assert.equal(valueAt(after, "/a/b/01"), undefined);
  assert.deepEqual(changes(before, after).sort(), ["/a/b/1", "/a/b/2", "/gone", "/~0"].sort());
  assert.deepEqual(changes(after, after), []);
  assert.equal(changes({ a: [1, 2, 3] }, { a: [4, 5, 6] }, 2).length, 2);
  const rows = rowsOf({ a: { b: 1 }, c: [] }, (pointer) => pointer !== "/a");
  assert.deepEqual(rows.map((row) => row.pointer), ["", "/a", "/c"]);
});

test("a state of which parts are loaded is laid out with its changes", () => {
  const shown = (value, whole = true) => ({ kind: Array.isArray(value) ? "array" : typeof value === "object" ? "object" : "string", bytes: 10, count: Object.keys(value).length, whole, value: whole ? value : null, start: whole ? null : "{…" });
  const root = { total: 3, items: [{ key: "a", pointer: "/a", value: shown({ b: "x" }) }, { key: "big", pointer: "/big", value: shown({ c: 1 }, false) }] };
  const below = { total: 1, items: [{ key: "c", pointer: "/big/c", value: shown("y") }] };
  const rows = treeRows(root, { isOpen: () => true, loaded: (pointer) => (pointer === "/big" ? below : undefined), changed: new Set(["/big/c"]) }, 100);
  assert.deepEqual(rows.map((row) => [row.pointer, row.depth, row.lit, row.rest]), [["/a", 0, null, null], ["/a/b", 1, null, null], ["/big", 0, "inside", null], ["/big/c", 1, "changed", null], ["", 0, null, 1]]);
});

test("a difference of lines shows what was added and removed, and folds what is equal", () => {
  const many = Array.from({ length: 30 }, (_, at) => `line ${at}`);
  const lines = diffLines(many.join("\n"), many.with(15, "other").join("\n"));
  assert.deepEqual(lines.filter((line) => line.kind === "removed" || line.kind === "added").map((line) => line.text), ["line 15", "other"]);
  assert.deepEqual(lines.filter((line) => line.kind === "skipped").map((line) => line.text), ["12 equal lines", "11 equal lines"]);
  assert.deepEqual(diffLines("a\nb\nc", "a\nc").map((line) => line.kind), ["same", "removed", "same"]);
});

test("rows are put under the rows they belong to, also when they name each other in a circle", () => {
  const rows = [{ id: "c", up: "a" }, { id: "a", up: null }, { id: "x", up: "y" }, { id: "y", up: "x" }, { id: "b", up: "gone" }];
  assert.deepEqual(nested(rows, (row) => row.id, (row) => row.up).map(({ item, depth }) => [item.id, depth]), [["a", 0], ["c", 1], ["b", 0], ["x", 0], ["y", 1]]);
});

test("the hash of a record leaves out its own member and nothing else", async () => {
  const text = new TextEncoder();
  const hash = "d".repeat(64);
  const cut = (line) => new TextDecoder().decode(withoutMember(text.encode(line)));
  assert.equal(cut(`{"a":1,"record_hash":"${hash}","z":2}`), '{"a":1,"z":2}');
  assert.equal(cut(`{"a":1,"record_hash":"${hash}"}`), '{"a":1}');
  assert.equal(cut(`{"a":{"record_hash":"${hash}"},"b":"\\"record_hash\\":","record_hash":"${hash}","z":[]}`), `{"a":{"record_hash":"${hash}"},"b":"\\"record_hash\\":","z":[]}`);
  assert.equal(withoutMember(text.encode('{"a":1}')), null);
  assert.equal(withoutMember(text.encode('{"record_hash":"short"}')), null);
  // The last record of the example in docs/format.md.
  const line = '{"action":"complete","at":"2026-03-02T09:00:08Z","control_type":"run","index":8,"prev_hash":"b30573c17825bd67ba53a86be8a389c5f52f61b4b29c11d89ea533d9b3f71d3c","record_hash":"4313f3f3fd8fa0a3550cbff2449ae2393356886d49e3a7697e7fd4f53330e3b7","state_hash":"d1fbfbd2ce864a22c1b59fc6cf40d88ffcf0bc28f76779fde62ee25bbdb4cad9","type":"control"}';
  assert.equal(await recordHash(text.encode(line)), "4313f3f3fd8fa0a3550cbff2449ae2393356886d49e3a7697e7fd4f53330e3b7");
});

test("a list is loaded by pages, each once, and only so many are held", async () => {
  assert.deepEqual(pagesOf({ from: 95, to: 205 }, 100, 1000), [0, 1, 2]);
  assert.deepEqual(pagesOf({ from: 0, to: 50 }, 100, 0), []);
  let loads = 0;
  const cache = new PageCache(10, 2, async (from, size) => {
    loads += 1;
    if (from === 30) throw new Error("gone");
    return Array.from({ length: size }, (_, at) => from + at);
  }, () => undefined);
  await Promise.all([cache.want({ from: 0, to: 5 }, 100), cache.want({ from: 3, to: 12 }, 100)]);
  assert.equal(loads, 2);
  assert.equal(cache.get(11), 11);
  assert.equal(cache.get(25), undefined);
  await cache.want({ from: 20, to: 21 }, 100);
  assert.equal(cache.heldPages, 2);
  assert.equal(cache.get(0), undefined);
  await cache.want({ from: 30, to: 31 }, 100);
  assert.match(String(cache.failures.get(3)), /gone/);
});

test("a list that grew loads its last page again", async () => {
  let total = 12;
  const cache = new PageCache(10, 5, async (from, size) => Array.from({ length: Math.min(size, total - from) }, (_, at) => from + at), () => undefined);
  await cache.want({ from: 0, to: 12 }, 12);
  assert.equal(cache.get(12), undefined);
  total = 14;
  await cache.want({ from: 12, to: 14 }, 14);
  assert.equal(cache.get(13), 13);
});

test("an answer is read from the fields that its schema asks for", () => {
  const schema = { type: "object", required: ["refund"], properties: { refund: { type: "boolean" }, amount: { type: "number" }, why: { type: "string", maxLength: 80 }, kind: { enum: ["a", 2, null] }, more: { type: "array" } } };
  const fields = fieldsOf({ type: null, options: null, schema });
  assert.deepEqual(fields.map((field) => field.kind), ["boolean", "number", "text", "choice", "json"]);
  assert.deepEqual(readAnswer(fields, { refund: "true", amount: "1.5", kind: "1", more: "[1]" }), { value: { refund: true, amount: 1.5, kind: 2, more: [1] } });
  assert.match(readAnswer(fields, {}).problem, /refund is missing/);
  const stored = { type: "object", required: ["refund", "note"], properties: { amount: { type: "number" }, note: { type: "string" }, refund: { type: "boolean" } } };
  assert.deepEqual(fieldsOf({ type: null, options: null, schema: stored }).map((field) => field.name), ["refund", "note", "amount"], "required members in the order of their list");
  assert.match(readAnswer(fields, { refund: "true", amount: "many" }).problem, /number/);
  assert.match(readAnswer(fields, { refund: "true", more: "{" }).problem, /JSON/);
  assert.deepEqual(readAnswer(fieldsOf({ type: null, options: ["yes", "no"], schema: null }), { "": "1" }), { value: "no" });
  assert.deepEqual(readAnswer(fieldsOf({ type: "boolean", options: null, schema: null }), { "": "false" }), { value: false });
  assert.match(readAnswer(fieldsOf({ type: "integer", options: null, schema: null }), { "": "1.5" }).problem, /integer/);
  assert.deepEqual(readAnswer(fieldsOf({ type: "string", options: null, schema: null }), { "": " x " }), { value: " x " });
});

test("figures are written as people read them", () => {
  assert.deepEqual([0, 999, 1500, 61_000, 3_700_000, 90_000_000].map(duration), ["0 ms", "999 ms", "1.50 s", "1 min 1 s", "1 h 1 min", "1 d 1 h"]);
  assert.equal(duration(null), "not measured");
  assert.equal(count(1234567), "1\u202f234\u202f567");
  assert.deepEqual([512, 2048, 3 * 1024 * 1024].map(bytes), ["512 B", "2.0 KiB", "3.0 MiB"]);
  assert.equal(ago("2026-01-01T00:00:00Z", Date.parse("2026-01-03T00:00:00Z")), "2 d ago");
  assert.deepEqual(["1 actions, 2 artifacts", "it sums carts"].map(outcomeText), ["1 action, 2 artifacts", "it sums carts"]);
  assert.equal(look("absent").tone, "unknown", "a rule of absence is no pass");
  assert.equal(look("somethingelse").word, "somethingelse");
  assert.equal(look("constructor").tone, "unknown");
});

test("numbers that a double would change keep their text, with and without the fast way", () => {
  // Only newer engines give the source of a number; elsewhere a double is all there is.
  const hasSources = JSON.parse("1.0", (_key, _value, context) => context?.source ?? null) === "1.0";
  for (const text of !hasSources ? [] : ['{"a":1.0}', "[12345678901234567890]", '{"a":[1e5]}', "[-0]", "1.50", '{"a": -12345678901234567}']) {
    assert.equal(printJson(parseJson(text), 0), text.replaceAll(" ", ""), text);
  }
  for (const text of ['{"a":1,"b":"x:1.5","c":[0,-7,12345]}', "7", '"1.0"', "[]"]) assert.deepEqual(parseJson(text), JSON.parse(text));
});

test("two costs are compared exactly, currency by currency", () => {
  const money = (amount, currency = "EUR") => [{ amount, currency }];
  assert.equal(moneyChange(money("0.00003405"), money("0.00003465")), "+0.0000006 EUR");
  assert.equal(moneyChange(money("120"), money("20.5")), "−99.5 EUR");
  assert.equal(moneyChange(money("10"), money("30")), "+20 EUR");
  assert.equal(moneyChange(money("1.50"), money("1.5")), "");
  assert.equal(moneyChange(money("1"), money("1", "USD")), "");
  assert.equal(moneyChange(money("1e3"), money("1")), "");
});
