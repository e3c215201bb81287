/**
 * SHA-256. Large values are hashed by WebCrypto. WebCrypto cannot continue a hash, and a state grows with every record, so states are
 * hashed by {@link Sha256}, which can: a run of N records then costs N outputs and not N states. It also hashes short values, because
 * waiting for WebCrypto takes longer than hashing them.
 */
/** The size from which WebCrypto is faster, its waiting included. */
const LARGE_BYTES = 16 * 1024;
/** Returns the SHA-256 of bytes as 64 lower-case hex digits. */
export async function sha256(bytes) {
    if (bytes.length < LARGE_BYTES)
        return new Sha256().update(bytes).hex();
    const subtle = globalThis.crypto?.subtle;
    // A page that is no secure context has no WebCrypto; the verdict is the same, only slower.
    if (subtle === undefined)
        return new Sha256().update(bytes).hex();
    return hex(new Uint8Array(await subtle.digest("SHA-256", bytes)));
}
/** Returns the SHA-256 of a text in UTF-8. */
export async function sha256Text(text) {
    return text.length < LARGE_BYTES ? new Sha256().updateText(text).hex() : sha256(ENCODER.encode(text));
}
const ENCODER = new TextEncoder();
/** Texts are encoded here, part by part: an array for each of them would be outside the heap and stay there until somebody collects it. */
const ENCODED = new Uint8Array(64 * 1024);
const DIGITS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
function hex(bytes) {
    let made = "";
    for (const byte of bytes)
        made += DIGITS[byte];
    return made;
}
function primes(count) {
    const found = [];
    for (let number = 2n; found.length < count; number += 1n) {
        if (found.every((prime) => number % prime !== 0n))
            found.push(number);
    }
    return found;
}
/** Returns the first 32 bits behind the point of the given root of a prime, which is how FIPS 180-4 defines the constants. */
function rootBits(prime, degree) {
    const scaled = prime << (32n * degree);
    let low = 0n;
    let high = 1n << 40n;
    while (high - low > 1n) {
        const middle = (low + high) >> 1n;
        if (middle ** degree <= scaled)
            low = middle;
        else
            high = middle;
    }
    return Number(low & 0xffffffffn);
}
const FIRST = Int32Array.from(primes(8).map((prime) => rootBits(prime, 2n) | 0));
const ROUNDS = Int32Array.from(primes(64).map((prime) => rootBits(prime, 3n) | 0));
const SCHEDULE = new Int32Array(64);
/** A hash in progress, which can be copied and continued. */
export class Sha256 {
    words = Int32Array.from(FIRST);
    block = new Uint8Array(64);
    length = 0;
    clone() {
        const copy = new Sha256();
        copy.words.set(this.words);
        copy.block.set(this.block);
        copy.length = this.length;
        return copy;
    }
    update(bytes) {
        let at = 0;
        let filled = this.length % 64;
        this.length += bytes.length;
        if (filled > 0) {
            at = Math.min(64 - filled, bytes.length);
            this.block.set(bytes.subarray(0, at), filled);
            filled += at;
            if (filled < 64)
                return this;
            this.compress(this.block, 0);
        }
        for (; at + 64 <= bytes.length; at += 64)
            this.compress(bytes, at);
        this.block.set(bytes.subarray(at), 0);
        return this;
    }
    /** Continues with a text in UTF-8. */
    updateText(text) {
        for (let rest = text; rest !== "";) {
            const { read, written } = ENCODER.encodeInto(rest, ENCODED);
            this.update(ENCODED.subarray(0, written));
            rest = rest.slice(read);
        }
        return this;
    }
    /** Returns the digest of what was given so far; more can be given afterwards. */
    hex() {
        const end = this.clone();
        end.close();
        let made = "";
        for (const word of end.words)
            for (let shift = 24; shift >= 0; shift -= 8)
                made += DIGITS[(word >>> shift) & 0xff];
        return made;
    }
    /** Adds the padding and the length. Nothing is made for it: a buffer for each hash would be outside the heap until somebody collects it. */
    close() {
        const { block } = this;
        let filled = this.length % 64;
        block[filled] = 0x80;
        filled += 1;
        if (filled > 56) {
            block.fill(0, filled);
            this.compress(block, 0);
            filled = 0;
        }
        block.fill(0, filled, 56);
        const bits = this.length * 8;
        for (let at = 0; at < 8; at += 1)
            block[63 - at] = Math.floor(bits / 256 ** at) % 256;
        this.compress(block, 0);
    }
    compress(bytes, from) {
        const w = SCHEDULE;
        for (let i = 0; i < 16; i += 1) {
            const at = from + i * 4;
            w[i] = (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
        }
        for (let i = 16; i < 64; i += 1) {
            const x = w[i - 15];
            const y = w[i - 2];
            const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
            const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
            w[i] = (w[i - 16] + s0 + w[i - 7] + s1) | 0;
        }
        const h = this.words;
        let [a, b, c, d] = [h[0], h[1], h[2], h[3]];
        let [e, f, g, k] = [h[4], h[5], h[6], h[7]];
        for (let i = 0; i < 64; i += 1) {
            const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
            const t1 = (k + s1 + ((e & f) ^ (~e & g)) + ROUNDS[i] + w[i]) | 0;
            const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
            const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
            k = g;
            g = f;
            f = e;
            e = (d + t1) | 0;
            d = c;
            c = b;
            b = a;
            a = (t1 + t2) | 0;
        }
        h[0] = (h[0] + a) | 0;
        h[1] = (h[1] + b) | 0;
        h[2] = (h[2] + c) | 0;
        h[3] = (h[3] + d) | 0;
        h[4] = (h[4] + e) | 0;
        h[5] = (h[5] + f) | 0;
        h[6] = (h[6] + g) | 0;
        h[7] = (h[7] + k) | 0;
    }
}
