/** Reads the exact bytes of one line of a journal. */

import { source } from "./app.svelte.ts";
import { CHUNK_BYTES, runPath } from "./source/source.ts";

export async function readLine(run: string, place: { offset: number; bytes: number }): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let at = 0;
  while (at < place.bytes) {
    const part = await source().bytes(runPath(run, "/journal"), place.offset + at, Math.min(place.bytes - at, CHUNK_BYTES));
    if (part.bytes.length === 0) break;
    parts.push(part.bytes);
    at += part.bytes.length;
  }
  return new Uint8Array(await new Blob(parts as BlobPart[]).arrayBuffer());
}
