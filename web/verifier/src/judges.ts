/** What each kind of run says about its records: their order and their inputs (docs/format.md sections 7, 9 and 14). */

import { canonical, isObject, member, textAt, type Json, type JsonObject } from "./json.js";
import { CURSOR_NUMBERS, Cursor, DEFAULT_STEPS, OUTPUTS, POLICIES, VERDICTS, type Role } from "./flow.js";
import type { Item } from "./item.js";
import { reason, type Check } from "./report.js";
import { sha256Text } from "./sha256.js";
import type { Profile } from "./shape.js";
import { Artifacts } from "./state.js";

export type RunKind = "reason" | "skill" | "variables" | "solve" | "trace";

/** Judges the records of one kind of run. */
export interface Judge {
  step(role: Role, item: Item): Check[];
  /** Judges a loop's decision or the completion. */
  control(record: JsonObject): Check[];
  artifactKey(item: Item): string;
  readonly hasCheckpoints: boolean;
  /** Returns the place in the run as numbers, always equally many. */
  position(): readonly number[];
  returnTo(position: readonly number[]): void;
  /** Whether the run reached a legal end; null where that cannot be told. */
  complete(): boolean | null;
  readonly unchecked: Set<string>;
}

export function hashOf(value: Json): Promise<string> {
  return sha256Text(canonical(value));
}

export function inputCheck(item: Item, input: Json): Check {
  return { code: "input_hash_mismatch", expected: hashOf(input), found: String(item.result.get("input_hash")) };
}

/** Says in which way the run of a problem proceeds. */
export function kindOfProblem(problem: JsonObject): RunKind {
  const skill = member(problem, "settings", "skill");
  const id = textAt(skill, "id");
  if (id === "variables") return "variables";
  if ((id === "solve" || id === "trace") && textAt(skill, "sha256") === undefined) return id;
  const isPinned = ["id", "version", "sha256"].every((key) => textAt(skill, key) !== undefined);
  return isPinned ? "skill" : "reason";
}

/** Guesses the kind from the first step of a journal whose problem is missing. */
export function kindOfStep(first: string): RunKind {
  const kinds: [string, RunKind][] = [["vars.", "variables"], ["solve.", "solve"], ["trace.", "trace"]];
  return kinds.find(([prefix]) => first.startsWith(prefix))?.[1] ?? "reason";
}

class Missing extends Error {}

/** Judges a run of the built-in steps. */
export class ReasonJudge implements Judge {
  readonly hasCheckpoints = true;
  readonly unchecked = new Set<string>();
  private readonly cursor: Cursor;
  private readonly artifacts: Artifacts;

  /** `problem` is the trusted problem, or null at the linked level; `bindings` names the bound steps at both levels. */
  constructor(
    private readonly profile: Profile,
    private readonly problem: JsonObject | null,
    private readonly bindings: JsonObject | null,
    private readonly knowsOrder: boolean,
  ) {
    this.cursor = new Cursor(profile);
    this.artifacts = new Artifacts(profile, "");
    if (!knowsOrder) this.unchecked.add("the order of steps (the policy that the problem names is not the default one)");
  }

  step(role: Role, item: Item): Check[] {
    const name = item.step;
    const checks: Check[] = [];
    if (role === "own") {
      checks.push(...this.input(item));
      const broken = this.knowsOrder ? this.cursor.step(name, item.result.get("status") === "failed") : null;
      if (broken !== null) checks.push(reason(broken.code, broken));
      if (this.knowsOrder && !DEFAULT_STEPS.some(([step]) => step === name)) this.unchecked.add(`step ${JSON.stringify(name)} is unknown here`);
    } else {
      const isDue = name === POLICIES || (name === VERDICTS ? this.cursor.allDone() : this.cursor.due() === name);
      if (!isDue && this.knowsOrder) {
        return [reason("flow_violation", { expected: this.cursor.due() ?? "nothing", found: name })];
      }
      if (role === "blocked" && name !== VERDICTS) checks.push(...this.input(item));
    }
    if (item.output !== undefined) {
      this.artifacts.put(this.artifactKey(item), name, item.stepIndex, item.outputText ?? "", item.resolvedOutput ?? null);
      this.noteLost(this.artifactKey(item), item.resolvedOutput === undefined);
    }
    return checks;
  }

  /** The sets of keys whose newest output is a blob that is missing, each from some record on, and the number of the present one. */
  private readonly lost: ReadonlySet<string>[] = [new Set()];
  private lostNow = 0;

  private isLost(key: string): boolean {
    return this.lost[this.lostNow]?.has(key) ?? false;
  }

  private noteLost(key: string, isLost: boolean): void {
    if (this.isLost(key) === isLost) return;
    const keys = new Set(this.lost[this.lostNow]);
    if (isLost) keys.add(key);
    else keys.delete(key);
    this.lostNow = this.lost.push(keys) - 1;
  }

  private input(item: Item): Check[] {
    try {
      return [inputCheck(item, this.inputOf(item))];
    } catch (error) {
      if (!(error instanceof Missing)) throw error;
      const errors = item.result.get("errors");
      if (Array.isArray(errors) && errors.some((entry) => member(entry, "code") === "input_unavailable")) {
        return [inputCheck(item, new Map())];
      }
      this.unchecked.add(`input_hash of ${item.step} (${error.message})`);
      return [];
    }
  }

  private newest(key: string): Json {
    if (this.isLost(key)) throw new Missing(`the blob of ${key} is missing`);
    const newest = this.artifacts.newest(key);
    if (newest === undefined) throw new Missing(`nothing is under ${key}`);
    return newest.value;
  }

  private newestMember(key: string, name: string): Json {
    const value = member(this.newest(key), name);
    if (value === undefined) throw new Missing(`${key} has no ${name}`);
    return value;
  }

  private known(): JsonObject {
    if (this.problem === null) throw new Missing("the problem is not known at this level");
    return this.problem;
  }

  private inputOf(item: Item): Json {
    const object = (...members: [string, Json][]): JsonObject => new Map(members);
    const name = item.step;
    const binding = this.profile !== "compat" ? this.bindings?.get(name) : undefined;
    if (binding !== undefined) return this.boundInput(binding, name);
    if (this.profile === "strict-2") return this.workedInput(name);
    switch (name) {
      case "Normalize":
        return object(["prompt", member(this.known(), "inputs", "prompt") ?? null]);
      case "Decompose":
        return object(["goals", member(this.known(), "inputs", "goals") ?? []], ["prompt", this.newestMember("normalized", "normalized_prompt")]);
      case "AcquireEvidence": {
        const output = item.attemptOutput;
        const items = this.profile !== "compat" ? output : member(output, "evidence");
        if (items === undefined) throw new Missing("its output is missing");
        return object(["evidence", items]);
      }
      case "Compute":
      case "Verify":
        return object(["tasks", this.newestMember("decomposition", "tasks")]);
      case "Synthesize":
        return object(["task_count", this.newestMember("computation", "task_count")]);
      case "Audit":
        return object(["artifact_keys", [...this.artifacts.keys()]]);
      default:
        throw new Missing("the step is unknown here");
    }
  }

  /** Returns the items of all outputs of AcquireEvidence so far. */
  private evidence(): Json[] {
    if (this.isLost("evidence")) throw new Missing("the blob of evidence is missing");
    return this.artifacts.items("evidence") as Json[];
  }

  /** Returns the input of a step that works the problem out: docs/format.md section 7. */
  private workedInput(name: string): Json {
    const object = (...members: [string, Json][]): JsonObject => new Map(members);
    switch (name) {
      case "Normalize": {
        const inputs = member(this.known(), "inputs");
        return object(["prompt", member(inputs, "prompt") ?? null], ["assumptions", member(inputs, "assumptions") ?? []]);
      }
      case "Decompose": {
        const inputs = member(this.known(), "inputs");
        const prompt = this.newestMember("normalized", "normalized_prompt");
        return object(["goals", member(inputs, "goals") ?? []], ["prompt", prompt], ["tasks", member(inputs, "tasks") ?? []]);
      }
      case "AcquireEvidence": {
        const problem = this.known();
        const all = member(problem, "inputs", "context", "evidence");
        const from = this.evidence().length;
        const batch = member(problem, "settings", "evidence_batch");
        const end = typeof batch === "bigint" ? from + Number(batch) : undefined;
        const taken = Array.isArray(all) ? all.slice(from, end) : [];
        return object(["evidence", taken], ["tasks", this.newestMember("decomposition", "tasks")]);
      }
      case "Compute": {
        const context = member(this.known(), "inputs", "context");
        const facts: JsonObject = new Map(isObject(context) ? [...context].filter(([key]) => key !== "evidence") : []);
        return object(["context", facts], ["evidence", this.evidence()], ["tasks", this.newestMember("decomposition", "tasks")]);
      }
      case "Verify":
        return object(["conclusions", this.newestMember("computation", "conclusions")], ["evidence", this.evidence()]);
      case "Synthesize":
        return object(["conclusions", this.newestMember("computation", "conclusions")], ["verification", this.newest("verification")]);
      case "Audit":
        return object(["artifact_keys", [...this.artifacts.keys()]]);
      default:
        throw new Missing("the step is unknown here");
    }
  }

  private boundInput(binding: Json, step: string): Json {
    const problem = this.known();
    const artifacts: JsonObject = new Map();
    for (const key of this.artifacts.stepKeys()) {
      artifacts.set(key, key === "evidence" && this.profile === "strict-2" ? this.evidence() : this.newest(key));
    }
    const pinned = member(problem, "settings", "policies") === undefined ? 0 : 1;
    const whole: JsonObject = new Map<string, Json>([
      ["artifacts", artifacts], ["problem", problem], ["step", step], ["step_index", BigInt(this.cursor.taken() + pinned)],
    ]);
    const input = member(binding, "input");
    if (input === undefined) return whole;
    if (!isObject(input)) throw new Missing("its binding has no object as input");
    const made: JsonObject = new Map();
    for (const [key, source] of input) {
      const value = member(source, "value") ?? pointer(whole, textAt(source, "at"));
      if (value === undefined) throw new Missing(`nothing is at the place of ${key}`);
      made.set(key, value);
    }
    return made;
  }

  control(record: JsonObject): Check[] {
    if (!this.knowsOrder) return [];
    const broken = record.get("control_type") === "run" ? this.cursor.complete() : this.cursor.decide(record);
    return broken === null ? [] : [reason(broken.code, broken)];
  }

  artifactKey(item: Item): string {
    return DEFAULT_STEPS.find(([step]) => step === item.step)?.[1] ?? item.step;
  }

  position(): readonly number[] {
    return [...this.cursor.position(), this.artifacts.position(), this.lostNow];
  }

  returnTo(position: readonly number[]): void {
    const [artifacts, lost] = position.slice(CURSOR_NUMBERS);
    this.cursor.returnTo(position);
    this.artifacts.returnTo(artifacts as number);
    this.lostNow = lost as number;
  }

  complete(): boolean | null {
    return this.knowsOrder ? this.cursor.hasEnded() : null;
  }
}

/** Follows a JSON pointer (RFC 6901). */
function pointer(value: Json, path: string | undefined): Json | undefined {
  if (path === undefined || (path !== "" && !path.startsWith("/"))) return undefined;
  let found: Json | undefined = value;
  for (const part of path.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(found)) found = /^(0|[1-9]\d*)$/.test(key) ? found[Number(key)] : undefined;
    else found = isObject(found) ? found.get(key) : undefined;
  }
  return found;
}

/** Judges a run of a skill, without the skill: what follows from the skill itself is for an engine. */
export class SkillJudge implements Judge {
  readonly hasCheckpoints = true;
  readonly unchecked = new Set<string>(["the order of steps, what they read and write (they follow from the skill, which only an engine executes)"]);
  private ended = false;

  step(role: Role, item: Item): Check[] {
    const { result, step } = item;
    if (role === "own" && result.get("status") === "failed") this.ended = true;
    if (step === OUTPUTS || step === POLICIES || step === VERDICTS) return [];
    if (role === "blocked" && member(result, "blocked", "status") === "not_started") return [inputCheck(item, null)];
    if (item.lostBlob !== null) {
      this.unchecked.add(`input_hash of ${step} (${item.lostBlob})`);
      return [];
    }
    const outcome = item.outcome;
    const input = member(outcome, "input");
    if (input === undefined) return [reason("result_refused", { found: "the result keeps no outcome of a step" })];
    const checks = [inputCheck(item, input)];
    const named = textAt(outcome, "step_id");
    if (named !== step) checks.push(reason("flow_violation", { expected: step, found: named ?? "none" }));
    return checks;
  }

  control(record: JsonObject): Check[] {
    if (record.get("control_type") !== "run" || this.ended) return [reason("flow_violation")];
    this.ended = true;
    return [];
  }

  artifactKey(item: Item): string {
    if (item.step === POLICIES || item.step === VERDICTS) return item.step;
    return `${item.stepIndex.toString().padStart(6, "0")}:${item.step}`;
  }

  position(): readonly number[] {
    return [Number(this.ended)];
  }

  returnTo([ended]: readonly number[]): void {
    this.ended = ended === 1;
  }

  complete(): boolean | null {
    return this.ended;
  }
}

/** Judges a run of variables. That each event follows from those before is for an engine. */
export class VariablesJudge implements Judge {
  readonly hasCheckpoints = false;
  readonly unchecked = new Set<string>(["whether each event follows from those before (docs/variables-rules.md)"]);
  private ended = false;

  step(_role: Role, item: Item): Check[] {
    const { step } = item;
    if (step === "vars.end") {
      this.ended = true;
      return [inputCheck(item, null)];
    }
    if (!step.startsWith("vars.")) return [reason("flow_violation", { expected: "vars.*", found: step })];
    if (item.lostBlob !== null) {
      this.unchecked.add(`input_hash of ${step} (${item.lostBlob})`);
      return [];
    }
    const event = item.resolvedOutput;
    const [action, at, state] = ["action", "at", "state"].map((key) => textAt(event, key));
    if (action === undefined || at === undefined || state === undefined || `vars.${action}` !== step) {
      return [reason("result_refused", { found: "the output is no event of this step" })];
    }
    return [inputCheck(item, new Map<string, Json>([["action", action], ["at", at], ["state", state]]))];
  }

  control(record: JsonObject): Check[] {
    if (record.get("control_type") !== "run" || this.ended) return [reason("flow_violation")];
    this.ended = true;
    return [];
  }

  artifactKey(): string {
    return "vars";
  }

  position(): readonly number[] {
    return [Number(this.ended)];
  }

  returnTo([ended]: readonly number[]): void {
    this.ended = ended === 1;
  }

  complete(): boolean | null {
    return this.ended ? true : null;
  }
}
