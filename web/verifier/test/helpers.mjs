/** What the tests share. */

import { existsSync } from "node:fs";
import { webcrypto } from "node:crypto";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

if (globalThis.crypto === undefined) Object.defineProperty(globalThis, "crypto", { value: webcrypto });

export const here = dirname(fileURLToPath(import.meta.url));
export const root = join(here, "..", "..", "..");
export const cli = join(here, "..", "bin", "hence-verify.js");
/** Conformance data that lies next to the repository, where it does. */
export const shared = join(root, "..", "shared", "conformance", "reasoning");
export const hasShared = existsSync(shared) ? false : "skipped: the shared conformance data is not there";
/** The real binary, where it was built. */
export const hence = [process.env.HENCE_BIN, join(root, "target", "debug", "hence"), join(root, "target", "release", "hence")]
  .find((path) => path !== undefined && existsSync(path));
export const noHence = hence === undefined ? "skipped: hence is not built" : false;

export async function* chunks(...parts) {
  for (const part of parts) yield typeof part === "string" ? new TextEncoder().encode(part) : part;
}

export function level(report, name) {
  return report.levels.find((one) => one.level === name);
}
