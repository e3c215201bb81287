/** The file itself as a source: lists are whole, and what the server computes is computed here. */

import { parseJson } from "../lib/json.ts";
import { derived } from "./derived.ts";
import { StateFold } from "./fold.ts";
import { ApiError, notHere, type Params, type Source } from "./source.ts";
import type { PatchRow } from "./types.ts";

export interface EmbeddedData {
  format: string;
  version: string;
  run: string;
  kind: string;
  /** Responses as JSON texts. */
  responses: Record<string, string>;
  raw: Record<string, { text?: string; base64?: string }>;
  left_out: string[];
}

const FORMAT = "hence-view/2";
/** The filters of lists that are done here: the parameter and the member it is compared with. */
const FILTERS: Record<string, string> = { kind: "kind", severity: "severity", status: "status", capability: "capability", unit: "unit", type: "type" };
/** The lists whose windows count records, not items. */
const BY_RECORD = /^\/runs\/[^/]+\/(spans|calls)$/;
const LIMIT_DEFAULT = 100;

/** Reads the data of a file: base64, then gzip, then JSON. */
export async function readEmbedded(text: string): Promise<EmbeddedSource> {
  const outer = JSON.parse(text) as { format: string; encoding: string; data: string };
  if (outer.format !== FORMAT) throw new ApiError(0, "", `this page reads the format ${FORMAT}, the file has ${outer.format}`, null);
  const packed = base64Bytes(outer.data);
  const stream = new Blob([packed as BlobPart]).stream().pipeThrough(new DecompressionStream("gzip"));
  const data = (await new Response(stream).json()) as EmbeddedData;
  return new EmbeddedSource(data);
}

export function base64Bytes(text: string): Uint8Array {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

export class EmbeddedSource implements Source {
  readonly isLive = false;
  readonly leftOut: string[];
  readonly run: string;
  private readonly raw = new Map<string, Uint8Array>();
  /** The responses that were asked for. */
  private readonly read = new Map<string, unknown>();
  private readonly folds = new Map<string, StateFold>();

  constructor(readonly data: EmbeddedData) {
    this.leftOut = data.left_out ?? [];
    this.run = data.run;
  }

  /** Returns a response as it stands in the file. */
  response<T>(path: string): T | undefined {
    if (!this.read.has(path) && Object.hasOwn(this.data.responses, path)) this.read.set(path, parseJson(this.data.responses[path] as string));
    return this.read.get(path) as T | undefined;
  }

  get<T>(path: string, params: Params = {}): Promise<T> {
    try {
      const made = derived(this, path, params);
      if (made !== undefined) return Promise.resolve(made as T);
      const found = this.response<{ items?: unknown[] }>(path);
      if (found === undefined) throw notHere(path);
      return Promise.resolve((Array.isArray(found.items) ? windowOf(found as { items: unknown[] }, params, BY_RECORD.test(path)) : found) as T);
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }

  /** Returns whole bytes, or nothing when the file does not have them. */
  rawBytes(path: string): Uint8Array | null {
    const held = this.raw.get(path);
    if (held !== undefined) return held;
    const found = Object.hasOwn(this.data.raw, path) ? this.data.raw[path] : undefined;
    if (found === undefined) return null;
    const bytes = found.text === undefined ? base64Bytes(found.base64 ?? "") : new TextEncoder().encode(found.text);
    this.raw.set(path, bytes);
    return bytes;
  }

  bytes(path: string, offset: number, count: number): Promise<{ bytes: Uint8Array; total: number }> {
    const all = this.rawBytes(path);
    if (all === null) return Promise.reject(notHere(path));
    return Promise.resolve({ bytes: all.subarray(offset, offset + count), total: all.length });
  }

  fold(runBase: string): StateFold {
    let fold = this.folds.get(runBase);
    if (fold === undefined) {
      const patches = this.response<{ items: PatchRow[] }>(`${runBase}/state/patches`);
      if (patches === undefined) throw notHere(`${runBase}/state/patches`);
      fold = new StateFold(patches.items);
      this.folds.set(runBase, fold);
    }
    return fold;
  }

  post<T>(): Promise<T> {
    return Promise.reject(new ApiError(0, "", "this is a file: nothing can be recorded from it", "open the run with `hence view` to answer, comment or approve"));
  }

  watch(): () => void {
    return () => undefined;
  }
}

/** Takes a window of a whole list. Spans and calls are windows of records, of which each may have several items. */
function windowOf(list: { items: unknown[]; total?: number | null }, params: Params, isByRecord: boolean): unknown {
  let items = list.items;
  for (const [key, member] of Object.entries(FILTERS)) {
    const wanted = params[key];
    if (wanted === undefined || wanted === null || wanted === "") continue;
    items = items.filter((item) => (item as Record<string, unknown>)[member] === wanted);
  }
  const from = Number(params["from"] ?? 0);
  const end = from + Number(params["limit"] ?? LIMIT_DEFAULT);
  const indexOf = (item: unknown): number => (item as { index: number }).index;
  const part = isByRecord ? items.filter((item) => indexOf(item) >= from && indexOf(item) < end) : items.slice(from, end);
  const length = isByRecord ? items.reduce<number>((most, item) => Math.max(most, indexOf(item) + 1), 0) : items.length;
  return { ...list, total: isByRecord ? (list.total ?? null) : length, from, next: end < length ? end : null, items: part };
}
