/** One line of a journal on its way through the levels. */
import { JsonError, canonical, canonicalMembers, decodeUtf8, isObject, member, parse, parseBytes, textAt, } from "./json.js";
import { LINE_BYTES_MAX } from "./lines.js";
import { reason } from "./report.js";
import { sha256Text } from "./sha256.js";
import { checkShape, indexOf, isBlocked, isHash, kindOf } from "./shape.js";
/** A line that was read, with everything that the levels ask about it. */
export class Item {
    /** What the bytes level says, or nothing when the line is canonical. */
    bytesReason = null;
    record = null;
    lineReason = null;
    kind = "unknown";
    /** The blobs that the record refers to and that are not there, in words. */
    lostBlob = null;
    resolvedOutput;
    resolvedOutcome;
    hash = null;
    outputDigest = null;
    outputCanonical = null;
    /** The line without its bytes: they would keep the chunk in memory that they are a part of. */
    line;
    constructor(line) {
        const { bytes, number, length, hasLineFeed } = line;
        this.line = { number, length, hasLineFeed };
        if (bytes === null) {
            this.lineReason = reason("line_too_long", { expected: `${LINE_BYTES_MAX} bytes or fewer`, found: String(line.length) });
            return;
        }
        const text = this.read(bytes);
        if (text !== null && this.record !== null) {
            const members = canonicalMembers(this.record);
            const whole = `{${members.map((entry) => entry.text).join(",")}}`;
            if (whole !== text)
                this.bytesReason = reason("not_canonical", { found: "another spelling of the same value" });
            const rest = members.filter((entry) => entry.key !== "record_hash");
            this.hash = sha256Text(`{${rest.map((entry) => entry.text).join(",")}}`);
            this.kind = kindOf(this.record);
        }
        else {
            this.bytesReason = reason("not_canonical", { found: this.lineReason?.found ?? this.lineReason?.code ?? null });
        }
        if (!hasLineFeed)
            this.bytesReason = reason("missing_final_lf");
    }
    /** Reads the record; says what the line is instead where it holds none. */
    read(bytes) {
        const end = bytes.length;
        if (bytes.every((byte) => byte === 0x20 || byte === 0x09))
            this.lineReason = reason("blank_line");
        else if (bytes[end - 1] === 0x0d)
            this.lineReason = reason("crlf");
        else if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf)
            this.lineReason = reason("bom");
        if (this.lineReason !== null)
            return null;
        try {
            const text = decodeUtf8(bytes);
            const value = parse(text);
            if (isObject(value)) {
                this.record = value;
                return text;
            }
            this.lineReason = reason("not_object");
        }
        catch (error) {
            if (!(error instanceof JsonError))
                throw error;
            const code = error.kind === "duplicate_key" || error.kind === "invalid_utf8" ? error.kind : "invalid_json";
            this.lineReason = reason(code, { found: error.message });
        }
        return null;
    }
    get recordHash() {
        const hash = this.record?.get("record_hash");
        return isHash(hash) ? hash : null;
    }
    /** Checks the line by itself and against the hash of the line before. */
    chainChecks(profile, before) {
        const { record, line } = this;
        if (this.lineReason !== null || record === null)
            return [this.lineReason ?? reason("invalid_json")];
        const checks = checkShape(record, profile);
        if (this.kind === "header" && line.number > 0)
            checks.push(reason("header_not_first"));
        if (this.kind !== "header" && line.number === 0)
            checks.push(reason("first_not_header"));
        const index = record.get("index");
        const mayLack = this.kind === "header" && index === undefined;
        if (!mayLack && indexOf(index) !== BigInt(line.number)) {
            const found = index === undefined ? "none" : canonical(index).slice(0, 80);
            checks.push(reason("index_mismatch", { expected: String(line.number), found }));
        }
        const stored = this.recordHash;
        if (stored === null)
            checks.push(reason("record_hash_mismatch"));
        else
            checks.push({ code: "record_hash_mismatch", expected: stored, found: this.hash });
        if (before !== null) {
            const found = this.kind === "header" ? null : record.get("prev_hash");
            if (isHash(found ?? undefined))
                checks.push({ code: "prev_hash_mismatch", expected: before, found: found });
            else if (this.kind === "header")
                checks.push(reason("prev_hash_mismatch"));
        }
        if (!line.hasLineFeed)
            checks.push(reason("missing_final_lf"));
        return checks;
    }
    get result() {
        return this.record?.get("result");
    }
    get step() {
        return String(this.result.get("step"));
    }
    get stepIndex() {
        return this.record?.get("step_index");
    }
    /** The output as it stands in the record. */
    get output() {
        return this.result.get("status") === "success" ? this.result.get("output") : undefined;
    }
    get outputText() {
        const { output } = this;
        if (output === undefined)
            return null;
        return (this.outputCanonical ??= canonical(output));
    }
    get outputHash() {
        return (this.outputDigest ??= sha256Text(this.outputText ?? "{}"));
    }
    /** What the step gave: its output, or what policies blocked. */
    get attemptOutput() {
        return this.resolvedOutput;
    }
    /** The outcome of a step of a skill. */
    get outcome() {
        return this.resolvedOutput ?? this.resolvedOutcome;
    }
    /** Fetches the large values that the result refers to. */
    async resolve(fetch) {
        if (this.record === null || !isObject(this.record.get("result")))
            return;
        const { result } = this;
        const blocked = isBlocked(result) ? member(result, "blocked", "output") : undefined;
        const content = async (value) => {
            const named = value === undefined ? null : blobReference(value);
            if (named === null)
                return value;
            const found = await fetch(named);
            if (typeof found === "string") {
                this.lostBlob = found;
                return undefined;
            }
            try {
                return parseBytes(found);
            }
            catch {
                this.lostBlob = `blob ${named.sha256} is not JSON`;
                return undefined;
            }
        };
        this.resolvedOutput = await content(this.output ?? blocked);
        this.resolvedOutcome = await content(result.get("outcome"));
    }
}
/** Reads a reference to a large value; nothing when the value is none. */
export function blobReference(value) {
    if (!isObject(value) || value.size !== 1)
        return null;
    const blob = value.get("$blob");
    const digest = textAt(blob, "sha256");
    if (!isHash(digest))
        return null;
    return { sha256: digest, bytes: indexOf(member(blob, "bytes")) };
}
/** Finds every reference to a large value in a value. */
export function* blobReferences(value) {
    if (Array.isArray(value)) {
        for (const item of value)
            yield* blobReferences(item);
    }
    else if (isObject(value)) {
        const reference = blobReference(value);
        if (reference !== null)
            yield reference;
        else
            for (const item of value.values())
                yield* blobReferences(item);
    }
}
