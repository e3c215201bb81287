/** The answers that a file does not hold because they follow from others: states, single records, searches, parts of the lineage. */

import { isObject, parseJson, type Json } from "../lib/json.ts";
import { changes, escapePart, valueAt } from "../lib/pointer.ts";
import type { EmbeddedSource } from "./embedded.ts";
import { shown } from "./fold.ts";
import { notHere, type Params } from "./source.ts";
import type { Bucket, Change, Hit, Lineage, Overview, Place, RecordDetail, RecordRow, Spans, StateWindow, ValueAt } from "./types.ts";

const HITS_MAX = 100;
const EXCERPT_CHARS = 60;
const CHANGES_MAX = 1000;
const NODES_DEFAULT = 300;

/** Returns a computed answer, or undefined when the file itself should have it. */
export function derived(source: EmbeddedSource, path: string, params: Params): unknown {
  const match = /^(\/runs\/[^/]+)\/(.+)$/.exec(path);
  if (match === null) return undefined;
  const [, base, rest] = match as unknown as [string, string, string];
  if (rest === "state") return stateAt(source, base, params);
  if (rest === "state/changes") return stateChanges(source, base, params);
  if (rest === "state/values") return stateValues(source, base, params);
  if (rest === "search") return search(source, base, params);
  if (rest === "lineage" && params["node"] !== undefined) return lineageOf(source, base, params);
  if (rest === "spans/overview" && source.response(path) === undefined) return overviewOf(source, base);
  const record = /^records\/([0-9]+)$/.exec(rest);
  if (record !== null && source.response(path) === undefined) return recordDetail(source, base, Number(record[1]));
  return undefined;
}

function recordsOf(source: EmbeddedSource, base: string): RecordRow[] {
  const list = source.response<{ items: RecordRow[] }>(`${base}/records`);
  if (list === undefined) throw notHere(`${base}/records`);
  return list.items;
}

function position(source: EmbeddedSource, base: string, at: Params[string]): number {
  const last = recordsOf(source, base).length - 1;
  return at === undefined || at === null || at === "" ? last : Math.min(Number(at), last);
}

function stateAt(source: EmbeddedSource, base: string, params: Params): StateWindow {
  const at = position(source, base, params["at"]);
  const pointer = String(params["pointer"] ?? "");
  const value = valueAt(source.fold(base).at(at), pointer);
  if (value === undefined) throw notHere(`${pointer} in the state after record ${at}`);
  const entries: [string, Json][] = Array.isArray(value) ? value.map((item, key) => [String(key), item]) : isObject(value) ? Object.entries(value) : [];
  const from = Number(params["from"] ?? 0);
  const limit = Number(params["limit"] ?? 100);
  const part = entries.slice(from, from + limit);
  return {
    at, pointer, value: shown(value), total: entries.length, from, next: from + limit < entries.length ? from + limit : null,
    items: part.map(([key, item]) => ({ key, pointer: `${pointer}/${escapePart(key)}`, value: shown(item) })),
  };
}

function changeOf(pointer: string, before: Json | undefined, after: Json | undefined): Change {
  const change = before === undefined ? "added" : after === undefined ? "removed" : "changed";
  return { pointer, change, before: before === undefined ? null : shown(before), after_value: after === undefined ? null : shown(after) };
}

function stateChanges(source: EmbeddedSource, base: string, params: Params): unknown {
  const at = position(source, base, params["at"]);
  const after = params["after"] === undefined || params["after"] === null ? at - 1 : Number(params["after"]);
  const fold = source.fold(base);
  const left = after < 0 ? undefined : fold.at(after);
  const right = fold.at(at);
  const pointers = changes(left, right, CHANGES_MAX);
  const from = Number(params["from"] ?? 0);
  const limit = Number(params["limit"] ?? 100);
  const items = pointers.slice(from, from + limit).map((pointer) => changeOf(pointer, left === undefined ? undefined : valueAt(left, pointer), valueAt(right, pointer)));
  return { after, at, total: pointers.length, from, next: from + limit < pointers.length ? from + limit : null, items };
}

function stateValues(source: EmbeddedSource, base: string, params: Params): unknown {
  const pointer = String(params["pointer"] ?? "");
  const records = recordsOf(source, base);
  const fold = source.fold(base);
  const items: ValueAt[] = [];
  let before: Json | undefined;
  for (const row of records) {
    const value = valueAt(fold.at(row.index), pointer);
    if (value === before || (before !== undefined && value !== undefined && changes(before, value, 1).length === 0)) continue;
    items.push({ index: row.index, step: row.kind === "step" ? row.what : null, change: before === undefined ? "added" : value === undefined ? "removed" : "changed", value: value === undefined ? null : shown(value) });
    before = value;
  }
  return { pointer, total: null, from: 0, next: null, items };
}

export function lineOf(source: EmbeddedSource, base: string, row: RecordRow): string | null {
  const journal = source.rawBytes(`${base}/journal`);
  if (journal === null) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(journal.subarray(row.offset, row.offset + row.bytes));
  } catch {
    return null;
  }
}

function recordDetail(source: EmbeddedSource, base: string, index: number): RecordDetail {
  const row = recordsOf(source, base)[index];
  if (row === undefined) throw notHere(`record ${index}`);
  const line = lineOf(source, base, row);
  let record: Json = null;
  try {
    record = line === null ? null : (parseJson(line) as Json);
  } catch {
    record = null;
  }
  const output = valueAt(record, "/result/output");
  const outcome = isObject(output) ? output : undefined;
  const input = outcome?.["input"];
  const places = (value: Json | undefined): Place[] => (Array.isArray(value) ? value.map((place) => ({ place: String(place), value: null })) : []);
  const actions = source.response<{ items: { id: number; index: number | null }[] }>(`${base}/actions`)?.items ?? [];
  return {
    run: source.run, index, offset: row.offset, bytes: row.bytes, line, kind: row.kind, what: row.what, status: row.status, hash: row.hash,
    record: shown(record), input: input === undefined ? null : shown(input), output: output === undefined ? null : shown(output), missing: null,
    reads: places(outcome?.["reads"]), writes: places(outcome?.["writes"]), measured: row.measured, calls: [], waits: [], decisions: [], exchanges: [],
    actions: actions.filter((action) => action.index === index).map((action) => action.id),
  };
}

function search(source: EmbeddedSource, base: string, params: Params): unknown {
  const wanted = String(params["text"] ?? "").toLowerCase();
  const items: Hit[] = [];
  let next: number | null = null;
  for (const row of recordsOf(source, base).slice(Number(params["from"] ?? 0))) {
    const line = wanted === "" ? null : lineOf(source, base, row);
    const at = line === null ? -1 : line.toLowerCase().indexOf(wanted);
    if (line === null || at < 0) continue;
    if (items.length >= Number(params["limit"] ?? HITS_MAX)) {
      next = row.index;
      break;
    }
    const excerpt = line.slice(Math.max(0, at - EXCERPT_CHARS), at + wanted.length + EXCERPT_CHARS);
    items.push({ index: row.index, kind: row.kind, what: row.what, status: row.status, excerpt });
  }
  return { total: null, from: Number(params["from"] ?? 0), next, items };
}

/** Makes the overview from the spans: one bucket for each record or action. */
function overviewOf(source: EmbeddedSource, base: string): Overview {
  const spans = source.response<Spans>(`${base}/spans`);
  if (spans === undefined) throw notHere(`${base}/spans`);
  const buckets = new Map<number, Bucket>();
  for (const span of spans.items) {
    const bucket = buckets.get(span.index) ?? { from: span.index, to: span.index, start_ms: null, end_ms: null, steps: 0, calls: 0, people: 0, failed: 0, busy_ms: 0, wait_ms: 0 };
    buckets.set(span.index, bucket);
    if (span.track === "steps" || span.track === "calls" || span.track === "people") bucket[span.track] += 1;
    else if (span.track === "models") bucket.calls += 1;
    if (span.status === "failed") bucket.failed += 1;
    if (span.start_ms !== null) bucket.start_ms = Math.min(bucket.start_ms ?? span.start_ms, span.start_ms);
    if (span.end_ms !== null) bucket.end_ms = Math.max(bucket.end_ms ?? span.end_ms, span.end_ms);
    if (span.track === "people") bucket.wait_ms += span.duration_ms ?? 0;
    else if (span.track === "steps") bucket.busy_ms += span.duration_ms ?? 0;
  }
  const items = [...buckets.values()].sort((a, b) => a.from - b.from);
  const ends = items.map((bucket) => bucket.end_ms).filter((end): end is number => end !== null);
  return { total: (items.at(-1)?.to ?? -1) + 1, t0: spans.t0, end_ms: ends.length === 0 ? null : ends.reduce((a, b) => Math.max(a, b)), items };
}

/** Walks the whole lineage of the file from one node. */
function lineageOf(source: EmbeddedSource, base: string, params: Params): Lineage {
  const all = source.response<Lineage>(`${base}/lineage`);
  if (all === undefined) throw notHere(`${base}/lineage`);
  const node = String(params["node"]);
  const direction = String(params["direction"] ?? "both");
  const depthMax = params["depth"] === undefined || params["depth"] === null ? Number.POSITIVE_INFINITY : Number(params["depth"]);
  const limit = Number(params["limit"] ?? NODES_DEFAULT);
  const up = new Map<string, string[]>();
  const down = new Map<string, string[]>();
  for (const edge of all.edges) {
    (up.get(edge.to) ?? up.set(edge.to, []).get(edge.to))?.push(edge.from);
    (down.get(edge.from) ?? down.set(edge.from, []).get(edge.from))?.push(edge.to);
  }
  const kept = new Set([node]);
  let cut = false;
  for (const links of [direction === "descendants" ? null : up, direction === "ancestors" ? null : down]) {
    if (links === null) continue;
    let edge = [node];
    const seen = new Set([node]);
    for (let depth = 0; depth < depthMax && edge.length > 0; depth += 1) {
      const next: string[] = [];
      for (const id of edge.flatMap((one) => links.get(one) ?? [])) {
        if (seen.has(id)) continue;
        if (kept.size >= limit) cut = true;
        else {
          seen.add(id);
          kept.add(id);
          next.push(id);
        }
      }
      edge = next;
    }
  }
  return {
    total: all.total, from: 0, next: null, cut, nodes: all.nodes.filter((one) => kept.has(one.id)),
    edges: all.edges.filter((edge) => kept.has(edge.from) && kept.has(edge.to)),
  };
}
