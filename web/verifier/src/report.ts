/** The report of a verification. Its members are those of `hence verify --json`, and some of its own. */

export type LevelName = "bytes" | "chain" | "linked" | "spec" | "replay" | "anchored";
export type Verdict = "holds" | "broken" | "not_checked";

/** One thing that is wrong with a line. Codes are those of docs/format.md section 11. */
export interface Reason {
  code: string;
  member: string | null;
  expected: string | null;
  found: string | null;
}

export interface LevelReport {
  level: LevelName;
  verdict: Verdict;
  /** The first bad line, from 0. */
  line: number | null;
  reasons: Reason[];
  /** What this level could not check, and why. */
  unchecked: string[];
}

/** A document, blob, file of a bundle or linked run that was compared with what names it. */
export interface ItemReport {
  kind: "document" | "blob" | "file" | "bundle" | "origin" | "nested" | "parent";
  name: string;
  verdict: Verdict;
  detail: string;
}

export interface Report {
  target: string;
  /** Whether nothing that was checked is broken. */
  holds: boolean;
  records: number;
  /** The records in front of the first broken line. */
  intact: number;
  head: string | null;
  /** Whether the run reached a legal end; null when that is not known here. */
  complete: boolean | null;
  kind: "reason" | "skill" | "variables" | "solve" | "trace" | null;
  profile: "strict" | "strict-2" | "compat" | null;
  trace_id: string | null;
  levels: LevelReport[];
  items: ItemReport[];
  /** What an interrupted write left at the end, if anything. */
  torn_bytes: number;
  not_shown: string[];
}

export function reason(code: string, extra: Partial<Omit<Reason, "code">> = {}): Reason {
  return { code, member: extra.member ?? null, expected: extra.expected ?? null, found: extra.found ?? null };
}

/** A comparison whose expected hash is still being computed. */
export interface PendingCheck {
  code: string;
  expected: Promise<string> | string;
  found: Promise<string> | string;
}

export type Check = Reason | PendingCheck;

export function isReason(check: Check): check is Reason {
  return "member" in check;
}

/** Returns a reason unless the hashes are equal. */
export async function settle(check: Check): Promise<Reason | null> {
  if (isReason(check)) return check;
  const [expected, found] = [await check.expected, await check.found];
  return expected === found ? null : reason(check.code, { expected, found });
}

export const NOT_SHOWN = [
  "that nothing was cut from the end: a shorter chain is a valid chain; only a head kept elsewhere shows it",
  "that the whole journal was not recomputed: whoever can write it can hash it anew; only a head kept elsewhere or a signature shows it",
  "that recorded inputs, evidence and replies were true: a record proves what was written down",
];
