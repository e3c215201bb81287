/** Recomputes a journal in a worker: the second verifier, fed by the page. */

import { parseHead, verify, type Sources } from "../../../verifier/src/index.js";

type Request =
  | { kind: "verify"; target: string; problem: Uint8Array | null; anchor: string | null }
  | { kind: "bytes"; id: number; bytes: Uint8Array | null; isEnd: boolean; problem: string | null };

const waiting = new Map<number, (part: { bytes: Uint8Array | null; isEnd: boolean; problem: string | null }) => void>();
let number = 0;

/** Asks the page for bytes; each answer is one part, the last one says so. */
function ask(what: { source: "journal" | "blob" | "document" | "run"; name: string; offset: number }): Promise<{ bytes: Uint8Array | null; isEnd: boolean; problem: string | null }> {
  number += 1;
  const id = number;
  return new Promise((resolve) => {
    waiting.set(id, resolve);
    postMessage({ kind: "ask", id, ...what });
  });
}

/** Gives the memory of a part back at once: a journal is many parts, and the collector comes late for what is outside its heap. */
function release(bytes: Uint8Array): void {
  const { buffer } = bytes as { buffer: ArrayBuffer & { transfer?: (length: number) => ArrayBuffer } };
  buffer.transfer?.(0);
}

async function* stream(source: "journal" | "run", name: string): AsyncGenerator<Uint8Array> {
  let offset = 0;
  for (;;) {
    const part = await ask({ source, name, offset });
    if (part.problem !== null) throw new Error(part.problem);
    const length = part.bytes?.length ?? 0;
    if (part.bytes !== null && length > 0) {
      yield part.bytes;
      release(part.bytes);
    }
    offset += length;
    if (part.isEnd) return;
  }
}

async function whole(source: "blob" | "document", name: string): Promise<Uint8Array | string | null> {
  const parts: Uint8Array[] = [];
  let offset = 0;
  for (;;) {
    const part = await ask({ source, name, offset });
    if (part.problem !== null) return part.problem;
    if (part.bytes === null) return null;
    parts.push(part.bytes);
    offset += part.bytes.length;
    if (part.isEnd) break;
  }
  return new Uint8Array(await new Blob(parts as BlobPart[]).arrayBuffer());
}

async function run(request: Extract<Request, { kind: "verify" }>): Promise<void> {
  const sources: Sources = {
    journal: stream("journal", request.target),
    problem: request.problem,
    anchor: request.anchor === null ? null : parseHead(request.anchor),
    blob: (hash) => whole("blob", hash),
    document: async (name) => {
      const found = await whole("document", name);
      return typeof found === "string" ? null : found;
    },
    run: async (id) => {
      // The first part tells whether there is such a run at all.
      const first = await ask({ source: "run", name: id, offset: 0 });
      return first.bytes === null ? null : stream("run", id);
    },
  };
  const started = performance.now();
  const report = await verify(sources, { target: request.target, onProgress: (records) => postMessage({ kind: "progress", records }) });
  postMessage({ kind: "report", report, ms: performance.now() - started });
}

addEventListener("message", (event: MessageEvent<Request>) => {
  const { data } = event;
  if (data.kind === "bytes") {
    waiting.get(data.id)?.({ bytes: data.bytes, isEnd: data.isEnd, problem: data.problem });
    waiting.delete(data.id);
  } else {
    run(data).catch((error: unknown) => postMessage({ kind: "failed", message: error instanceof Error ? error.message : String(error) }));
  }
});
