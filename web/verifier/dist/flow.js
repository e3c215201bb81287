/** The order of records in a run of the built-in policy, and of policy records in any run: docs/format.md section 9. */
import { member } from "./json.js";
import { isBlocked, isHash } from "./shape.js";
/** The steps of the policy `default`, with the artifact keys of their outputs. */
export const DEFAULT_STEPS = [
    ["Normalize", "normalized"], ["Decompose", "decomposition"], ["AcquireEvidence", "evidence"], ["Compute", "computation"],
    ["Verify", "verification"], ["Synthesize", "synthesis"], ["Audit", "audit"],
];
const PLACES = ["before", "failed", "ended"];
/** The numbers of a place in the order of steps. */
export const CURSOR_NUMBERS = 5;
/** The place of a run in the order of its steps. */
export class Cursor {
    profile;
    now = { place: { at: "before", step: 0, justExecuted: false }, iteration: 1n, taken: 0 };
    constructor(profile) {
        this.profile = profile;
    }
    /** Returns the place as {@link CURSOR_NUMBERS} numbers. */
    position() {
        const { place, iteration, taken } = this.now;
        const flag = place.at === "before" ? place.justExecuted : place.at === "failed" && place.mayDecide;
        return [PLACES.indexOf(place.at), place.at === "ended" ? 0 : place.step, Number(flag), Number(iteration), taken];
    }
    returnTo([at, step, flag, iteration, taken]) {
        const places = [
            { at: "before", step: step, justExecuted: flag === 1 }, { at: "failed", step: step, mayDecide: flag === 1 }, { at: "ended" },
        ];
        this.now = { place: places[at], iteration: BigInt(iteration), taken: taken };
    }
    due() {
        const { place } = this.now;
        return place.at === "before" ? DEFAULT_STEPS[place.step]?.[0] ?? null : null;
    }
    allDone() {
        const { place } = this.now;
        return place.at === "before" && place.step >= DEFAULT_STEPS.length;
    }
    hasEnded() {
        return this.now.place.at !== "before" || (this.profile === "compat" && this.allDone());
    }
    /** The results in effect before the step that is due. */
    taken() {
        return this.now.taken;
    }
    step(name, failed) {
        const { place } = this.now;
        if (place.at !== "before" || this.due() !== name) {
            return { code: "flow_violation", expected: this.due() ?? "nothing", found: name };
        }
        this.now = failed
            ? { ...this.now, place: { at: "failed", step: place.step, mayDecide: this.profile === "compat" } }
            : { ...this.now, taken: this.now.taken + 1, place: { at: "before", step: place.step + 1, justExecuted: true } };
        return null;
    }
    decide(record) {
        const { place } = this.now;
        const order = (name) => DEFAULT_STEPS.findIndex(([step]) => step === name);
        const start = order(record.get("start_step"));
        const end = order(record.get("end_step"));
        let executed = -1;
        if (place.at === "before" && place.justExecuted)
            executed = place.step - 1;
        if (place.at === "failed" && place.mayDecide)
            executed = place.step;
        if (executed < 0 || executed !== end || start < 0 || start > end)
            return { code: "flow_violation" };
        const iteration = record.get("loop_iteration");
        if (iteration !== this.now.iteration) {
            return { code: "loop_iteration_mismatch", expected: this.now.iteration.toString(), found: iteration.toString() };
        }
        const action = record.get("action");
        if (place.at !== "before" || action === "max_iterations_reached")
            this.now = { ...this.now, place: { at: "ended" } };
        else if (action === "stop")
            this.now = { ...this.now, place: { ...place, justExecuted: false } };
        else
            this.now = { ...this.now, iteration: iteration + 1n, place: { at: "before", step: start, justExecuted: false } };
        return null;
    }
    complete() {
        if (!this.allDone())
            return { code: "flow_violation", expected: this.due() ?? "nothing", found: "complete" };
        this.now = { ...this.now, place: { at: "ended" } };
        return null;
    }
}
export const POLICIES = "$policies";
export const VERDICTS = "$verdicts";
export const OUTPUTS = "$outputs";
const STAGES = ["not_installed", "open", "blocked", "judged"];
/** The order of policy records. Without the problem it is unknown whether there are policies, and nothing is refused. */
export class PolicyOrder {
    problem;
    profile;
    stage = "not_installed";
    pin;
    constructor(problem, profile) {
        this.problem = problem;
        this.profile = profile;
        const pin = member(problem ?? undefined, "settings", "policies", "sha256");
        this.pin = profile !== "compat" && isHash(pin) ? pin : null;
    }
    position() {
        return STAGES.indexOf(this.stage);
    }
    returnTo(position) {
        this.stage = STAGES[position];
    }
    needsVerdicts() {
        return this.pin !== null && this.stage !== "judged";
    }
    /** Returns the role of a result, or why it may not come here. `digest` is that of the recorded policies. */
    take(result, digest) {
        const step = result.get("step");
        const isAside = step === POLICIES || step === VERDICTS;
        if (this.problem === null) {
            if (isAside)
                return "policies";
            return this.profile !== "compat" && isBlocked(result) ? "blocked" : "own";
        }
        if (this.pin === null)
            return isAside ? { refused: "the problem pins no policies" } : "own";
        if (this.stage === "judged")
            return { refused: "the verdicts are recorded, so only completion may follow" };
        if (step === POLICIES) {
            if (this.stage === "not_installed" && digest !== this.pin)
                return { refused: "the recorded policies are not the ones the problem pins" };
            if (this.stage === "open")
                return { refused: "nothing is blocked, so the policies cannot be amended" };
            this.stage = "open";
            return "policies";
        }
        if (this.stage === "not_installed")
            return { refused: "the policies must be recorded before the first step" };
        if (isBlocked(result)) {
            this.stage = "blocked";
            return "blocked";
        }
        this.stage = step === VERDICTS ? "judged" : "open";
        return step === VERDICTS ? "verdicts" : "own";
    }
}
