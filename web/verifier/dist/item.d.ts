/** One line of a journal on its way through the levels. */
import { type Json, type JsonObject } from "./json.js";
import type { Line } from "./lines.js";
import { type Check, type Reason } from "./report.js";
import { type Profile, type RecordKind } from "./shape.js";
/** A line that was read, with everything that the levels ask about it. */
export declare class Item {
    /** What the bytes level says, or nothing when the line is canonical. */
    bytesReason: Reason | null;
    record: JsonObject | null;
    lineReason: Reason | null;
    kind: RecordKind;
    /** The blobs that the record refers to and that are not there, in words. */
    lostBlob: string | null;
    resolvedOutput: Json | undefined;
    resolvedOutcome: Json | undefined;
    private hash;
    private outputDigest;
    private outputCanonical;
    /** The line without its bytes: they would keep the chunk in memory that they are a part of. */
    readonly line: Omit<Line, "bytes">;
    constructor(line: Line);
    /** Reads the record; says what the line is instead where it holds none. */
    private read;
    get recordHash(): string | null;
    /** Checks the line by itself and against the hash of the line before. */
    chainChecks(profile: Profile, before: string | null): Check[];
    get result(): JsonObject;
    get step(): string;
    get stepIndex(): bigint;
    /** The output as it stands in the record. */
    get output(): Json | undefined;
    get outputText(): string | null;
    get outputHash(): Promise<string>;
    /** What the step gave: its output, or what policies blocked. */
    get attemptOutput(): Json | undefined;
    /** The outcome of a step of a skill. */
    get outcome(): Json | undefined;
    /** Fetches the large values that the result refers to. */
    resolve(fetch: (reference: BlobReference) => Promise<Uint8Array | string>): Promise<void>;
}
export interface BlobReference {
    sha256: string;
    bytes: bigint | null;
}
/** Reads a reference to a large value; nothing when the value is none. */
export declare function blobReference(value: Json): BlobReference | null;
/** Finds every reference to a large value in a value. */
export declare function blobReferences(value: Json): Generator<BlobReference>;
