/** A second verifier of journals, written from docs/format.md. It needs WebCrypto and nothing else. */

export { canonical, compareKeys, JsonError, parse, parseBytes, type Json, type JsonObject } from "./json.js";
export { checkBundle, type BundleFiles } from "./bundle.js";
export { sha256, Sha256 } from "./sha256.js";
export { parseHead, verify, type Head, type Options, type Sources } from "./verify.js";
export type { ItemReport, LevelName, LevelReport, Reason, Report, Verdict } from "./report.js";
