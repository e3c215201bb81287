/** Long lists in little memory: a verifier remembers something of every record, and objects take ten times the room of numbers. */
import { type Json } from "./json.js";
/** A list of whole numbers of 32 bits that grows: places and counts of records, of which no journal here has 2^31. */
export declare class Numbers {
    private room;
    private count;
    get length(): number;
    push(...numbers: number[]): void;
    at(index: number): number;
    /** Returns the numbers from `from` up to `to`. */
    between(from: number, to: number): readonly number[];
    clear(): void;
}
/** An output of a step. */
export interface Output {
    key: string;
    step: string;
    stepIndex: string;
    text: string;
}
/** No output: the place before the first one. */
export declare const NO_OUTPUT = -1;
/** The outputs of a run in the order of their records, each with the one before it: after a rollback that is an older one. */
export declare class OutputLog {
    private readonly numbers;
    private readonly texts;
    private readonly names;
    private readonly nameNumbers;
    /** The values that are held as trees: the newest of each key, and those that are not in their texts. */
    private readonly values;
    /** Step indexes that no number here holds. A record that has one is refused, but its state has a hash. */
    private readonly longIndexes;
    /** Adds an output and returns its number. */
    add(before: number, key: string, step: string, stepIndex: bigint, text: string, value: Json): number;
    output(at: number): Output;
    before(at: number): number;
    key(at: number): string;
    text(at: number): string;
    value(at: number): Json;
    /** Drops the tree of a value whose text has all of it: a large value is elsewhere. */
    dropValue(at: number): void;
    /** Names are kept once: one that was cut out of its line would keep the whole line in memory. */
    private nameNumber;
}
