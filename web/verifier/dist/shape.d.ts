/** The members of records and their types: docs/format.md sections 3 and 4. */
import { type Json, type JsonObject } from "./json.js";
import { type Reason } from "./report.js";
export type Profile = "strict" | "strict-2" | "compat";
export type RecordKind = "header" | "step" | "control" | "unknown";
export declare function isHash(value: Json | undefined): value is string;
export declare function kindOf(record: JsonObject): RecordKind;
/** Returns the profile a header names; nothing for a word that is no profile. */
export declare function profileOf(header: JsonObject): Profile | null;
export declare function indexOf(value: Json | undefined, from?: bigint): bigint | null;
export declare function isTime(text: string, profile: Profile): boolean;
/** Checks the members of a record. */
export declare function checkShape(record: JsonObject, profile: Profile): Reason[];
/** Returns whether policies blocked a result: it failed, and every error says so. */
export declare function isBlocked(result: Json | undefined): boolean;
