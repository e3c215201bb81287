/** The hash of one line of a journal: docs/format.md section 4. */

const MEMBER = new TextEncoder().encode('"record_hash":"');
const HASH_CHARS = 64;

/** Returns the SHA-256 of a line without its own member `record_hash`, or null when the line does not have it in the canonical place. */
export async function recordHash(line: Uint8Array): Promise<string | null> {
  const cut = withoutMember(line);
  if (cut === null || globalThis.crypto?.subtle === undefined) return null;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", cut as BufferSource));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Removes the member at depth 1; the same text inside of strings or nested objects is not it. */
export function withoutMember(line: Uint8Array): Uint8Array | null {
  let depth = 0;
  let isText = false;
  for (let at = 0; at < line.length; at += 1) {
    const byte = line[at];
    if (isText) {
      if (byte === 0x5c) at += 1;
      else if (byte === 0x22) isText = false;
    } else if (byte === 0x22) {
      if (depth === 1 && (line[at - 1] === 0x7b || line[at - 1] === 0x2c) && startsAt(line, at)) return cutOut(line, at);
      isText = true;
    } else if (byte === 0x7b || byte === 0x5b) depth += 1;
    else if (byte === 0x7d || byte === 0x5d) depth -= 1;
  }
  return null;
}

function startsAt(line: Uint8Array, at: number): boolean {
  return MEMBER.every((byte, offset) => line[at + offset] === byte);
}

function cutOut(line: Uint8Array, at: number): Uint8Array | null {
  let end = at + MEMBER.length + HASH_CHARS;
  if (line[end] !== 0x22) return null;
  end += 1;
  // The comma after the member goes with it; the last member takes the comma before it.
  const from = line[end] === 0x2c ? at : line[at - 1] === 0x2c ? at - 1 : at;
  if (line[end] === 0x2c) end += 1;
  const rest = new Uint8Array(line.length - (end - from));
  rest.set(line.subarray(0, from));
  rest.set(line.subarray(end), from);
  return rest;
}
