/** Where the page gets its data: a server, or the file itself. */

export type Params = Record<string, string | number | boolean | string[] | null | undefined>;

/** An error as the API and the command line give it. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint: string | null,
    readonly findings: unknown[] = [],
  ) {
    super(message);
  }
}

export interface Watcher {
  onEvent: (name: string, data: unknown) => void;
  /** Told when the connection is lost and when it is there again. */
  onConnection: (isOpen: boolean) => void;
}

export interface Source {
  /** Whether answers, comments and live records are possible. */
  readonly isLive: boolean;
  /** Sentences about what is not in the data, for a file. */
  readonly leftOut: string[];
  get<T>(path: string, params?: Params, signal?: AbortSignal): Promise<T>;
  /** Reads bytes from `offset`; `total` is the whole size. */
  bytes(path: string, offset: number, count: number): Promise<{ bytes: Uint8Array; total: number }>;
  post<T>(path: string, body: unknown): Promise<T>;
  /** Follows a stream of events; the returned function ends it. */
  watch(path: string, after: number | null, watcher: Watcher): () => void;
}

/** The most bytes that are asked for at a time. */
export const CHUNK_BYTES = 256 * 1024;

/** Reads all bytes of a path, a chunk at a time. */
export async function* chunks(source: Source, path: string): AsyncGenerator<Uint8Array> {
  let offset = 0;
  for (;;) {
    const part = await source.bytes(path, offset, CHUNK_BYTES);
    if (part.bytes.length > 0) yield part.bytes;
    offset += part.bytes.length;
    if (offset >= part.total || part.bytes.length === 0) return;
  }
}

/** Collects what `chunks` gives, up to a limit; nothing when there is more. */
export async function whole(source: Source, path: string, bytesMax: number): Promise<Uint8Array | null> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of chunks(source, path)) {
    parts.push(part);
    length += part.length;
    if (length > bytesMax) return null;
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

export function runPath(run: string, rest = ""): string {
  return `/runs/${encodeURIComponent(run)}${rest}`;
}

/** The error for something that a file does not hold. */
export function notHere(path: string): ApiError {
  return new ApiError(404, "E0403", `the file does not hold ${path}`, "open the run with `hence view` on the machine that has its store");
}
