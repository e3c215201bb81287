/** Splits a stream of bytes into lines with bounded memory. */
export const LINE_BYTES_MAX = 64 * 1024 * 1024;
export async function* splitLines(chunks) {
    let number = 0;
    let parts = [];
    let length = 0;
    for await (const chunk of chunks) {
        let from = 0;
        for (;;) {
            const end = chunk.indexOf(0x0a, from);
            const part = chunk.subarray(from, end < 0 ? chunk.length : end);
            length += part.length;
            // The bytes of a line that is too long are dropped as they come.
            if (length > LINE_BYTES_MAX)
                parts = [];
            // What is left of a chunk is copied, because whoever gave it may use its memory for the next one.
            else if (part.length > 0)
                parts.push(end < 0 ? part.slice() : part);
            if (end < 0)
                break;
            yield { number, bytes: joined(parts, length), length, hasLineFeed: true };
            number += 1;
            parts = [];
            length = 0;
            from = end + 1;
        }
    }
    if (length > 0)
        yield { number, bytes: joined(parts, length), length, hasLineFeed: false };
}
function joined(parts, length) {
    if (length > LINE_BYTES_MAX)
        return null;
    if (parts.length === 1)
        return parts[0];
    const bytes = new Uint8Array(length);
    let at = 0;
    for (const part of parts) {
        bytes.set(part, at);
        at += part.length;
    }
    return bytes;
}
