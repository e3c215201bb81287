/** The order of records in a run of the built-in policy, and of policy records in any run: docs/format.md section 9. */
import { type JsonObject } from "./json.js";
import { type Profile } from "./shape.js";
/** The steps of the policy `default`, with the artifact keys of their outputs. */
export declare const DEFAULT_STEPS: readonly (readonly [step: string, key: string])[];
/** The numbers of a place in the order of steps. */
export declare const CURSOR_NUMBERS = 5;
export type FlowFinding = {
    code: "flow_violation";
    expected?: string;
    found?: string;
} | {
    code: "loop_iteration_mismatch";
    expected: string;
    found: string;
};
/** The place of a run in the order of its steps. */
export declare class Cursor {
    private readonly profile;
    private now;
    constructor(profile: Profile);
    /** Returns the place as {@link CURSOR_NUMBERS} numbers. */
    position(): readonly number[];
    returnTo([at, step, flag, iteration, taken]: readonly number[]): void;
    due(): string | null;
    allDone(): boolean;
    hasEnded(): boolean;
    /** The results in effect before the step that is due. */
    taken(): number;
    step(name: string, failed: boolean): FlowFinding | null;
    decide(record: JsonObject): FlowFinding | null;
    complete(): FlowFinding | null;
}
export declare const POLICIES = "$policies";
export declare const VERDICTS = "$verdicts";
export declare const OUTPUTS = "$outputs";
/** What a result is in a run under policies. */
export type Role = "policies" | "verdicts" | "blocked" | "own";
/** The order of policy records. Without the problem it is unknown whether there are policies, and nothing is refused. */
export declare class PolicyOrder {
    private readonly problem;
    private readonly profile;
    private stage;
    readonly pin: string | null;
    constructor(problem: JsonObject | null, profile: Profile);
    position(): number;
    returnTo(position: number): void;
    needsVerdicts(): boolean;
    /** Returns the role of a result, or why it may not come here. `digest` is that of the recorded policies. */
    take(result: JsonObject, digest: string | null): Role | {
        refused: string;
    };
}
