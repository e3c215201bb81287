/** The state of a run as the fold of its records, and its hash: docs/format.md section 5. */

import { canonical, compareKeys, isObject, member, nesting, type Json, type JsonObject } from "./json.js";
import { NO_OUTPUT, Numbers, OutputLog } from "./packed.js";
import type { Profile } from "./shape.js";
import { Sha256 } from "./sha256.js";

const ITERATIONS = "iterations";
const OUTPUT_NESTING_MAX = 500;

/** The outputs of steps by their artifact keys. */
export class Artifacts {
  private readonly log = new OutputLog();
  private last = NO_OUTPUT;
  /** The first output of each key, or in the compat profile the newest. */
  private first = new Map<string, number>();
  private readonly later = new Numbers();
  private newestOf = new Map<string, number>();
  /** The items of all lists under a key, grown with each output: a run asks for them at every step. */
  private listed = new Map<string, Json[]>();
  /** The keys in order. */
  private order: string[] = [];
  /** The hash up to the last key before `iterations`, how many keys it covers, and the last of them. */
  private front: { hash: Sha256; count: number; last: string } | null = null;
  /** The hash up to the last entry of `iterations`, and how many entries and keys it covers. */
  private middle: { hash: Sha256; entries: number; keys: number } | null = null;

  constructor(private readonly profile: Profile, private readonly prefix: string) {}

  /** Puts an output under its key. `value` is the output with large values fetched; `text` is what the record holds. */
  put(key: string, step: string, stepIndex: bigint, text: string, value: Json): void {
    // A loop often gives what it gave before: the text of it is kept once.
    const older = this.newestOf.get(key);
    const known = older === undefined ? text : this.log.text(older);
    this.last = this.log.add(this.last, key, step, stepIndex, known === text ? known : text, value);
    this.place(this.last);
  }

  private place(output: number): void {
    const key = this.log.key(output);
    if (!this.first.has(key)) {
      this.order.splice(firstAfter(this.order, key), 0, key);
      this.first.set(key, output);
    } else if (this.profile !== "compat") {
      this.later.push(output);
    } else {
      this.first.set(key, output);
      this.front = this.middle = null;
    }
    const value = this.log.value(output);
    const older = this.newestOf.get(key);
    if (older !== undefined) this.log.dropValue(older);
    this.newestOf.set(key, output);
    if (!Array.isArray(value)) return;
    const items = this.listed.get(key);
    if (items === undefined) this.listed.set(key, [...value]);
    else for (const item of value) items.push(item);
  }

  /** Returns the items of all lists that are outputs under a key, oldest first. */
  items(key: string): readonly Json[] {
    return this.listed.get(key) ?? [];
  }

  /** Returns the position to which {@link returnTo} can return. */
  position(): number {
    return this.last;
  }

  returnTo(position: number): void {
    const outputs: number[] = [];
    for (let at = position; at !== NO_OUTPUT; at = this.log.before(at)) outputs.push(at);
    this.last = position;
    this.first = new Map();
    this.later.clear();
    this.newestOf = new Map();
    this.listed = new Map();
    this.order = [];
    this.front = this.middle = null;
    for (const output of outputs.reverse()) this.place(output);
  }

  /** Returns the newest output of a key: undefined when there is none. */
  newest(key: string): { value: Json; text: string } | undefined {
    const output = this.newestOf.get(key);
    return output === undefined ? undefined : { value: this.log.value(output), text: this.log.text(output) };
  }

  /** Returns the keys of the state's `artifacts`, in order. */
  keys(): string[] {
    if (this.later.length === 0) return this.order;
    return [...this.order, ITERATIONS].sort(compareKeys);
  }

  stepKeys(): string[] {
    return this.order;
  }

  /** Returns a hash over the prefix and all members of `artifacts`. Only what is new is hashed, where it stands at the end. */
  hash(): Sha256 {
    const count = firstAfter(this.order, ITERATIONS);
    const front = this.hashFront(count);
    let hash = front.clone();
    if (this.later.length > 0) {
      hash = this.hashMiddle(count, front).clone();
      hash.updateText("]");
    }
    let isFirst = count === 0 && this.later.length === 0;
    for (const key of this.order.slice(count)) {
      hash.updateText(memberText(isFirst, key, this.log.text(this.first.get(key) as number)));
      isFirst = false;
    }
    return hash;
  }

  private hashFront(count: number): Sha256 {
    // A key that came between others moved those behind it, so the last key that is covered is elsewhere.
    if (this.front === null || (this.front.count > 0 && this.order[this.front.count - 1] !== this.front.last)) {
      this.front = { hash: new Sha256().updateText(this.prefix), count: 0, last: "" };
      this.middle = null;
    }
    const { front } = this;
    for (; front.count < count; front.count += 1) {
      const key = this.order[front.count] as string;
      front.hash.updateText(memberText(front.count === 0, key, this.log.text(this.first.get(key) as number)));
      front.last = key;
      this.middle = null;
    }
    return front.hash;
  }

  private hashMiddle(keys: number, front: Sha256): Sha256 {
    if (this.middle === null || this.middle.keys !== keys || this.middle.entries > this.later.length) {
      const hash = front.clone().updateText(`${keys === 0 ? "" : ","}"${ITERATIONS}":[`);
      this.middle = { hash, entries: 0, keys };
    }
    const { middle } = this;
    for (; middle.entries < this.later.length; middle.entries += 1) {
      const { key, text, step, stepIndex } = this.log.output(this.later.at(middle.entries));
      const entry = `{"key":${JSON.stringify(key)},"output":${text},"step":${JSON.stringify(step)},"step_index":${stepIndex}}`;
      middle.hash.updateText(middle.entries === 0 ? entry : `,${entry}`);
    }
    return middle.hash;
  }
}

/** Returns the position of the first key behind `key` in sorted keys. */
function firstAfter(keys: string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareKeys(keys[middle] as string, key) > 0) high = middle;
    else low = middle + 1;
  }
  return low;
}

function memberText(isFirst: boolean, key: string, text: string): string {
  return `${isFirst ? "" : ","}${JSON.stringify(key)}:${text}`;
}

export type Status = "pending" | "running" | "failed" | "completed";

/** The state of a run after some of its records. A method that refuses returns why and changes nothing. */
export class State {
  readonly artifacts: Artifacts;
  private errors: string[] = [];
  private errorText = "[]";
  private stepIndex = 0n;
  private updatedAt: string;
  private status: Status = "pending";
  private readonly fixed: { assumptions: string; constraints: string; metadata: string; problem: string };

  constructor(private readonly profile: Profile, header: JsonObject, private readonly problem: JsonObject) {
    this.artifacts = new Artifacts(profile, '{"artifacts":{');
    this.updatedAt = String(header.get("created_at"));
    const setting = (key: string): string => canonical(member(problem, "settings", key) ?? null);
    const assumptions = profile === "strict-2" ? member(problem, "inputs", "assumptions") : null;
    this.fixed = {
      assumptions: canonical(assumptions ?? []),
      constraints: canonical(member(problem, "inputs", "constraints") ?? []),
      metadata: `{"created_at":${canonical(problem.get("created_at") ?? null)},"model_profile":${setting("model_profile")},`
        + `"policy_profile":${setting("policy_profile")},"trace_id":${canonical(header.get("trace_id") ?? null)},"updated_at":`,
      problem: canonical(problem),
    };
  }

  digest(): string {
    const { assumptions, constraints, metadata, problem } = this.fixed;
    const rest = `},"assumptions":${assumptions},"constraints":${constraints},"errors":${this.errorText},"metadata":${metadata}`
      + `${JSON.stringify(this.updatedAt)}},"problem":${problem},"status":"${this.status}","step_index":${this.stepIndex},"version":"1.0.0"}`;
    return this.artifacts.hash().updateText(rest).hex();
  }

  apply(key: string, record: JsonObject, outputText: string | null, value: Json, blockedKeepsRunning: boolean): string | null {
    const result = record.get("result") as JsonObject;
    const at = String(result.get("finished_at"));
    const refusal = this.ended() ?? this.late(at) ?? refusedResult(result) ?? (key === ITERATIONS ? "the key iterations is reserved" : null);
    if (refusal !== null) return refusal;
    const failed = result.get("status") === "failed";
    if (outputText !== null && result.get("status") === "success") {
      this.artifacts.put(key, String(result.get("step")), record.get("step_index") as bigint, outputText, value);
    }
    if (failed) this.append(result.get("errors") as Json[]);
    if (this.profile !== "compat" || !failed) this.stepIndex += 1n;
    this.status = failed && !blockedKeepsRunning ? "failed" : "running";
    this.updatedAt = at;
    return null;
  }

  complete(at: string): string | null {
    if (this.status !== "running") return `the run is ${this.status}`;
    const late = this.late(at);
    if (late !== null) return late;
    this.status = "completed";
    this.updatedAt = at;
    return null;
  }

  /** Fails the run because its loop reached its limit. */
  exhaust(at: string): string | null {
    const loop = member(this.problem, "settings", "loop");
    if (!isObject(loop)) return "the problem has no loop";
    if (this.status === "completed" || this.status === "pending") return `the run is ${this.status}`;
    const late = this.status === "running" ? this.late(at) : null;
    if (late !== null && this.profile !== "compat") return late;
    const limit = loop.get("max_iterations");
    const spelled = limit === true ? "True" : limit === undefined ? "" : canonical(limit);
    const message = `Loop stop condition not met after ${spelled} iteration(s).`;
    this.append([new Map<string, Json>([
      ["code", "loop_max_iterations_reached"], ["message", message], ["step", loop.get("end_step") ?? null],
    ])]);
    this.status = "failed";
    this.updatedAt = at;
    return null;
  }

  rollBack(position: number, at: string): string | null {
    const refusal = this.ended() ?? this.late(at);
    if (refusal !== null) return refusal;
    this.artifacts.returnTo(position);
    this.stepIndex += 1n;
    this.status = "running";
    this.updatedAt = at;
    return null;
  }

  private ended(): string | null {
    const isOver = this.status === "failed" || this.status === "completed";
    return isOver ? `the run is ${this.status}, no record may follow` : null;
  }

  private late(at: string): string | null {
    const isLater = this.profile === "compat" || at > this.updatedAt;
    return isLater ? null : `time does not move on: ${at} is not after ${this.updatedAt}`;
  }

  private append(errors: Json[]): void {
    for (const error of errors) this.errors.push(canonical(error));
    this.errorText = `[${this.errors.join(",")}]`;
  }
}

function refusedResult(result: JsonObject): string | null {
  const errors = result.get("errors");
  if (Array.isArray(errors) && errors.some((error) => member(error, "code") === "" || member(error, "message") === "")) {
    return "an error with an empty code or message";
  }
  const output = result.get("output");
  if (output !== undefined && nesting(output) > OUTPUT_NESTING_MAX) return `an output nested over ${OUTPUT_NESTING_MAX} deep`;
  return null;
}
