/** States from patches. Containers are never changed in place, so that a snapshot costs nothing but its reference. */

import { isContainer, printJson, type Json, type JsonObject } from "../lib/json.ts";
import { splitPointer } from "../lib/pointer.ts";
import type { Operation, PatchRow, Shown } from "./types.ts";

const SNAPSHOT_EVERY = 256;
/** Values over this many bytes are shown by their start, as the server does. */
const WHOLE_BYTES_MAX = 4096;
const START_CHARS = 512;

export class StateFold {
  private readonly snapshots = new Map<number, Json>();
  private last: { index: number; state: Json } | null = null;

  constructor(readonly patches: PatchRow[]) {}

  /** Returns the state after record `index`. */
  at(index: number): Json {
    let from = -1;
    let state: Json = null;
    if (this.last !== null && this.last.index <= index) ({ index: from, state } = this.last);
    const near = index - (index % SNAPSHOT_EVERY);
    for (let at = near; at > from; at -= SNAPSHOT_EVERY) {
      const held = this.snapshots.get(at);
      if (held === undefined) continue;
      [from, state] = [at, held];
      break;
    }
    for (let at = from + 1; at <= index && at < this.patches.length; at += 1) {
      for (const operation of this.patches[at]?.patch ?? []) state = applied(state, operation);
      if (at % SNAPSHOT_EVERY === 0) this.snapshots.set(at, state);
    }
    this.last = { index, state };
    return state;
  }
}

/** Returns the state after one operation; the one before stays as it is. */
export function applied(state: Json, operation: Operation): Json {
  const parts = splitPointer(operation.at);
  const change = (here: Json | undefined, depth: number): Json => {
    if (depth === parts.length) return operation.value ?? null;
    const key = parts[depth] as string;
    const isEnd = depth === parts.length - 1 && operation.op === "remove";
    if (Array.isArray(here)) {
      const copy = here.slice();
      const at = key === "-" ? copy.length : Number(key);
      if (isEnd) copy.splice(at, 1);
      else copy[at] = change(copy[at], depth + 1);
      return copy;
    }
    const copy: JsonObject = isContainer(here) ? { ...here } : {};
    if (isEnd) delete copy[key];
    else Object.defineProperty(copy, key, { value: change(Object.hasOwn(copy, key) ? copy[key] : undefined, depth + 1), enumerable: true, writable: true, configurable: true });
    return copy;
  };
  if (parts.length === 0) return operation.op === "remove" ? null : (operation.value ?? null);
  return change(state, 0);
}

/** Returns the shown form of a value, by the rules of the API. */
export function shown(value: Json): Shown {
  const text = printJson(value, 0);
  const bytes = new TextEncoder().encode(text).length;
  const whole = bytes <= WHOLE_BYTES_MAX;
  const kind = value === null ? "null" : Array.isArray(value) ? "array" : isContainer(value) ? "object"
    : typeof value === "string" ? "string" : typeof value === "boolean" ? "boolean" : "number";
  const count = Array.isArray(value) ? value.length : isContainer(value) ? Object.keys(value).length : null;
  return { kind, bytes, count, whole, value: whole ? value : null, start: whole ? null : (typeof value === "string" ? value : text).slice(0, START_CHARS) };
}
