/** Follows the records of a journal at the levels linked and spec: docs/format.md section 10. */
import { type Item } from "./item.js";
import { type JsonObject } from "./json.js";
import { type Judge, type RunKind } from "./judges.js";
import { type Check } from "./report.js";
import { type Profile } from "./shape.js";
/** Follows a journal: at the linked level without the problem, at the spec level with it. */
export declare class Follower {
    private readonly profile;
    private readonly header;
    private readonly problem;
    readonly judge: Judge;
    private readonly policies;
    private readonly state;
    private stateHash;
    private stepIndex;
    private readonly checkpoints;
    /** The positions behind each record, because a checkpoint may name any of them: the policies, the outputs, and what the judge says. */
    private readonly positions;
    constructor(profile: Profile, header: JsonObject, kind: RunKind, document: JsonObject | null, problem: JsonObject | null);
    headerChecks(): Check[];
    /** Checks a record whose shape holds. `next` is the record behind it. */
    checks(item: Item, next: Item | null): Check[];
    private keep;
    /** Returns to the position behind a record. Returns the position of the outputs. */
    private returnTo;
    private step;
    private settleState;
    private control;
    private checkpoint;
    private rollback;
}
