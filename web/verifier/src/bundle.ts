/** The manifest of a bundle: docs/format.md section 15. */

import { isObject, parseBytes, textAt, type Json } from "./json.js";
import type { ItemReport } from "./report.js";
import { sha256 } from "./sha256.js";
import { indexOf, isHash } from "./shape.js";

export const BUNDLE_FORMAT = "hence-bundle/1";
const PATH = /^(?:[a-z0-9._-]{1,64}|blobs\/[0-9a-f]{64})$/;
const FILES_MAX = 1_000_000;

/** Reads the files of a bundle by the paths of its manifest. */
export interface BundleFiles {
  read(path: string): Promise<Uint8Array | string | null>;
}

/** Compares the files of a bundle with its manifest, and its head with the one the journal has. */
export async function checkBundle(manifest: Uint8Array, files: BundleFiles, head: string | null): Promise<ItemReport[]> {
  const broken = (detail: string): ItemReport[] => [{ kind: "bundle", name: "bundle.json", verdict: "broken", detail }];
  let document: Json;
  try {
    document = parseBytes(manifest);
  } catch (error) {
    return broken((error as Error).message);
  }
  if (textAt(document, "format") !== BUNDLE_FORMAT) return broken(`expected the format ${BUNDLE_FORMAT}`);
  const isKnown = isObject(document) && [...document.keys()].every((key) => ["format", "run", "head", "files"].includes(key));
  if (!isKnown) return broken("expected the members format, run, head and files, and no others");
  const listed = isObject(document) ? document.get("files") : undefined;
  if (!Array.isArray(listed) || listed.length > FILES_MAX) return broken("expected a list of files");
  const items: ItemReport[] = [];
  let same = 0;
  const seen = new Set<string>();
  for (const entry of listed) {
    const [path, digest] = [textAt(entry, "path"), textAt(entry, "sha256")];
    const size = isObject(entry) ? indexOf(entry.get("bytes")) : null;
    if (path === undefined || !PATH.test(path) || path === "." || path === ".." || !isHash(digest) || size === null || seen.has(path)) {
      return broken(`an entry of files is none: ${path ?? "without a path"}`);
    }
    seen.add(path);
    const detail = await difference(files, path, digest, size);
    if (detail === null) same += 1;
    else items.push({ kind: "file", name: path, ...detail });
  }
  if (!seen.has("trace.ndjson")) return broken("the manifest names no trace.ndjson");
  items.unshift({ kind: "file", name: `${same} files`, verdict: "holds", detail: "each has the digest and the size the manifest names" });
  const named = textAt(document, "head");
  items.unshift(named === head
    ? { kind: "bundle", name: "head", verdict: "holds", detail: "the journal ends where the manifest says; both came together, so this is no anchor" }
    : { kind: "bundle", name: "head", verdict: "broken", detail: `the manifest names ${named ?? "none"}, the journal has ${head ?? "none that holds"}` });
  return items;
}

async function difference(files: BundleFiles, path: string, digest: string, size: bigint): Promise<Pick<ItemReport, "verdict" | "detail"> | null> {
  const bytes = await files.read(path);
  if (bytes === null) return { verdict: "broken", detail: "the file is not there" };
  if (typeof bytes === "string") return { verdict: "not_checked", detail: bytes };
  if (BigInt(bytes.length) !== size) return { verdict: "broken", detail: `expected ${size} bytes, found ${bytes.length}` };
  const found = await sha256(bytes);
  return found === digest ? null : { verdict: "broken", detail: `expected the digest ${digest}, found ${found}` };
}
