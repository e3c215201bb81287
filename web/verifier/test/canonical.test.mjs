/** Canonical bytes: golden vectors, and properties of values that a seeded generator makes. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { canonical, compareKeys, parse, parseBytes, Sha256, sha256 } from "../dist/index.js";
import { here } from "./helpers.mjs";

/** A generator of numbers from a seed, so that a failure can be repeated. */
function random(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const CHARS = ['"', "\\", "/", "\b", "\t", "\n", "\f", "\r", "\u0000", "\u001f", "\u007f", "é", "\u2028", "\ue000", "\uffff", "😀", "a", "0"];

function text(next) {
  return Array.from({ length: next(6) }, () => CHARS[next(CHARS.length)]).join("");
}

function double(next) {
  const view = new DataView(new ArrayBuffer(8));
  for (let at = 0; at < 8; at += 1) view.setUint8(at, next(256));
  const value = view.getFloat64(0);
  return Number.isFinite(value) ? value : next(1000) / 8;
}

function value(next, depth = 0) {
  switch (next(depth > 4 ? 5 : 7)) {
    case 0: return null;
    case 1: return next(2) === 0;
    case 2: return BigInt(next(2 ** 31)) ** BigInt(next(5)) * (next(2) === 0 ? 1n : -1n);
    case 3: return double(next);
    case 4: return text(next);
    case 5: return Array.from({ length: next(4) }, () => value(next, depth + 1));
    default: return new Map(Array.from({ length: next(4) }, () => [text(next), value(next, depth + 1)]));
  }
}

test("golden vectors keep their bytes and digests", async () => {
  const vectors = readFileSync(join(here, "golden.ndjson"), "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));
  assert.ok(vectors.length >= 30);
  for (const { input, canonical: expected, sha256: digest, error } of vectors) {
    if (error !== undefined) {
      assert.throws(() => parse(input), (thrown) => thrown.kind === error, input);
      continue;
    }
    const found = canonical(parse(input));
    assert.equal(found, expected, input);
    assert.equal(await sha256(new TextEncoder().encode(found)), digest, input);
  }
});

test("a canonical form reads back to itself, whatever the value", () => {
  const next = random(7);
  for (let round = 0; round < 5000; round += 1) {
    const form = canonical(value(next));
    assert.equal(canonical(parse(form)), form);
    // What JSON.parse understands of it has the same shape.
    assert.doesNotThrow(() => JSON.parse(form));
  }
});

test("doubles read back to the same bits", () => {
  const next = random(11);
  for (let round = 0; round < 20000; round += 1) {
    const made = double(next);
    assert.ok(Object.is(parse(canonical(made)), made) || Number.isInteger(made), String(made));
    assert.ok(Object.is(Number(canonical(made)), made));
  }
});

test("spaces, another order of keys and other escapes change nothing", () => {
  const next = random(13);
  const spelled = (made) => {
    const gap = [" ", "\n", "\t", ""][next(4)];
    if (Array.isArray(made)) return `[${gap}${made.map(spelled).join(`${gap},${gap}`)}]`;
    if (made instanceof Map) {
      const members = [...made].map(([key, item]) => `${escaped(key)}${gap}:${gap}${spelled(item)}`).reverse();
      return `{${gap}${members.join(`,${gap}`)}}`;
    }
    return typeof made === "string" ? escaped(made) : canonical(made);
  };
  const escaped = (made) => `"${[...made].map((char) => [...Array(char.length).keys()]
    .map((at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, "0")}`).join("")).join("")}"`;
  for (let round = 0; round < 2000; round += 1) {
    const made = value(next);
    assert.equal(canonical(parse(spelled(made))), canonical(made));
  }
});

test("keys stand in the order of their UTF-8 bytes", () => {
  const next = random(17);
  const keys = Array.from({ length: 400 }, () => text(next));
  const byBytes = [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  assert.deepEqual([...keys].sort(compareKeys), byBytes);
});

test("what is no JSON of this format is refused", () => {
  const bad = ["", " ", "{", "[1,]", "{,}", '{"a":1,}', "01", "-", "+1", ".5", "1.", "1e", "1e+", "0x1", "nul", "truee", '"\\x"', '"\\u12g4"', "'a'",
    "[1 2]", '{"a" 1}', '{a:1}', '"a\nb"', "1 2", "\u00a01", '"\\ud800"', '"\\udc00\\ud800"', '{"a":1,"a":2}', '{"a":1,"\\u0061":2}', "NaN", "-Infinity", "1e999",
    "[".repeat(513) + "]".repeat(513), "1".repeat(4301), "[".repeat(1e6), '{"a":'.repeat(1e5)];
  for (const one of bad) assert.throws(() => parse(one), (error) => error.kind !== undefined, one.slice(0, 40));
  assert.doesNotThrow(() => parse("[".repeat(512) + "]".repeat(512)));
  assert.doesNotThrow(() => parse(`-${"1".repeat(4300)}`));
  for (const bytes of [[0x22, 0xff, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22], [0x22, 0xc0, 0xaf, 0x22]]) {
    assert.throws(() => parseBytes(Uint8Array.from(bytes)), (error) => error.kind === "invalid_utf8");
  }
});

test("the hash that can be continued is SHA-256", () => {
  const next = random(19);
  for (let round = 0; round < 300; round += 1) {
    const bytes = Uint8Array.from({ length: next(400) }, () => next(256));
    const cut = next(bytes.length + 1);
    const begun = new Sha256().update(bytes.subarray(0, cut));
    const early = begun.clone();
    assert.equal(begun.update(bytes.subarray(cut)).hex(), createHash("sha256").update(bytes).digest("hex"));
    assert.equal(early.hex(), createHash("sha256").update(bytes.subarray(0, cut)).digest("hex"));
  }
});
