/** JSON as docs/format.md section 2 defines it: a strict reader and the one canonical form. */
export const NESTING_MAX = 512;
export const INTEGER_DIGITS_MAX = 4300;
export class JsonError extends Error {
    kind;
    at;
    constructor(kind, message, at) {
        super(`${message} at character ${at}`);
        this.kind = kind;
        this.at = at;
    }
}
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const ENCODER = new TextEncoder();
/** Decodes UTF-8 and refuses every other sequence of bytes. */
export function decodeUtf8(bytes) {
    try {
        return UTF8.decode(bytes);
    }
    catch {
        throw new JsonError("invalid_utf8", "the bytes are not UTF-8", 0);
    }
}
export function encodeUtf8(text) {
    return ENCODER.encode(text);
}
/** Reads one JSON document. */
export function parseBytes(bytes) {
    return parse(decodeUtf8(bytes));
}
/** Reads one JSON document. */
export function parse(text) {
    if (text.charCodeAt(0) === 0xfeff)
        throw new JsonError("bom", "a byte order mark", 0);
    const reader = new Reader(text);
    const value = reader.value(0);
    reader.end();
    return value;
}
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const ESCAPES = {
    '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t",
};
class Reader {
    text;
    at = 0;
    constructor(text) {
        this.text = text;
    }
    end() {
        this.space();
        if (this.at < this.text.length)
            this.fail(`expected the end of the text, found ${this.found()}`);
    }
    value(depth) {
        this.space();
        const first = this.text[this.at];
        switch (first) {
            case "{":
                return this.object(depth + 1);
            case "[":
                return this.list(depth + 1);
            case '"':
                return this.string();
            case "t":
                return this.word("true", true);
            case "f":
                return this.word("false", false);
            case "n":
                return this.word("null", null);
            default:
                return this.number();
        }
    }
    object(depth) {
        this.nest(depth);
        const members = new Map();
        if (this.opens("}"))
            return members;
        for (;;) {
            this.space();
            const start = this.at;
            if (this.text[start] !== '"')
                this.fail(`expected a key, found ${this.found()}`);
            const key = this.string();
            if (members.has(key)) {
                throw new JsonError("duplicate_key", `the key ${JSON.stringify(short(key))} occurs twice`, start);
            }
            this.space();
            if (this.text[this.at] !== ":")
                this.fail(`expected ":", found ${this.found()}`);
            this.at += 1;
            members.set(key, this.value(depth));
            if (this.closes("}"))
                return members;
        }
    }
    list(depth) {
        this.nest(depth);
        const items = [];
        if (this.opens("]"))
            return items;
        for (;;) {
            items.push(this.value(depth));
            if (this.closes("]"))
                return items;
        }
    }
    nest(depth) {
        if (depth > NESTING_MAX)
            throw new JsonError("too_deep", `nested over ${NESTING_MAX} deep`, this.at);
    }
    /** Steps over the opening bracket; says whether the container is empty. */
    opens(close) {
        this.at += 1;
        this.space();
        if (this.text[this.at] !== close)
            return false;
        this.at += 1;
        return true;
    }
    /** Steps over a comma or the closing bracket; says whether it was the bracket. */
    closes(close) {
        this.space();
        const next = this.text[this.at];
        if (next !== "," && next !== close)
            this.fail(`expected "," or "${close}", found ${this.found()}`);
        this.at += 1;
        return next === close;
    }
    string() {
        this.at += 1;
        let made = "";
        for (;;) {
            PLAIN.lastIndex = this.at;
            const plain = PLAIN.exec(this.text)?.[0] ?? "";
            this.at += plain.length;
            made = made === "" ? plain : made + plain;
            const next = this.text[this.at];
            if (next === '"') {
                this.at += 1;
                return made;
            }
            if (next !== "\\")
                this.fail(`expected the end of a string, found ${this.found()}`);
            made += this.escape();
        }
    }
    escape() {
        const start = this.at;
        const kind = this.text[start + 1] ?? "";
        const known = ESCAPES[kind];
        if (known !== undefined) {
            this.at += 2;
            return known;
        }
        if (kind !== "u")
            this.fail(`expected an escape, found \\${kind}`);
        const unit = this.unit(start);
        this.at += 6;
        if (unit < 0xd800 || unit > 0xdfff)
            return String.fromCharCode(unit);
        const isPair = unit < 0xdc00 && this.text.startsWith("\\u", this.at);
        const second = isPair ? this.unit(this.at) : 0;
        if (second < 0xdc00 || second > 0xdfff) {
            throw new JsonError("lone_surrogate", "half a surrogate pair", start);
        }
        this.at += 6;
        return String.fromCharCode(unit, second);
    }
    unit(at) {
        const digits = this.text.slice(at + 2, at + 6);
        if (!/^[0-9a-fA-F]{4}$/.test(digits))
            this.fail("expected four hex digits behind \\u");
        return parseInt(digits, 16);
    }
    number() {
        const start = this.at;
        NUMBER.lastIndex = start;
        const match = NUMBER.exec(this.text);
        if (match === null) {
            const word = /-?(?:NaN|Infinity)/y;
            word.lastIndex = start;
            if (word.test(this.text))
                throw new JsonError("non_finite", "a number that is not finite", start);
            this.fail(`expected a value, found ${this.found()}`);
        }
        const digits = match[0];
        this.at += digits.length;
        // What follows a number is a separator; anything else, such as the 1 of 01, belongs to a bad number.
        if (/[0-9.eE+\-A-Za-z_]/.test(this.text[this.at] ?? ""))
            this.fail(`expected the end of a number, found ${this.found()}`);
        if (match[1] === undefined && match[2] === undefined) {
            if (digits.length - (digits[0] === "-" ? 1 : 0) > INTEGER_DIGITS_MAX) {
                throw new JsonError("integer_too_long", `an integer of more than ${INTEGER_DIGITS_MAX} digits`, start);
            }
            return BigInt(digits);
        }
        const double = Number(digits);
        if (!Number.isFinite(double))
            throw new JsonError("non_finite", "a number too large for a double", start);
        return double;
    }
    word(word, value) {
        if (!this.text.startsWith(word, this.at))
            this.fail(`expected a value, found ${this.found()}`);
        this.at += word.length;
        return value;
    }
    space() {
        for (;;) {
            const code = this.text.charCodeAt(this.at);
            if (code !== 0x20 && code !== 0x09 && code !== 0x0a && code !== 0x0d)
                return;
            this.at += 1;
        }
    }
    found() {
        const next = this.text.codePointAt(this.at);
        return next === undefined ? "the end of the text" : JSON.stringify(String.fromCodePoint(next));
    }
    fail(message) {
        throw new JsonError("syntax", message, this.at);
    }
}
function short(text) {
    return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
/** Compares keys by code points, which is the order of their UTF-8 bytes. */
export function compareKeys(a, b) {
    const length = Math.min(a.length, b.length);
    for (let at = 0; at < length; at += 1) {
        const x = a.charCodeAt(at);
        const y = b.charCodeAt(at);
        if (x !== y)
            return rank(x) - rank(y);
    }
    return a.length - b.length;
}
/** UTF-16 has surrogates below U+E000 to U+FFFF although what they spell lies above. */
function rank(unit) {
    if (unit < 0xd800)
        return unit;
    return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
/** Returns the canonical form of a value. */
export function canonical(value) {
    switch (typeof value) {
        case "string":
            return JSON.stringify(value);
        case "bigint":
            return value.toString();
        case "number":
            return canonicalFloat(value);
        case "boolean":
            return value ? "true" : "false";
    }
    if (value === null)
        return "null";
    if (Array.isArray(value)) {
        const items = [];
        for (const item of value)
            items.push(canonical(item));
        return `[${items.join(",")}]`;
    }
    return `{${canonicalMembers(value).map((member) => member.text).join(",")}}`;
}
/** Returns the members of an object in canonical order, each as `"key":value`. */
export function canonicalMembers(object) {
    const keys = [...object.keys()];
    if (keys.some((key, at) => at > 0 && compareKeys(keys[at - 1], key) > 0))
        keys.sort(compareKeys);
    return keys.map((key) => ({ key, text: `${JSON.stringify(key)}:${canonical(object.get(key))}` }));
}
/** Returns the canonical form of a double. */
export function canonicalFloat(value) {
    if (!Number.isFinite(value))
        throw new JsonError("non_finite", "a number that is not finite", 0);
    if (value === 0)
        return Object.is(value, -0) ? "-0.0" : "0.0";
    // toExponential without an argument gives the fewest digits that read back to the same double.
    const [mantissa = "", power = "0"] = Math.abs(value).toExponential().split("e");
    const digits = mantissa.replace(".", "");
    const exponent = Number(power);
    const sign = value < 0 ? "-" : "";
    if (exponent < -4 || exponent >= 16) {
        const rest = digits.length > 1 ? `.${digits.slice(1)}` : "";
        const size = String(Math.abs(exponent)).padStart(2, "0");
        return `${sign}${digits[0]}${rest}e${exponent < 0 ? "-" : "+"}${size}`;
    }
    if (exponent < 0)
        return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
    const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
    return `${sign}${whole}.${digits.slice(exponent + 1) || "0"}`;
}
export function isObject(value) {
    return value instanceof Map;
}
/** Walks objects by their keys; nothing where a key is absent or a value is no object. */
export function member(value, ...keys) {
    let found = value;
    for (const key of keys) {
        if (!isObject(found))
            return undefined;
        found = found.get(key);
    }
    return found;
}
export function textAt(value, ...keys) {
    const found = member(value, ...keys);
    return typeof found === "string" ? found : undefined;
}
/** Returns how deep lists and objects are nested in a value. */
export function nesting(value) {
    if (Array.isArray(value))
        return 1 + value.reduce((most, item) => Math.max(most, nesting(item)), 0);
    if (isObject(value)) {
        let most = 0;
        for (const item of value.values())
            most = Math.max(most, nesting(item));
        return 1 + most;
    }
    return 0;
}
