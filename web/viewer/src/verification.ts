/** Runs the second verifier in a worker and gives it the bytes it asks for. */

import type { Report } from "../../verifier/src/report.js";
import { app, source } from "./app.svelte.ts";
import { startWorker } from "./lib/workers.ts";
import { ApiError, CHUNK_BYTES, runPath, whole } from "./source/source.ts";

const PROBLEM_BYTES_MAX = 64 * 1024 * 1024;

export interface Outcome {
  report: Report;
  /** How long it took, and how many bytes of the journal were read. */
  ms: number;
  bytes: number;
}

type Ask = { kind: "ask"; id: number; source: "journal" | "blob" | "document" | "run"; name: string; offset: number };
type Message = Ask | { kind: "progress"; records: number } | { kind: "report"; report: Report; ms: number } | { kind: "failed"; message: string };

/** Verifies a run; `onProgress` is told how many records were read. The returned function ends the work. */
export function verifyRun(run: string, anchor: string | null, onProgress: (records: number) => void, onEnd: (outcome: Outcome | Error) => void): () => void {
  const worker = startWorker("worker-verify");
  let bytes = 0;
  worker.onerror = (event) => onEnd(new Error(`the verifier stopped: ${event.message || "its worker could not be started"}`));
  worker.onmessage = (event: MessageEvent<Message>) => {
    const { data } = event;
    if (data.kind === "progress") onProgress(data.records);
    else if (data.kind === "failed") onEnd(new Error(data.message));
    else if (data.kind === "report") {
      onEnd({ report: data.report, ms: data.ms, bytes });
      worker.terminate();
    } else void answer(worker, run, data).then((length) => (bytes += data.source === "journal" ? length : 0));
  };
  whole(source(), runPath(run, "/documents/problem.json"), PROBLEM_BYTES_MAX)
    .catch(() => null)
    .then((problem) => worker.postMessage({ kind: "verify", target: run, problem, anchor }));
  return () => worker.terminate();
}

function pathOf(run: string, ask: Ask): string {
  if (ask.source === "journal") return runPath(run, "/journal");
  if (ask.source === "run") return runPath(ask.name, "/journal");
  return ask.source === "blob" ? `/blobs/${ask.name}` : runPath(run, `/documents/${encodeURIComponent(ask.name)}`);
}

async function answer(worker: Worker, run: string, ask: Ask): Promise<number> {
  try {
    const part = await source().bytes(pathOf(run, ask), ask.offset, CHUNK_BYTES);
    const isEnd = part.bytes.length === 0 || ask.offset + part.bytes.length >= part.total;
    const { length } = part.bytes;
    // Bytes of a response are handed over, not copied: a copy would stay in memory until somebody collects it. Those of a file are needed again.
    worker.postMessage({ kind: "bytes", id: ask.id, bytes: part.bytes, isEnd, problem: null }, app.isLive ? [part.bytes.buffer as ArrayBuffer] : []);
    return length;
  } catch (error) {
    // What is not there is null; anything else is a problem that the report must name.
    const isMissing = error instanceof ApiError && error.status === 404 && ask.source !== "journal";
    const problem = isMissing ? null : error instanceof Error ? error.message : String(error);
    worker.postMessage({ kind: "bytes", id: ask.id, bytes: null, isEnd: true, problem });
    return 0;
  }
}
