/** The members of records and their types: docs/format.md sections 3 and 4. */

import { canonical, isObject, member, type Json, type JsonObject } from "./json.js";
import { reason, type Reason } from "./report.js";

export type Profile = "strict" | "strict-2" | "compat";
export type RecordKind = "header" | "step" | "control" | "unknown";

const HASH = /^[0-9a-f]{64}$/;
const STRICT_TIME = /^(\d{4})-(\d{2})-(\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/;
const COMPAT_TIME = /^\p{Nd}{4}-\p{Nd}{2}-\p{Nd}{2}T\p{Nd}{2}:\p{Nd}{2}:\p{Nd}{2}Z$/u;
const SEMVER =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?$/;
const COMPAT_VERSION = /^(\p{Nd}+)\.\p{Nd}+\.\p{Nd}+\n?$/u;
const INDEX_MAX = (1n << 64n) - 1n;

export function isHash(value: Json | undefined): value is string {
  return typeof value === "string" && HASH.test(value);
}

export function kindOf(record: JsonObject): RecordKind {
  const type = record.get("type");
  return type === "header" || type === "step" || type === "control" ? type : "unknown";
}

/** Returns the profile a header names; nothing for a word that is no profile. */
export function profileOf(header: JsonObject): Profile | null {
  const word = header.get("profile");
  if (word === undefined) return "compat";
  return word === "strict" || word === "strict-2" || word === "compat" ? word : null;
}

export function indexOf(value: Json | undefined, from = 0n): bigint | null {
  return typeof value === "bigint" && value >= from && value <= INDEX_MAX ? value : null;
}

/** Returns the value of a decimal digit of any script: digits of a script stand in a row from zero. */
function digit(char: string): string {
  const code = char.codePointAt(0) as number;
  if (code < 0x80) return char;
  let before = 0;
  while (/^\p{Nd}$/u.test(String.fromCodePoint(code - before - 1))) before += 1;
  return String(before % 10);
}

function asciiDigits(text: string): string {
  return text.replace(/\p{Nd}/gu, digit);
}

export function isTime(text: string, profile: Profile): boolean {
  if (profile === "compat") return COMPAT_TIME.test(text);
  const match = STRICT_TIME.exec(text);
  if (match === null) return false;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0;
  return day >= 1 && day <= days;
}

function isVersion(text: string, profile: Profile): boolean {
  return (profile !== "compat" ? SEMVER : COMPAT_VERSION).test(text);
}

function isKnownVersion(text: string, profile: Profile): boolean {
  const first = (profile !== "compat" ? SEMVER : COMPAT_VERSION).exec(text)?.[1];
  return first !== undefined && BigInt(asciiDigits(first)) === 1n;
}

/** Checks the members of a record. */
export function checkShape(record: JsonObject, profile: Profile): Reason[] {
  const shape = new Shape(profile);
  const kind = kindOf(record);
  if (kind === "header") shape.header(record);
  else if (kind === "step") shape.step(record);
  else if (kind === "control") shape.control(record);
  else shape.check(record, "type", "type", () => false);
  shape.check(record, "record_hash", "record_hash", isHash);
  return shape.reasons;
}

class Shape {
  readonly reasons: Reason[] = [];

  constructor(private readonly profile: Profile) {}

  check(object: JsonObject, key: string, name: string, accept: (value: Json) => boolean): boolean {
    const value = object.get(key);
    if (value === undefined) this.reasons.push(reason("missing_field", { member: name }));
    else if (!accept(value)) this.reasons.push(reason("bad_value", { member: name, found: shortJson(value) }));
    else return true;
    return false;
  }

  private text(object: JsonObject, key: string, name: string, accept: (text: string) => boolean = () => true): void {
    this.check(object, key, name, (value) => typeof value === "string" && accept(value));
  }

  private time(object: JsonObject, key: string, name: string): void {
    this.text(object, key, name, (text) => isTime(text, this.profile));
  }

  private index(object: JsonObject, key: string, from: bigint): void {
    this.check(object, key, key, (value) => indexOf(value, from) !== null);
  }

  private hash(object: JsonObject, key: string, name = key): void {
    this.check(object, key, name, isHash);
  }

  header(record: JsonObject): void {
    this.text(record, "version", "version", (text) => isKnownVersion(text, this.profile));
    this.text(record, "trace_id", "trace_id");
    this.time(record, "created_at", "created_at");
    this.text(record, "engine_version", "engine_version", (text) => isVersion(text, this.profile));
    this.text(record, "hash_algorithm", "hash_algorithm", (text) => text === "sha256");
    this.text(record, "canonicalization", "canonicalization", (text) => text === "json-c14n-v1");
    this.hash(record, "problem_spec_hash");
    this.hash(record, "initial_state_hash");
    if (record.has("profile")) this.check(record, "profile", "profile", () => profileOf(record) !== null);
    if (this.profile !== "compat") {
      this.index(record, "index", 0n);
      this.text(record, "clock", "clock", (word) => word === "ticking" || word === "given");
    }
  }

  step(record: JsonObject): void {
    this.index(record, "index", 1n);
    this.index(record, "step_index", 0n);
    for (const key of ["state_before_hash", "state_after_hash", "prev_hash"]) this.hash(record, key);
    if (this.check(record, "result", "result", isObject)) this.result(record.get("result") as JsonObject);
  }

  private result(result: JsonObject): void {
    this.text(result, "version", "result.version", (text) => isVersion(text, this.profile));
    this.text(result, "step", "result.step", (text) => text !== "");
    this.hash(result, "input_hash", "result.input_hash");
    this.hash(result, "output_hash", "result.output_hash");
    this.time(result, "started_at", "result.started_at");
    const started = result.get("started_at");
    this.text(result, "finished_at", "result.finished_at", (text) => {
      if (!isTime(text, this.profile)) return false;
      return typeof started !== "string" || !isTime(started, this.profile) || asciiDigits(text) >= asciiDigits(started);
    });
    this.text(result, "status", "result.status", (word) => ["success", "failed", "skipped"].includes(word));
    const status = result.get("status");
    if (status === "success") this.check(result, "output", "result.output", (value) => isObject(value) || Array.isArray(value));
    if (status === "failed") this.check(result, "errors", "result.errors", areErrors);
    if ((status === "failed" || status === "skipped") && result.has("output")) {
      this.reasons.push(reason("bad_value", { member: "result.output" }));
    }
    if ((status === "success" || status === "skipped") && result.has("errors")) {
      this.reasons.push(reason("bad_value", { member: "result.errors" }));
    }
  }

  control(record: JsonObject): void {
    this.index(record, "index", 1n);
    this.hash(record, "state_hash");
    this.hash(record, "prev_hash");
    const kind = this.profile !== "compat" ? record.get("control_type") : "loop";
    if (kind === "run") {
      this.text(record, "action", "action", (word) => word === "complete");
      this.time(record, "at", "at");
    } else if (kind === "checkpoint") {
      this.text(record, "name", "name", (name) => name !== "");
      this.text(record, "action", "action", (word) => word === "take");
      this.index(record, "position", 0n);
    } else if (kind === "rollback") {
      this.text(record, "name", "name", (name) => name !== "");
      this.text(record, "action", "action", (word) => word === "return");
      this.index(record, "to", 0n);
      this.time(record, "at", "at");
    } else {
      this.loop(record);
    }
  }

  private loop(record: JsonObject): void {
    this.text(record, "control_type", "control_type", (word) => word === "loop");
    this.text(record, "action", "action", (word) => ["repeat", "stop", "max_iterations_reached"].includes(word));
    if (this.profile !== "compat" && record.get("action") === "max_iterations_reached") this.time(record, "at", "at");
    this.index(record, "loop_iteration", 1n);
    this.text(record, "start_step", "start_step");
    this.text(record, "end_step", "end_step");
    if (this.check(record, "stop_condition", "stop_condition", isObject)) {
      const condition = record.get("stop_condition") as JsonObject;
      this.text(condition, "path", "stop_condition.path");
      this.text(condition, "operator", "stop_condition.operator");
      this.check(condition, "value", "stop_condition.value", (value) => ["string", "bigint", "boolean"].includes(typeof value));
    }
  }
}

function areErrors(value: Json): boolean {
  return Array.isArray(value) && value.length > 0 && value.every((error) => {
    if (!isObject(error)) return false;
    const isKnown = [...error.keys()].every((key) => key === "code" || key === "message" || key === "step");
    const isText = [...error.values()].every((text) => typeof text === "string");
    return isKnown && isText && error.has("code") && error.has("message");
  });
}

/** Returns whether policies blocked a result: it failed, and every error says so. */
export function isBlocked(result: Json | undefined): boolean {
  const errors = member(result, "errors");
  if (member(result, "status") !== "failed" || !Array.isArray(errors) || errors.length === 0) return false;
  return errors.every((error) => member(error, "code") === "policy_violation");
}

function shortJson(value: Json): string {
  const text = isObject(value) ? "an object" : Array.isArray(value) ? "a list" : canonical(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
