/** Splits a stream of bytes into lines with bounded memory. */
export declare const LINE_BYTES_MAX: number;
export interface Line {
    number: number;
    /** The bytes without the line feed; nothing when there are too many of them. They are part of a chunk and hold until the next line is asked for. */
    bytes: Uint8Array | null;
    length: number;
    hasLineFeed: boolean;
}
export declare function splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Line>;
