/** A second verifier of journals, written from docs/format.md. It needs WebCrypto and nothing else. */
export { canonical, compareKeys, JsonError, parse, parseBytes } from "./json.js";
export { checkBundle } from "./bundle.js";
export { sha256, Sha256 } from "./sha256.js";
export { parseHead, verify } from "./verify.js";
