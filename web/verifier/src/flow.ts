/** The order of records in a run of the built-in policy, and of policy records in any run: docs/format.md section 9. */

import { member, type Json, type JsonObject } from "./json.js";
import { isBlocked, isHash, type Profile } from "./shape.js";

/** The steps of the policy `default`, with the artifact keys of their outputs. */
export const DEFAULT_STEPS: readonly (readonly [step: string, key: string])[] = [
  ["Normalize", "normalized"], ["Decompose", "decomposition"], ["AcquireEvidence", "evidence"], ["Compute", "computation"],
  ["Verify", "verification"], ["Synthesize", "synthesis"], ["Audit", "audit"],
];

type Place =
  | { at: "before"; step: number; justExecuted: boolean }
  | { at: "failed"; step: number; mayDecide: boolean }
  | { at: "ended" };

const PLACES = ["before", "failed", "ended"];

/** The numbers of a place in the order of steps. */
export const CURSOR_NUMBERS = 5;

interface CursorPosition {
  place: Place;
  iteration: bigint;
  taken: number;
}

export type FlowFinding = { code: "flow_violation"; expected?: string; found?: string } | { code: "loop_iteration_mismatch"; expected: string; found: string };

/** The place of a run in the order of its steps. */
export class Cursor {
  private now: CursorPosition = { place: { at: "before", step: 0, justExecuted: false }, iteration: 1n, taken: 0 };

  constructor(private readonly profile: Profile) {}

  /** Returns the place as {@link CURSOR_NUMBERS} numbers. */
  position(): readonly number[] {
    const { place, iteration, taken } = this.now;
    const flag = place.at === "before" ? place.justExecuted : place.at === "failed" && place.mayDecide;
    return [PLACES.indexOf(place.at), place.at === "ended" ? 0 : place.step, Number(flag), Number(iteration), taken];
  }

  returnTo([at, step, flag, iteration, taken]: readonly number[]): void {
    const places: Place[] = [
      { at: "before", step: step as number, justExecuted: flag === 1 }, { at: "failed", step: step as number, mayDecide: flag === 1 }, { at: "ended" },
    ];
    this.now = { place: places[at as number] as Place, iteration: BigInt(iteration as number), taken: taken as number };
  }

  due(): string | null {
    const { place } = this.now;
    return place.at === "before" ? DEFAULT_STEPS[place.step]?.[0] ?? null : null;
  }

  allDone(): boolean {
    const { place } = this.now;
    return place.at === "before" && place.step >= DEFAULT_STEPS.length;
  }

  hasEnded(): boolean {
    return this.now.place.at !== "before" || (this.profile === "compat" && this.allDone());
  }

  /** The results in effect before the step that is due. */
  taken(): number {
    return this.now.taken;
  }

  step(name: string, failed: boolean): FlowFinding | null {
    const { place } = this.now;
    if (place.at !== "before" || this.due() !== name) {
      return { code: "flow_violation", expected: this.due() ?? "nothing", found: name };
    }
    this.now = failed
      ? { ...this.now, place: { at: "failed", step: place.step, mayDecide: this.profile === "compat" } }
      : { ...this.now, taken: this.now.taken + 1, place: { at: "before", step: place.step + 1, justExecuted: true } };
    return null;
  }

  decide(record: JsonObject): FlowFinding | null {
    const { place } = this.now;
    const order = (name: Json | undefined): number => DEFAULT_STEPS.findIndex(([step]) => step === name);
    const start = order(record.get("start_step"));
    const end = order(record.get("end_step"));
    let executed = -1;
    if (place.at === "before" && place.justExecuted) executed = place.step - 1;
    if (place.at === "failed" && place.mayDecide) executed = place.step;
    if (executed < 0 || executed !== end || start < 0 || start > end) return { code: "flow_violation" };
    const iteration = record.get("loop_iteration") as bigint;
    if (iteration !== this.now.iteration) {
      return { code: "loop_iteration_mismatch", expected: this.now.iteration.toString(), found: iteration.toString() };
    }
    const action = record.get("action");
    if (place.at !== "before" || action === "max_iterations_reached") this.now = { ...this.now, place: { at: "ended" } };
    else if (action === "stop") this.now = { ...this.now, place: { ...place, justExecuted: false } };
    else this.now = { ...this.now, iteration: iteration + 1n, place: { at: "before", step: start, justExecuted: false } };
    return null;
  }

  complete(): FlowFinding | null {
    if (!this.allDone()) return { code: "flow_violation", expected: this.due() ?? "nothing", found: "complete" };
    this.now = { ...this.now, place: { at: "ended" } };
    return null;
  }
}

export const POLICIES = "$policies";
export const VERDICTS = "$verdicts";
export const OUTPUTS = "$outputs";

/** What a result is in a run under policies. */
export type Role = "policies" | "verdicts" | "blocked" | "own";
const STAGES = ["not_installed", "open", "blocked", "judged"] as const;
type Stage = (typeof STAGES)[number];

/** The order of policy records. Without the problem it is unknown whether there are policies, and nothing is refused. */
export class PolicyOrder {
  private stage: Stage = "not_installed";
  readonly pin: string | null;

  constructor(private readonly problem: JsonObject | null, private readonly profile: Profile) {
    const pin = member(problem ?? undefined, "settings", "policies", "sha256");
    this.pin = profile !== "compat" && isHash(pin) ? pin : null;
  }

  position(): number {
    return STAGES.indexOf(this.stage);
  }

  returnTo(position: number): void {
    this.stage = STAGES[position] as Stage;
  }

  needsVerdicts(): boolean {
    return this.pin !== null && this.stage !== "judged";
  }

  /** Returns the role of a result, or why it may not come here. `digest` is that of the recorded policies. */
  take(result: JsonObject, digest: string | null): Role | { refused: string } {
    const step = result.get("step");
    const isAside = step === POLICIES || step === VERDICTS;
    if (this.problem === null) {
      if (isAside) return "policies";
      return this.profile !== "compat" && isBlocked(result) ? "blocked" : "own";
    }
    if (this.pin === null) return isAside ? { refused: "the problem pins no policies" } : "own";
    if (this.stage === "judged") return { refused: "the verdicts are recorded, so only completion may follow" };
    if (step === POLICIES) {
      if (this.stage === "not_installed" && digest !== this.pin) return { refused: "the recorded policies are not the ones the problem pins" };
      if (this.stage === "open") return { refused: "nothing is blocked, so the policies cannot be amended" };
      this.stage = "open";
      return "policies";
    }
    if (this.stage === "not_installed") return { refused: "the policies must be recorded before the first step" };
    if (isBlocked(result)) {
      this.stage = "blocked";
      return "blocked";
    }
    this.stage = step === VERDICTS ? "judged" : "open";
    return step === VERDICTS ? "verdicts" : "own";
  }
}
