/** The server as a source. */

import { parseJson } from "../lib/json.ts";
import { ApiError, type Params, type Source, type Watcher } from "./source.ts";

const BASE = "/api/v1";
/** The wait before a lost stream is opened again; it doubles up to the second figure. */
const RECONNECT_MS = 500;
const RECONNECT_MS_MAX = 15_000;

function address(path: string, params: Params = {}): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(params)) {
    if (value === null || value === undefined || value === "" || value === false) continue;
    for (const one of Array.isArray(value) ? value : [value]) query.append(key, String(one));
  }
  const text = query.toString();
  return `${BASE}${path}${text === "" ? "" : `?${text}`}`;
}

async function request(url: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, { credentials: "same-origin", cache: "no-store", ...init });
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    throw new ApiError(0, "", "the server does not answer", "start it again with `hence view`");
  }
  if (response.ok) return response;
  throw await errorOf(response);
}

async function errorOf(response: Response): Promise<ApiError> {
  try {
    const body = parseJson(await response.text()) as { error: { code: string; message: string; hint: string | null; findings: unknown[] } };
    const { code, message, hint, findings } = body.error;
    return new ApiError(response.status, code, message, hint ?? null, findings ?? []);
  } catch {
    return new ApiError(response.status, "", `the server answered ${response.status}`, null);
  }
}

export class HttpSource implements Source {
  readonly isLive = true;
  readonly leftOut: string[] = [];

  async get<T>(path: string, params?: Params, signal?: AbortSignal): Promise<T> {
    const response = await request(address(path, params), signal === undefined ? {} : { signal });
    return parseJson(await response.text()) as T;
  }

  async bytes(path: string, offset: number, count: number): Promise<{ bytes: Uint8Array; total: number }> {
    const response = await request(address(path, { offset, bytes: count }), {});
    const bytes = new Uint8Array(await response.arrayBuffer());
    const total = Number(response.headers.get("hence-total-bytes") ?? Number.NaN);
    return { bytes, total: Number.isFinite(total) ? total : offset + bytes.length };
  }

  async post<T>(path: string, body: unknown): Promise<T> {
    const response = await request(`${BASE}${path}`, {
      method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body),
    });
    const text = await response.text();
    return (text === "" ? null : parseJson(text)) as T;
  }

  watch(path: string, after: number | null, watcher: Watcher): () => void {
    let last = after;
    let wait = RECONNECT_MS;
    let isEnded = false;
    let stream: EventSource | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const close = (): void => {
      clearTimeout(timer);
      stream?.close();
      stream = null;
    };
    const open = (): void => {
      close();
      stream = new EventSource(address(path, { after: last }));
      stream.onopen = () => {
        wait = RECONNECT_MS;
        watcher.onConnection(true);
      };
      stream.onerror = () => {
        // The stream is opened again by hand: `after` must name the last record that was seen.
        close();
        watcher.onConnection(false);
        if (isEnded) return;
        timer = setTimeout(open, wait);
        wait = Math.min(wait * 2, RECONNECT_MS_MAX);
      };
      for (const name of ["record", "status", "gone", "runs"]) {
        stream.addEventListener(name, (event) => {
          const { data, lastEventId } = event as MessageEvent<string>;
          if (/^[0-9]+$/.test(lastEventId)) last = Number(lastEventId);
          if (name === "gone") isEnded = true;
          watcher.onEvent(name, parseJson(data));
        });
      }
    };
    // A browser has few connections to one server: a tab that nobody sees gives its own back, and catches up when it is seen.
    const onVisibility = (): void => {
      if (document.hidden) close();
      else if (!isEnded && stream === null) open();
    };
    document.addEventListener("visibilitychange", onVisibility);
    open();
    return () => {
      isEnded = true;
      document.removeEventListener("visibilitychange", onVisibility);
      close();
    };
  }
}
