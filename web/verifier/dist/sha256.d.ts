/**
 * SHA-256. Large values are hashed by WebCrypto. WebCrypto cannot continue a hash, and a state grows with every record, so states are
 * hashed by {@link Sha256}, which can: a run of N records then costs N outputs and not N states. It also hashes short values, because
 * waiting for WebCrypto takes longer than hashing them.
 */
/** Returns the SHA-256 of bytes as 64 lower-case hex digits. */
export declare function sha256(bytes: Uint8Array): Promise<string>;
/** Returns the SHA-256 of a text in UTF-8. */
export declare function sha256Text(text: string): Promise<string>;
/** A hash in progress, which can be copied and continued. */
export declare class Sha256 {
    private readonly words;
    private readonly block;
    private length;
    clone(): Sha256;
    update(bytes: Uint8Array): this;
    /** Continues with a text in UTF-8. */
    updateText(text: string): this;
    /** Returns the digest of what was given so far; more can be given afterwards. */
    hex(): string;
    /** Adds the padding and the length. Nothing is made for it: a buffer for each hash would be outside the heap until somebody collects it. */
    private close;
    private compress;
}
