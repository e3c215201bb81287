/** Addresses of the page. The part after `#` holds the whole view, so that any screen can be sent. */

export const RUN_VIEWS = [
  "answer", "story", "timeline", "record", "state", "lineage", "calls", "gaps", "policies", "review", "integrity",
] as const;
export type RunView = (typeof RUN_VIEWS)[number];

export type Route =
  | { page: "runs"; query: Query }
  | { page: "waiting"; query: Query }
  | { page: "compare"; query: Query }
  | { page: "run"; run: string; step: number | null; view: RunView; query: Query }
  | { page: "unknown"; path: string; query: Query };

export type Query = Record<string, string>;

/** The largest record index that an address may name. */
const STEP_MAX = Number.MAX_SAFE_INTEGER;

/** Reads an address. Everything that is no address of a view is `unknown`, never an exception. */
export function parseRoute(hash: string): Route {
  const text = hash.startsWith("#") ? hash.slice(1) : hash;
  const mark = text.indexOf("?");
  const path = mark < 0 ? text : text.slice(0, mark);
  const query = parseQuery(mark < 0 ? "" : text.slice(mark + 1));
  const parts = path.split("/").filter((part) => part !== "").map(decode);
  const [first, run, word, number, ...rest] = parts;
  if (first === undefined) return { page: "runs", query };
  if ((first === "runs" || first === "waiting" || first === "compare") && parts.length === 1) return { page: first, query };
  if (first !== "run" || run === undefined || rest.length > 0) return { page: "unknown", path, query };
  const view = viewOf(query["view"]);
  if (word === undefined) return { page: "run", run, step: null, view: view ?? "answer", query };
  if (word !== "step" || number === undefined || !/^[0-9]{1,16}$/.test(number)) return { page: "unknown", path, query };
  const step = Number(number);
  if (step > STEP_MAX) return { page: "unknown", path, query };
  return { page: "run", run, step, view: view ?? "record", query };
}

function viewOf(name: string | undefined): RunView | null {
  return RUN_VIEWS.find((view) => view === name) ?? null;
}

/** Writes the address of a run's view. Members of `query` that are empty are left out. */
export function runAddress(run: string, view: RunView, step: number | null, query: Query = {}): string {
  const isDefault = view === (step === null ? "answer" : "record");
  const members = { ...(isDefault ? {} : { view }), ...query };
  return `#/run/${encodeURIComponent(run)}${step === null ? "" : `/step/${step}`}${formatQuery(members)}`;
}

export function pageAddress(page: "runs" | "waiting" | "compare", query: Query = {}): string {
  return `#/${page}${formatQuery(query)}`;
}

export function parseQuery(text: string): Query {
  const query: Query = Object.create(null) as Query;
  for (const part of text.split("&")) {
    if (part === "") continue;
    const mark = part.indexOf("=");
    const key = decode(mark < 0 ? part : part.slice(0, mark));
    query[key] = mark < 0 ? "" : decode(part.slice(mark + 1));
  }
  return query;
}

export function formatQuery(query: Query): string {
  const parts: string[] = [];
  for (const key of Object.keys(query).sort()) {
    const value = query[key];
    if (value !== undefined && value !== "") parts.push(`${encodeURIComponent(key)}=${encodeURIComponent(value)}`);
  }
  return parts.length === 0 ? "" : `?${parts.join("&")}`;
}

/** Decodes a part of an address. One that is not encoded well stands for itself. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}
