/** What each kind of run says about its records: their order and their inputs (docs/format.md sections 7, 9 and 14). */
import { type Json, type JsonObject } from "./json.js";
import { type Role } from "./flow.js";
import type { Item } from "./item.js";
import { type Check } from "./report.js";
import type { Profile } from "./shape.js";
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
export declare function hashOf(value: Json): Promise<string>;
export declare function inputCheck(item: Item, input: Json): Check;
/** Says in which way the run of a problem proceeds. */
export declare function kindOfProblem(problem: JsonObject): RunKind;
/** Guesses the kind from the first step of a journal whose problem is missing. */
export declare function kindOfStep(first: string): RunKind;
/** Judges a run of the built-in steps. */
export declare class ReasonJudge implements Judge {
    private readonly profile;
    private readonly problem;
    private readonly bindings;
    private readonly knowsOrder;
    readonly hasCheckpoints = true;
    readonly unchecked: Set<string>;
    private readonly cursor;
    private readonly artifacts;
    /** `problem` is the trusted problem, or null at the linked level; `bindings` names the bound steps at both levels. */
    constructor(profile: Profile, problem: JsonObject | null, bindings: JsonObject | null, knowsOrder: boolean);
    step(role: Role, item: Item): Check[];
    /** The sets of keys whose newest output is a blob that is missing, each from some record on, and the number of the present one. */
    private readonly lost;
    private lostNow;
    private isLost;
    private noteLost;
    private input;
    private newest;
    private newestMember;
    private known;
    private inputOf;
    /** Returns the items of all outputs of AcquireEvidence so far. */
    private evidence;
    /** Returns the input of a step that works the problem out: docs/format.md section 7. */
    private workedInput;
    private boundInput;
    control(record: JsonObject): Check[];
    artifactKey(item: Item): string;
    position(): readonly number[];
    returnTo(position: readonly number[]): void;
    complete(): boolean | null;
}
/** Judges a run of a skill, without the skill: what follows from the skill itself is for an engine. */
export declare class SkillJudge implements Judge {
    readonly hasCheckpoints = true;
    readonly unchecked: Set<string>;
    private ended;
    step(role: Role, item: Item): Check[];
    control(record: JsonObject): Check[];
    artifactKey(item: Item): string;
    position(): readonly number[];
    returnTo([ended]: readonly number[]): void;
    complete(): boolean | null;
}
/** Judges a run of variables. That each event follows from those before is for an engine. */
export declare class VariablesJudge implements Judge {
    readonly hasCheckpoints = false;
    readonly unchecked: Set<string>;
    private ended;
    step(_role: Role, item: Item): Check[];
    control(record: JsonObject): Check[];
    artifactKey(): string;
    position(): readonly number[];
    returnTo([ended]: readonly number[]): void;
    complete(): boolean | null;
}
