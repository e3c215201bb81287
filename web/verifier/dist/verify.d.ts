/** Verifies a journal in one pass, level by level. */
import { type Report } from "./report.js";
export interface Head {
    hash: string;
    records: number;
}
/** Where the parts of a run come from. Only the journal is needed; what is absent is reported as not checked. */
export interface Sources {
    journal: AsyncIterable<Uint8Array>;
    problem?: Uint8Array | null;
    anchor?: Head | null;
    /** Returns a blob, null when it is not there, or says why it cannot be had. */
    blob?: (sha256: string) => Promise<Uint8Array | string | null>;
    /** Returns a document that lies next to the journal. */
    document?: (name: string) => Promise<Uint8Array | null>;
    /** Returns the journal of another run of the same store. */
    run?: (id: string) => Promise<AsyncIterable<Uint8Array> | null>;
}
export interface Options {
    target?: string;
    /** Is told after each batch how many records were read. */
    onProgress?: (records: number) => void;
    /** The bytes of outputs that may be held in memory for the level spec. */
    heldBytesMax?: number;
}
/** Reads a head, `HASH:COUNT`. */
export declare function parseHead(text: string): Head | null;
/** Verifies a journal and what belongs to it. It never throws for what a journal holds. */
export declare function verify(sources: Sources, options?: Options): Promise<Report>;
