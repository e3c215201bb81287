import assert from "node:assert/strict";
import { test } from "node:test";

import { SpanStore } from "../../node_modules/.unit/lib/spans.js";
import { foldedScale, lanesOf, merged, plainScale, prefersOrder, recordsBetween, ticks, toDomain, toUnit, withUntimed } from "../../node_modules/.unit/lib/timeline.js";

const span = (index, more = {}) => ({ index, track: "steps", name: `s${index}`, key: null, status: "success", start_ms: null, end_ms: null, duration_ms: null, measured: true, attempt: null, model: null, ...more });

test("intervals that touch are joined", () => {
  assert.deepEqual(merged([[5, 7], [0, 2], [2, 3], [6, 9], [4, 1]]), [[0, 3], [5, 9]]);
  assert.deepEqual(merged([]), []);
});

test("long idle time is folded, short idle time is not, and places go both ways", () => {
  const hour = 3_600_000;
  const scale = foldedScale([[0, 1000], [1100, 2000], [hour, hour + 1000]]);
  assert.equal(scale.folds.length, 1);
  assert.deepEqual([scale.folds[0].from, scale.folds[0].to], [2000, hour]);
  assert.ok(scale.length < 4000, "an hour takes no room");
  for (const at of [0, 500, 1050, 2000, hour, hour + 500, hour + 1000]) assert.ok(Math.abs(toDomain(scale, toUnit(scale, at)) - at) < 1e-6, String(at));
  const inside = toUnit(scale, hour / 2);
  assert.ok(inside > scale.folds[0].unit && inside < scale.folds[0].unit + scale.folds[0].width);
  let last = -1;
  for (let at = 0; at <= hour + 1000; at += 997) {
    const unit = toUnit(scale, at);
    assert.ok(unit >= last, "the scale never goes back");
    last = unit;
  }
});

test("a scale of nothing, of one moment and of order does not divide by zero", () => {
  assert.equal(foldedScale([]).length, 1);
  const moment = foldedScale([[7, 7]]);
  assert.equal(toUnit(moment, 7), 0);
  assert.ok(Number.isFinite(toDomain(moment, 0.5)));
  const order = plainScale(0, 10);
  assert.equal(toUnit(order, 4), 4);
  assert.equal(toUnit(order, 99), 10);
});

test("what overlaps has lanes of its own, and a further attempt is drawn below the first", () => {
  const { placed, lanes } = lanesOf([
    { span: span(1), from: 0, to: 10 }, { span: span(2), from: 2, to: 4 }, { span: span(3), from: 4, to: 6 }, { span: span(4, { attempt: 3 }), from: 20, to: 30 },
  ]);
  assert.deepEqual(placed.map((one) => [one.span.index, one.lane]), [[1, 0], [2, 1], [3, 1], [4, 2]]);
  assert.equal(lanes, 3);
  const many = lanesOf(Array.from({ length: 100 }, (_, at) => ({ span: span(at), from: 0, to: 5 })), 5);
  assert.equal(many.lanes, 5);
  for (const [at, one] of placed.entries()) {
    for (const other of placed.slice(at + 1)) assert.ok(one.lane !== other.lane || one.to <= other.from || other.to <= one.from);
  }
});

test("the records in view follow from the buckets", () => {
  const bucket = (from, to, start_ms, end_ms) => ({ from, to, start_ms, end_ms, steps: 1, calls: 0, people: 0, failed: 0, busy_ms: 5, wait_ms: 0 });
  const buckets = [bucket(0, 9, 0, 100), bucket(10, 19, 100, 200), bucket(20, 29, 500, 600)];
  assert.deepEqual(recordsBetween(buckets, 150, 300), { from: 10, to: 20 });
  assert.deepEqual(recordsBetween(buckets, 0, 1000), { from: 0, to: 30 });
  assert.deepEqual(recordsBetween(buckets, 300, 400), { from: 0, to: 0 });
  assert.equal(prefersOrder(buckets), true);
  assert.equal(prefersOrder([{ ...bucket(0, 1, 0, 100), busy_ms: 80 }]), false);
  assert.equal(prefersOrder([bucket(0, 1, null, null)]), true);
});

test("what has no measured time has room after everything that was measured", () => {
  const scale = withUntimed(plainScale(0, 100));
  assert.equal(scale.untimedFrom, 100);
  assert.ok(scale.length > 100);
  assert.equal(toDomain(scale, scale.length), 100, "no time is made up for it");
});

test("an axis has round steps", () => {
  assert.deepEqual(ticks(0, 100, 5), [0, 20, 40, 60, 80, 100]);
  assert.deepEqual(ticks(3, 3, 5), []);
  assert.deepEqual(ticks(0, 3, 8, 1), [0, 1, 2, 3], "an axis of records has no half records");
});

test("spans are read by windows, each once, also when a window comes in parts", async () => {
  const asked = [];
  const store = new SpanStore(async (from, limit) => {
    asked.push([from, limit]);
    const end = Math.min(from + limit, from + 300);
    return { total: 2000, from, next: end, t0: null, items: Array.from({ length: end - from }, (_, at) => span(from + at)) };
  }, () => undefined);
  const found = await store.range(400, 700);
  assert.deepEqual([found.length, found[0].index, found.at(-1).index], [300, 400, 699]);
  await store.range(410, 420);
  assert.deepEqual(asked, [[0, 500], [500, 500], [300, 200], [800, 200]]);
});
