/** Verifies a journal in one pass, level by level. */

import { Follower } from "./follow.js";
import { blobReferences, Item, type BlobReference } from "./item.js";
import { isObject, member, parseBytes, textAt, type Json, type JsonObject } from "./json.js";
import { hashOf, kindOfProblem, kindOfStep, type RunKind } from "./judges.js";
import { splitLines } from "./lines.js";
import {
  NOT_SHOWN, reason, settle, type Check, type ItemReport, type LevelName, type LevelReport, type Reason, type Report,
} from "./report.js";
import { sha256 } from "./sha256.js";
import { isHash, profileOf, type Profile } from "./shape.js";

export interface Head {
  hash: string;
  records: number;
}

/** Where the parts of a run come from. Only the journal is needed; what is absent is reported as not checked. */
export interface Sources {
  journal: AsyncIterable<Uint8Array>;
  problem?: Uint8Array | null;
  anchor?: Head | null;
  /** Returns a blob, null when it is not there, or says why it cannot be had. */
  blob?: (sha256: string) => Promise<Uint8Array | string | null>;
  /** Returns a document that lies next to the journal. */
  document?: (name: string) => Promise<Uint8Array | null>;
  /** Returns the journal of another run of the same store. */
  run?: (id: string) => Promise<AsyncIterable<Uint8Array> | null>;
}

export interface Options {
  target?: string;
  /** Is told after each batch how many records were read. */
  onProgress?: (records: number) => void;
  /** The bytes of outputs that may be held in memory for the level spec. */
  heldBytesMax?: number;
}

/** Few, because what outlives a short while is collected late. */
const BATCH_LINES = 16;
const BATCH_BYTES = 4 * 1024 * 1024;
const HELD_BYTES_MAX = 256 * 1024 * 1024;
const BLOB_RESULTS_MAX = 10_000;
const HEAD = /^([0-9a-f]{64}):([1-9][0-9]{0,14})$/;

/** Reads a head, `HASH:COUNT`. */
export function parseHead(text: string): Head | null {
  const match = HEAD.exec(text);
  return match === null ? null : { hash: match[1] as string, records: Number(match[2]) };
}

interface Break {
  line: number;
  reasons: Reason[];
}

/** Verifies a journal and what belongs to it. It never throws for what a journal holds. */
export async function verify(sources: Sources, options: Options = {}): Promise<Report> {
  const run = new Verification(sources, options);
  await run.read();
  return run.report();
}

class Verification {
  private records = 0;
  private tornBytes = 0;
  private lastHash: string | null = null;
  private anchorHash: string | null = null;
  private readonly found: Partial<Record<LevelName, Break>> = {};
  private profile: Profile = "strict";
  private header: JsonObject | null = null;
  private kind: RunKind | null = null;
  private followers: { level: "linked" | "spec"; follower: Follower }[] = [];
  private held: Item | null = null;
  private readonly items: ItemReport[] = [];
  private readonly blobs = new Map<string, string | null>();
  private readonly blobsTotal = { checked: 0, unknown: 0 };
  private readonly nested: { step: string; run: string; head: string }[] = [];
  private heldBytes = 0;
  private overBudgetAt: number | null = null;
  private longLine: number | null = null;
  private problem: JsonObject | null = null;
  private problemDefect: string | null = null;

  constructor(private readonly sources: Sources, private readonly options: Options) {}

  async read(): Promise<void> {
    this.readProblem();
    let batch: Item[] = [];
    let bytes = 0;
    for await (const line of splitLines(this.sources.journal)) {
      this.records += 1;
      if (!line.hasLineFeed) this.tornBytes = line.length;
      // Behind a break of both only the number of lines is still of interest.
      if (this.found.chain !== undefined && this.found.bytes !== undefined) continue;
      if (line.bytes === null) this.longLine ??= line.number;
      batch.push(new Item(line));
      bytes += line.length;
      if (batch.length < BATCH_LINES && bytes < BATCH_BYTES) continue;
      await this.take(batch, false);
      batch = [];
      bytes = 0;
      this.options.onProgress?.(this.records);
    }
    await this.take(batch, true);
    if (this.records === 0) this.found.chain = { line: 0, reasons: [reason("empty_trace")] };
    this.options.onProgress?.(this.records);
  }

  private readProblem(): void {
    const { problem } = this.sources;
    if (problem === undefined || problem === null) return;
    try {
      const value = parseBytes(problem);
      if (isObject(value)) this.problem = value;
      else this.problemDefect = "problem.json is no object";
    } catch (error) {
      this.problemDefect = `problem.json: ${(error as Error).message}`;
    }
  }

  /** Checks a batch; the last item waits for the one behind it. */
  private async take(batch: Item[], isLast: boolean): Promise<void> {
    const chain: { item: Item; checks: Check[] }[] = [];
    for (const item of batch) {
      if (this.found.bytes === undefined && item.bytesReason !== null) {
        this.found.bytes = { line: item.line.number, reasons: [item.bytesReason] };
      }
      if (item.line.number === 0) this.begin(item);
      chain.push({ item, checks: item.chainChecks(this.profile, this.lastHash) });
      this.lastHash = item.recordHash;
      if (this.sources.anchor?.records === item.line.number + 1) this.anchorHash = item.recordHash;
    }
    for (const { item, checks } of chain) await this.settle("chain", item, checks);
    const ready = this.held === null ? batch : [this.held, ...batch];
    this.held = isLast ? null : ready.pop() ?? null;
    for (const [at, item] of ready.entries()) {
      if (this.found.chain !== undefined && item.line.number >= this.found.chain.line) break;
      await this.follow(item, ready[at + 1] ?? this.held);
    }
  }

  private async settle(level: LevelName, item: Item, checks: Check[]): Promise<void> {
    if (this.found[level] !== undefined || checks.length === 0) return;
    const settled = (await Promise.all(checks.map(settle))).filter((found): found is Reason => found !== null);
    const reasons = settled.filter((one, at) => settled.findIndex((other) => same(one, other)) === at);
    if (reasons.length > 0) this.found[level] = { line: item.line.number, reasons };
  }

  private begin(item: Item): void {
    const { record } = item;
    if (record === null || item.kind !== "header") return;
    this.header = record;
    this.profile = profileOf(record) ?? "strict";
  }

  private async follow(item: Item, next: Item | null): Promise<void> {
    if (item.line.number === 0) return this.followHeader(item, next);
    await item.resolve((reference) => this.content(reference));
    await this.checkBlobs(item);
    this.noteNested(item);
    this.heldBytes += 64 + (item.kind === "step" ? item.outputText?.length ?? 0 : 0);
    if (this.heldBytes > (this.options.heldBytesMax ?? HELD_BYTES_MAX)) {
      this.overBudgetAt ??= item.line.number;
      this.followers = [];
    }
    for (const { level, follower } of this.followers) {
      if (this.found[level] === undefined) await this.settle(level, item, follower.checks(item, next));
    }
  }

  private async followHeader(item: Item, next: Item | null): Promise<void> {
    const header = this.header as JsonObject;
    const first = textAt(next?.record ?? undefined, "result", "step") ?? "";
    this.kind = this.problem !== null ? kindOfProblem(this.problem) : kindOfStep(first);
    const make = (problem: JsonObject | null): Follower => new Follower(this.profile, header, this.kind as RunKind, this.problem, problem);
    this.followers.push({ level: "linked", follower: make(null) });
    if (this.problem !== null) this.followers.push({ level: "spec", follower: make(this.problem) });
    for (const { level, follower } of this.followers) {
      this.all.push({ level, follower });
      await this.settle(level, item, follower.headerChecks());
    }
  }

  /** The followers of the journal, also those that were given up. */
  private readonly all: { level: "linked" | "spec"; follower: Follower }[] = [];

  private async content(reference: BlobReference): Promise<Uint8Array | string> {
    if (this.sources.blob === undefined) return `blob ${reference.sha256} is missing`;
    const bytes = await this.sources.blob(reference.sha256);
    if (bytes === null) return `blob ${reference.sha256} is not there`;
    if (typeof bytes === "string") return bytes;
    const found = await sha256(bytes);
    if (found !== reference.sha256) return `blob ${reference.sha256} has the digest ${found}`;
    if (reference.bytes !== null && reference.bytes !== BigInt(bytes.length)) {
      return `blob ${reference.sha256} has ${bytes.length} bytes, the record says ${reference.bytes}`;
    }
    return bytes;
  }

  /** Checks every blob that a record names, once. */
  private async checkBlobs(item: Item): Promise<void> {
    if (item.record === null) return;
    for (const reference of blobReferences(item.record)) {
      const name = reference.sha256;
      if (this.blobs.has(name)) continue;
      if (this.blobs.size >= BLOB_RESULTS_MAX) {
        this.blobsTotal.unknown += 1;
        continue;
      }
      const found = await this.content(reference);
      this.blobs.set(name, typeof found === "string" ? found : null);
      if (typeof found !== "string") {
        this.blobsTotal.checked += 1;
        continue;
      }
      const isAltered = found.includes("has the digest") || found.includes("bytes, the record says");
      this.items.push({ kind: "blob", name, verdict: isAltered ? "broken" : "not_checked", detail: `record ${item.line.number}: ${found}` });
    }
  }

  private noteNested(item: Item): void {
    if (this.kind !== "skill" || item.kind !== "step") return;
    const links = member(item.outcome, "meta", "nested_runs");
    if (!Array.isArray(links)) return;
    for (const link of links) {
      const [run, head] = [textAt(link, "run"), textAt(link, "head")];
      if (run !== undefined && head !== undefined) this.nested.push({ step: item.step, run, head });
    }
  }

  async report(): Promise<Report> {
    if (this.found.chain === undefined) await this.checkDocuments();
    const levels = this.levels();
    const items = this.items;
    if (this.blobsTotal.checked > 0) {
      items.push({ kind: "blob", name: plural(this.blobsTotal.checked, "blob"), verdict: "holds", detail: "each has the digest and the size its record names" });
    }
    if (this.blobsTotal.unknown > 0) {
      items.push({ kind: "blob", name: plural(this.blobsTotal.unknown, "reference"), verdict: "not_checked", detail: `only the first ${BLOB_RESULTS_MAX} blobs are checked` });
    }
    const broken = [this.found.chain, this.found.linked, this.found.spec].flatMap((one) => (one === undefined ? [] : [one.line]));
    const chainHolds = this.found.chain === undefined;
    const judged = this.all.filter(({ level }) => this.found[level] === undefined).at(-1);
    return {
      target: this.options.target ?? "",
      holds: levels.every((level) => level.verdict !== "broken") && items.every((item) => item.verdict !== "broken"),
      records: this.records,
      intact: Math.min(this.records, ...broken),
      head: chainHolds && this.lastHash !== null ? `${this.lastHash}:${this.records}` : null,
      complete: chainHolds && this.overBudgetAt === null ? judged?.follower.judge.complete() ?? null : null,
      kind: this.kind,
      profile: this.header === null ? null : this.profile,
      trace_id: textAt(this.header ?? undefined, "trace_id") ?? null,
      levels,
      items,
      torn_bytes: this.tornBytes,
      not_shown: this.notShown(),
    };
  }

  private notShown(): string[] {
    const isAnchored = this.sources.anchor !== undefined && this.sources.anchor !== null;
    return ["that executing the run again gives the same bytes: that needs an engine (`hence replay`)", ...(isAnchored ? NOT_SHOWN.slice(2) : NOT_SHOWN)];
  }

  private levels(): LevelReport[] {
    const { chain } = this.found;
    const level = (name: LevelName, found: Break | undefined, unchecked: string[] = []): LevelReport => ({
      level: name,
      verdict: found === undefined ? "holds" : "broken",
      line: found?.line ?? null,
      reasons: found?.reasons ?? [],
      unchecked: found === undefined ? unchecked : [],
    });
    const notChecked = (name: LevelName, why: string): LevelReport => ({
      level: name, verdict: "not_checked", line: null, reasons: [], unchecked: [why],
    });
    const bytes = this.longLine !== null && (this.found.bytes === undefined || this.found.bytes.line > this.longLine)
      ? notChecked("bytes", `line ${this.longLine} is longer than this verifier reads`)
      : level("bytes", this.found.bytes);
    return [
      bytes,
      level("chain", chain),
      level("linked", chain ?? this.found.linked, this.uncheckedAt("linked")),
      this.spec(level, notChecked),
      notChecked("replay", "executing the run again needs an engine: `hence replay`"),
      this.anchored(level, notChecked),
    ];
  }

  private uncheckedAt(name: "linked" | "spec"): string[] {
    const follower = this.all.find((one) => one.level === name)?.follower;
    const unchecked = [...(follower?.judge.unchecked ?? [])];
    if (this.overBudgetAt !== null) {
      unchecked.push(`records from ${this.overBudgetAt} on (outputs of more than ${this.options.heldBytesMax ?? HELD_BYTES_MAX} bytes are not held in memory)`);
    }
    return unchecked;
  }

  private spec(level: MakeLevel, notChecked: MakeNotChecked): LevelReport {
    if (this.found.chain !== undefined) return level("spec", this.found.chain);
    if (this.problemDefect !== null) {
      return level("spec", { line: 0, reasons: [reason("problem_spec_hash_mismatch", { found: this.problemDefect })] });
    }
    if (this.problem === null) return notChecked("spec", "the problem is missing");
    return level("spec", this.found.spec, this.uncheckedAt("spec"));
  }

  private anchored(level: MakeLevel, notChecked: MakeNotChecked): LevelReport {
    const { anchor } = this.sources;
    if (anchor === undefined || anchor === null) return notChecked("anchored", "no head kept elsewhere was given");
    if (this.found.chain !== undefined) return level("anchored", this.found.chain);
    if (this.records < anchor.records) {
      const found = reason("record_count_mismatch", { expected: String(anchor.records), found: String(this.records) });
      return level("anchored", { line: this.records, reasons: [found] });
    }
    if (this.anchorHash !== anchor.hash) {
      const found = reason("head_mismatch", { expected: anchor.hash, found: this.anchorHash });
      return level("anchored", { line: anchor.records - 1, reasons: [found] });
    }
    const added = this.records - anchor.records;
    return level("anchored", undefined, added > 0 ? [`${added} records behind the head, added since it was noted`] : []);
  }

  /** Compares the documents and runs that the problem pins with those that are there. */
  private async checkDocuments(): Promise<void> {
    const settings = member(this.problem ?? undefined, "settings");
    if (this.kind === "skill") {
      await this.document("skill.json", textAt(settings, "skill", "sha256") ?? null, (document) => document);
      const pins = member(settings, "skill", "nested");
      for (const pin of Array.isArray(pins) ? pins : []) {
        const id = textAt(pin, "id") ?? "";
        await this.document("skills.json", textAt(pin, "sha256") ?? null, (document) => member(document, id), id);
      }
    }
    if (textAt(settings, "capabilities", "sha256") !== undefined) {
      this.items.push({
        kind: "document", name: "capabilities.json", verdict: "not_checked",
        detail: "the digest covers the declarations as the engine reads them, which this verifier does not",
      });
    }
    const origin = member(settings, "origin");
    if (isObject(origin)) await this.origin(origin);
    for (const { step, run, head } of this.nested) await this.linkedRun("nested", run, parseHead(head), `step ${step} names the head ${head}`);
    const parent = textAt(settings, "parent", "run");
    if (parent !== undefined) {
      this.items.push({ kind: "parent", name: parent, verdict: "not_checked", detail: "whether that run names this one is checked from there" });
    }
  }

  private async document(name: string, pin: string | null, pick: (document: Json) => Json | undefined, part = ""): Promise<void> {
    const label = part === "" ? name : `${name} (${part})`;
    const add = (verdict: ItemReport["verdict"], detail: string): void => {
      this.items.push({ kind: "document", name: label, verdict, detail });
    };
    const bytes = (await this.sources.document?.(name)) ?? null;
    if (bytes === null) return add("not_checked", "the document is missing");
    let found: Json | undefined;
    try {
      found = pick(parseBytes(bytes));
    } catch (error) {
      return add("broken", (error as Error).message);
    }
    if (found === undefined) return add("broken", "the document does not hold it");
    const digest = await hashOf(found);
    if (digest === pin) add("holds", "it is the one the problem pins");
    else add("broken", `the problem pins ${pin ?? "nothing"}, found ${digest}`);
  }

  private async origin(origin: JsonObject): Promise<void> {
    const [run, hash, record] = [textAt(origin, "run") ?? "", textAt(origin, "hash") ?? "", origin.get("record")];
    const head = isHash(hash) && typeof record === "bigint" ? { hash, records: Number(record) + 1 } : null;
    await this.linkedRun("origin", run, head, `this run was forked behind record ${String(record)}`);
  }

  /** Checks that another run has a chain that holds, with the record that this run names. */
  private async linkedRun(kind: "origin" | "nested", run: string, head: Head | null, context: string): Promise<void> {
    const add = (verdict: ItemReport["verdict"], detail: string): void => {
      this.items.push({ kind, name: run, verdict, detail: `${detail}; ${context}` });
    };
    if (head === null) return add("broken", "the record of it is not named properly");
    const journal = (await this.sources.run?.(run)) ?? null;
    if (journal === null) return add("not_checked", "its journal is missing");
    const report = await verify({ journal, anchor: head }, { heldBytesMax: 0 });
    const anchored = report.levels.find((level) => level.level === "anchored");
    if (anchored?.verdict === "holds") return add("holds", "its chain holds and has that record");
    add("broken", `its chain is broken or has another record there: ${anchored?.reasons.map((one) => one.code).join(", ") ?? ""}`);
  }
}

type MakeLevel = (name: LevelName, found: Break | undefined, unchecked?: string[]) => LevelReport;
type MakeNotChecked = (name: LevelName, why: string) => LevelReport;

function same(a: Reason, b: Reason): boolean {
  return a.code === b.code && a.member === b.member && a.expected === b.expected && a.found === b.found;
}

function plural(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? "" : "s"}`;
}
