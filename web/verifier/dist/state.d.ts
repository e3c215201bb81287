/** The state of a run as the fold of its records, and its hash: docs/format.md section 5. */
import { type Json, type JsonObject } from "./json.js";
import type { Profile } from "./shape.js";
import { Sha256 } from "./sha256.js";
/** The outputs of steps by their artifact keys. */
export declare class Artifacts {
    private readonly profile;
    private readonly prefix;
    private readonly log;
    private last;
    /** The first output of each key, or in the compat profile the newest. */
    private first;
    private readonly later;
    private newestOf;
    /** The items of all lists under a key, grown with each output: a run asks for them at every step. */
    private listed;
    /** The keys in order. */
    private order;
    /** The hash up to the last key before `iterations`, how many keys it covers, and the last of them. */
    private front;
    /** The hash up to the last entry of `iterations`, and how many entries and keys it covers. */
    private middle;
    constructor(profile: Profile, prefix: string);
    /** Puts an output under its key. `value` is the output with large values fetched; `text` is what the record holds. */
    put(key: string, step: string, stepIndex: bigint, text: string, value: Json): void;
    private place;
    /** Returns the items of all lists that are outputs under a key, oldest first. */
    items(key: string): readonly Json[];
    /** Returns the position to which {@link returnTo} can return. */
    position(): number;
    returnTo(position: number): void;
    /** Returns the newest output of a key: undefined when there is none. */
    newest(key: string): {
        value: Json;
        text: string;
    } | undefined;
    /** Returns the keys of the state's `artifacts`, in order. */
    keys(): string[];
    stepKeys(): string[];
    /** Returns a hash over the prefix and all members of `artifacts`. Only what is new is hashed, where it stands at the end. */
    hash(): Sha256;
    private hashFront;
    private hashMiddle;
}
export type Status = "pending" | "running" | "failed" | "completed";
/** The state of a run after some of its records. A method that refuses returns why and changes nothing. */
export declare class State {
    private readonly profile;
    private readonly problem;
    readonly artifacts: Artifacts;
    private errors;
    private errorText;
    private stepIndex;
    private updatedAt;
    private status;
    private readonly fixed;
    constructor(profile: Profile, header: JsonObject, problem: JsonObject);
    digest(): string;
    apply(key: string, record: JsonObject, outputText: string | null, value: Json, blockedKeepsRunning: boolean): string | null;
    complete(at: string): string | null;
    /** Fails the run because its loop reached its limit. */
    exhaust(at: string): string | null;
    rollBack(position: number, at: string): string | null;
    private ended;
    private late;
    private append;
}
