/** Splits a stream of bytes into lines with bounded memory. */

export const LINE_BYTES_MAX = 64 * 1024 * 1024;

export interface Line {
  number: number;
  /** The bytes without the line feed; nothing when there are too many of them. They are part of a chunk and hold until the next line is asked for. */
  bytes: Uint8Array | null;
  length: number;
  hasLineFeed: boolean;
}

export async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
  let number = 0;
  let parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    let from = 0;
    for (;;) {
      const end = chunk.indexOf(0x0a, from);
      const part = chunk.subarray(from, end < 0 ? chunk.length : end);
      length += part.length;
      // The bytes of a line that is too long are dropped as they come.
      if (length > LINE_BYTES_MAX) parts = [];
      // What is left of a chunk is copied, because whoever gave it may use its memory for the next one.
      else if (part.length > 0) parts.push(end < 0 ? part.slice() : part);
      if (end < 0) break;
      yield { number, bytes: joined(parts, length), length, hasLineFeed: true };
      number += 1;
      parts = [];
      length = 0;
      from = end + 1;
    }
  }
  if (length > 0) yield { number, bytes: joined(parts, length), length, hasLineFeed: false };
}

function joined(parts: Uint8Array[], length: number): Uint8Array | null {
  if (length > LINE_BYTES_MAX) return null;
  if (parts.length === 1) return parts[0] as Uint8Array;
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
