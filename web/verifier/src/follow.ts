/** Follows the records of a journal at the levels linked and spec: docs/format.md section 10. */

import { POLICIES, PolicyOrder } from "./flow.js";
import { blobReference, type Item } from "./item.js";
import { isObject, member, type JsonObject } from "./json.js";
import { hashOf, ReasonJudge, SkillJudge, VariablesJudge, type Judge, type RunKind } from "./judges.js";
import { NO_OUTPUT, Numbers } from "./packed.js";
import { SolveJudge, TraceJudge } from "./reported.js";
import { reason, type Check } from "./report.js";
import { isBlocked, type Profile } from "./shape.js";
import { State } from "./state.js";

const CHECKPOINTS_MAX = 100;
const CHECKPOINT_NAME_BYTES_MAX = 256;

/** Follows a journal: at the linked level without the problem, at the spec level with it. */
export class Follower {
  readonly judge: Judge;
  private readonly policies: PolicyOrder;
  private readonly state: State | null;
  private stateHash: string;
  private stepIndex = 0n;
  private readonly checkpoints = new Map<string, bigint>([["initial_state", 0n]]);
  /** The positions behind each record, because a checkpoint may name any of them: the policies, the outputs, and what the judge says. */
  private readonly positions = new Numbers();

  constructor(
    private readonly profile: Profile,
    private readonly header: JsonObject,
    kind: RunKind,
    document: JsonObject | null,
    private readonly problem: JsonObject | null,
  ) {
    this.judge = makeJudge(kind, profile, document, problem);
    this.policies = new PolicyOrder(problem, profile);
    this.state = problem === null ? null : new State(profile, header, problem);
    this.stateHash = String(header.get("initial_state_hash"));
  }

  headerChecks(): Check[] {
    this.keep();
    if (this.problem === null || this.state === null) return [];
    const found = (key: string): string => String(this.header.get(key));
    return [
      { code: "problem_spec_hash_mismatch", expected: hashOf(this.problem), found: found("problem_spec_hash") },
      { code: "initial_state_hash_mismatch", expected: this.state.digest(), found: found("initial_state_hash") },
    ];
  }

  /** Checks a record whose shape holds. `next` is the record behind it. */
  checks(item: Item, next: Item | null): Check[] {
    const record = item.record as JsonObject;
    const checks = item.kind === "step" ? this.step(item, record, next) : this.control(item, record);
    this.keep();
    return checks;
  }

  private keep(): void {
    if (!this.judge.hasCheckpoints || this.profile === "compat") return;
    this.positions.push(this.policies.position(), this.state?.artifacts.position() ?? NO_OUTPUT, ...this.judge.position());
  }

  /** Returns to the position behind a record. Returns the position of the outputs. */
  private returnTo(record: number): number {
    const width = 2 + this.judge.position().length;
    const [policies, outputs, ...judge] = this.positions.between(record * width, (record + 1) * width);
    this.judge.returnTo(judge);
    this.policies.returnTo(policies as number);
    return outputs as number;
  }

  private step(item: Item, record: JsonObject, next: Item | null): Check[] {
    const { result } = item;
    const checks: Check[] = [
      { code: "state_before_hash_mismatch", expected: this.stateHash, found: String(record.get("state_before_hash")) },
    ];
    if (record.get("step_index") !== this.stepIndex) {
      checks.push(reason("step_index_mismatch", { expected: this.stepIndex.toString(), found: String(record.get("step_index")) }));
    }
    checks.push({ code: "output_hash_mismatch", expected: item.outputHash, found: String(result.get("output_hash")) });
    const failed = result.get("status") === "failed";
    if (this.profile !== "compat" || !failed) this.stepIndex += 1n;
    const role = this.policies.take(result, item.step === POLICIES ? policiesDigest(item) : null);
    if (typeof role === "object") checks.push(reason("flow_violation", { found: role.refused }));
    else checks.push(...this.judge.step(role, item));
    if (this.state !== null) {
      const staysRunning = this.policies.pin !== null && isBlocked(result);
      const key = this.judge.artifactKey(item);
      let refused = this.state.apply(key, record, item.outputText, null, staysRunning);
      // The compat profile has the failure of an exhausted loop in the state of the step before the decision.
      if (refused === null && this.profile === "compat" && member(next?.record ?? undefined, "action") === "max_iterations_reached") {
        refused = this.state.exhaust(String(result.get("finished_at")));
      }
      this.settleState(checks, refused, "state_after_hash_mismatch", String(record.get("state_after_hash")));
    }
    this.stateHash = String(record.get("state_after_hash"));
    return checks;
  }

  private settleState(checks: Check[], refused: string | null, code: string, found: string): void {
    const isKnown = checks.some((check) => check.code === "result_refused");
    if (refused !== null && !isKnown) checks.push(reason("result_refused", { found: refused }));
    checks.push({ code, expected: (this.state as State).digest(), found });
  }

  private control(item: Item, record: JsonObject): Check[] {
    const type = record.get("control_type");
    const at = String(record.get("at"));
    const found = String(record.get("state_hash"));
    const checks: Check[] = [];
    let refused: string | null = null;
    let changes = false;
    if (type === "checkpoint" || type === "rollback") {
      if (!this.judge.hasCheckpoints) checks.push(reason("flow_violation"));
      const problem = type === "checkpoint" ? this.checkpoint(item, record) : this.rollback(record);
      if (problem !== null) checks.push(reason("result_refused", { found: problem }));
      changes = type === "rollback";
      // Without checkpoints there are no positions, and the record is refused already.
      if (changes && problem === null && this.positions.length > 0) {
        const outputs = this.returnTo(Number(record.get("to")));
        refused = this.state?.rollBack(outputs, at) ?? null;
      }
    } else if (type === "run") {
      changes = true;
      if (this.policies.needsVerdicts()) checks.push(reason("flow_violation", { expected: "$verdicts", found: "complete" }));
      else checks.push(...this.judge.control(record));
      refused = this.state?.complete(at) ?? null;
    } else {
      changes = this.profile !== "compat" && record.get("action") === "max_iterations_reached";
      checks.push(...this.judge.control(record));
      if (changes) refused = this.state?.exhaust(at) ?? null;
    }
    if (!changes) checks.push({ code: "state_hash_mismatch", expected: this.stateHash, found });
    else if (this.state !== null) this.settleState(checks, refused, "state_hash_mismatch", found);
    if (!changes && this.state !== null) checks.push({ code: "state_hash_mismatch", expected: this.state.digest(), found });
    this.stateHash = found;
    return checks;
  }

  private checkpoint(item: Item, record: JsonObject): string | null {
    const name = String(record.get("name"));
    const position = record.get("position") as bigint;
    if (new TextEncoder().encode(name).length > CHECKPOINT_NAME_BYTES_MAX) return "the name of the checkpoint is too long";
    if (this.checkpoints.has(name)) return `there is a checkpoint ${JSON.stringify(name)} already`;
    if (this.checkpoints.size >= CHECKPOINTS_MAX) return `a run has at most ${CHECKPOINTS_MAX} checkpoints`;
    if (position >= BigInt(item.line.number)) return `expected a record before ${item.line.number}, found ${position}`;
    this.checkpoints.set(name, position);
    return null;
  }

  private rollback(record: JsonObject): string | null {
    const name = String(record.get("name"));
    const position = this.checkpoints.get(name);
    if (position === undefined) return `there is no checkpoint ${JSON.stringify(name)}`;
    if (position !== record.get("to")) return `checkpoint ${JSON.stringify(name)} is after record ${position}, the rollback goes to ${String(record.get("to"))}`;
    this.stepIndex += 1n;
    return null;
  }
}

/** A reference names the digest of the policies; otherwise it is the recorded hash of the output, which is checked by itself. */
function policiesDigest(item: Item): string | null {
  const { output } = item;
  if (output === undefined) return null;
  return blobReference(output)?.sha256 ?? String(item.result.get("output_hash"));
}

function makeJudge(kind: RunKind, profile: Profile, document: JsonObject | null, problem: JsonObject | null): Judge {
  if (kind === "variables") return new VariablesJudge();
  if (kind === "skill") return new SkillJudge();
  if (kind === "solve") return new SolveJudge();
  if (kind === "trace") return new TraceJudge();
  const policy = member(document ?? undefined, "settings", "policy_profile");
  const bindings = member(document ?? undefined, "settings", "bindings");
  const isDefault = policy === undefined || policy === null || policy === "default";
  return new ReasonJudge(profile, problem, isObject(bindings) ? bindings : null, isDefault);
}
