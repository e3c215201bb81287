/** Judges runs whose steps nothing derives from the problem: the turns of a model, and what an agent reports (docs/format.md section 14). */
import { type Role } from "./flow.js";
import type { Item } from "./item.js";
import { type JsonObject } from "./json.js";
import { type Judge } from "./judges.js";
import { type Check } from "./report.js";
/** What both kinds share: nothing follows an end, and no loop decides anything. */
declare abstract class ReportedJudge implements Judge {
    abstract readonly unchecked: Set<string>;
    abstract readonly hasCheckpoints: boolean;
    protected ended: boolean;
    protected abstract readonly prefix: string;
    protected abstract own(item: Item): Check[];
    abstract artifactKey(item: Item): string;
    step(role: Role, item: Item): Check[];
    control(record: JsonObject): Check[];
    position(): readonly number[];
    returnTo([ended]: readonly number[]): void;
    complete(): boolean | null;
}
/** Judges a run of `hence solve`: turns of a model, blocks of code and the calls they made. */
export declare class SolveJudge extends ReportedJudge {
    readonly unchecked: Set<string>;
    readonly hasCheckpoints = true;
    protected readonly prefix = "solve.";
    protected own(item: Item): Check[];
    private input;
    artifactKey(item: Item): string;
}
/** Judges the run of a trace that an agent reports operation by operation. */
export declare class TraceJudge extends ReportedJudge {
    readonly unchecked: Set<string>;
    readonly hasCheckpoints = false;
    protected readonly prefix = "trace.";
    protected own(item: Item): Check[];
    artifactKey(): string;
}
export {};
