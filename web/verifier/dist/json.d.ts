/** JSON as docs/format.md section 2 defines it: a strict reader and the one canonical form. */
/** A JSON value. An integer is a bigint and a number with fraction or exponent is a number, because `1` and `1.0` differ. */
export type Json = null | boolean | bigint | number | string | Json[] | JsonObject;
/** An object is a Map, so that no key such as `__proto__` means anything. */
export type JsonObject = Map<string, Json>;
export declare const NESTING_MAX = 512;
export declare const INTEGER_DIGITS_MAX = 4300;
/** The ways in which a text is not JSON of this format. */
export type JsonErrorKind = "syntax" | "duplicate_key" | "non_finite" | "lone_surrogate" | "too_deep" | "integer_too_long" | "invalid_utf8" | "bom";
export declare class JsonError extends Error {
    readonly kind: JsonErrorKind;
    readonly at: number;
    constructor(kind: JsonErrorKind, message: string, at: number);
}
/** Decodes UTF-8 and refuses every other sequence of bytes. */
export declare function decodeUtf8(bytes: Uint8Array): string;
export declare function encodeUtf8(text: string): Uint8Array;
/** Reads one JSON document. */
export declare function parseBytes(bytes: Uint8Array): Json;
/** Reads one JSON document. */
export declare function parse(text: string): Json;
/** Compares keys by code points, which is the order of their UTF-8 bytes. */
export declare function compareKeys(a: string, b: string): number;
/** Returns the canonical form of a value. */
export declare function canonical(value: Json): string;
/** Returns the members of an object in canonical order, each as `"key":value`. */
export declare function canonicalMembers(object: JsonObject): {
    key: string;
    text: string;
}[];
/** Returns the canonical form of a double. */
export declare function canonicalFloat(value: number): string;
export declare function isObject(value: Json | undefined): value is JsonObject;
/** Walks objects by their keys; nothing where a key is absent or a value is no object. */
export declare function member(value: Json | undefined, ...keys: string[]): Json | undefined;
export declare function textAt(value: Json | undefined, ...keys: string[]): string | undefined;
/** Returns how deep lists and objects are nested in a value. */
export declare function nesting(value: Json): number;
