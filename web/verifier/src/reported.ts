/** Judges runs whose steps nothing derives from the problem: the turns of a model, and what an agent reports (docs/format.md section 14). */

import { POLICIES, VERDICTS, type Role } from "./flow.js";
import type { Item } from "./item.js";
import { member, textAt, type Json, type JsonObject } from "./json.js";
import { hashOf, inputCheck, type Judge } from "./judges.js";
import { reason, type Check } from "./report.js";
import { sha256Text } from "./sha256.js";

const SOLVE_PREFIX = "solve.";
const TRACE_PREFIX = "trace.";

/** What both kinds share: nothing follows an end, and no loop decides anything. */
abstract class ReportedJudge implements Judge {
  abstract readonly unchecked: Set<string>;
  abstract readonly hasCheckpoints: boolean;
  protected ended = false;

  protected abstract readonly prefix: string;
  protected abstract own(item: Item): Check[];
  abstract artifactKey(item: Item): string;

  step(role: Role, item: Item): Check[] {
    const { step } = item;
    if (this.ended) return [reason("flow_violation", { expected: "nothing", found: step })];
    if (role !== "own" || step === POLICIES || step === VERDICTS) return [];
    if (!step.startsWith(this.prefix)) return [reason("flow_violation", { expected: `${this.prefix}*`, found: step })];
    if (step === `${this.prefix}end`) {
      this.ended = true;
      return [];
    }
    if (item.lostBlob !== null) {
      this.unchecked.add(`input_hash of ${step} (${item.lostBlob})`);
      return [];
    }
    return this.own(item);
  }

  control(record: JsonObject): Check[] {
    if (record.get("control_type") !== "run" || this.ended) return [reason("flow_violation")];
    this.ended = true;
    return [];
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

/** Judges a run of `hence solve`: turns of a model, blocks of code and the calls they made. */
export class SolveJudge extends ReportedJudge {
  readonly unchecked = new Set<string>(["the order of turns, blocks and calls, and what was sent to the model (that is for `hence verify`)"]);
  readonly hasCheckpoints = true;
  protected readonly prefix = SOLVE_PREFIX;

  protected own(item: Item): Check[] {
    const { step, outcome } = item;
    const members = { "solve.turn": ["turn", "model", "request_sha256"], "solve.compact": ["turn", "request_sha256"] }[step];
    if (members !== undefined) return this.input(item, members.map((name): [string, Json | undefined] => [name, member(outcome, name)]));
    const code = textAt(outcome, "code");
    const [turn, block] = [member(outcome, "turn"), member(outcome, "block")];
    if (step === "solve.block" && code !== undefined && turn !== undefined && block !== undefined) {
      // The digest of the code is computed first; the check of the input waits for it.
      const made = sha256Text(code).then((digest) => hashOf(new Map<string, Json>([["turn", turn], ["block", block], ["code_sha256", digest]])));
      return [{ code: "input_hash_mismatch", expected: made, found: String(item.result.get("input_hash")) }];
    }
    const child = textAt(member(outcome, "child"), "run");
    if (child !== undefined) this.unchecked.add(`the records of child run ${child} (it is verified by itself)`);
    this.unchecked.add(`input_hash of ${step}`);
    return [];
  }

  private input(item: Item, members: [string, Json | undefined][]): Check[] {
    const known = members.filter((entry): entry is [string, Json] => entry[1] !== undefined);
    if (known.length === members.length) return [inputCheck(item, new Map(known))];
    this.unchecked.add(`input_hash of ${item.step}`);
    return [];
  }

  artifactKey(item: Item): string {
    if (item.step === POLICIES || item.step === VERDICTS) return item.step;
    return `${item.stepIndex.toString().padStart(6, "0")}:${item.step}`;
  }
}

/** Judges the run of a trace that an agent reports operation by operation. */
export class TraceJudge extends ReportedJudge {
  readonly unchecked = new Set<string>(["whether each operation follows from those before, and whether what the agent reports is so"]);
  readonly hasCheckpoints = false;
  protected readonly prefix = TRACE_PREFIX;

  protected own(item: Item): Check[] {
    const [op, at] = ["op", "at"].map((key) => textAt(item.resolvedOutput, key));
    if (op === undefined || at === undefined || `${TRACE_PREFIX}${op}` !== item.step) {
      return [reason("result_refused", { found: "the output is no operation of this step" })];
    }
    return [inputCheck(item, new Map<string, Json>([["op", op], ["at", at]]))];
  }

  artifactKey(): string {
    return "trace";
  }
}
