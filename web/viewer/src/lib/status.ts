/** The look of a status: a sign, a word and a tone. The sign and the word say everything; the colour only helps. */

export type Tone = "good" | "bad" | "wait" | "busy" | "quiet" | "warn" | "unknown";

export interface Look {
  sign: string;
  word: string;
  tone: Tone;
}

const LOOKS: Record<string, Look> = {
  completed: { sign: "✓", word: "completed", tone: "good" },
  success: { sign: "✓", word: "success", tone: "good" },
  holds: { sign: "✓", word: "holds", tone: "good" },
  pass: { sign: "✓", word: "pass", tone: "good" },
  passed: { sign: "✓", word: "passed", tone: "good" },
  satisfied: { sign: "✓", word: "satisfied", tone: "good" },
  approved: { sign: "✓", word: "approved", tone: "good" },
  resolved: { sign: "✓", word: "resolved", tone: "good" },
  confirmed: { sign: "✓", word: "confirmed", tone: "good" },
  addressed: { sign: "✓", word: "addressed", tone: "good" },
  replied: { sign: "✓", word: "replied", tone: "good" },
  answered: { sign: "✓", word: "answered", tone: "good" },
  closed: { sign: "✓", word: "closed", tone: "good" },
  used: { sign: "✓", word: "used", tone: "good" },
  repeated: { sign: "=", word: "repeated", tone: "quiet" },
  equal: { sign: "=", word: "equal", tone: "good" },
  failed: { sign: "✗", word: "failed", tone: "bad" },
  fail: { sign: "✗", word: "fail", tone: "bad" },
  broken: { sign: "✗", word: "broken", tone: "bad" },
  violated: { sign: "✗", word: "violated", tone: "bad" },
  rejected: { sign: "✗", word: "rejected", tone: "bad" },
  unreadable: { sign: "?", word: "unreadable", tone: "bad" },
  damaged: { sign: "✗", word: "damaged", tone: "bad" },
  diverged: { sign: "≠", word: "diverged", tone: "bad" },
  different: { sign: "≠", word: "different", tone: "warn" },
  blocked: { sign: "⊘", word: "blocked", tone: "bad" },
  error: { sign: "✗", word: "error", tone: "bad" },
  critical: { sign: "‼", word: "critical", tone: "bad" },
  high: { sign: "!", word: "high", tone: "bad" },
  medium: { sign: "▲", word: "medium", tone: "warn" },
  low: { sign: "△", word: "low", tone: "quiet" },
  info: { sign: "i", word: "info", tone: "quiet" },
  waiting: { sign: "‖", word: "waiting", tone: "wait" },
  asked: { sign: "‖", word: "asked", tone: "wait" },
  pending: { sign: "○", word: "pending", tone: "quiet" },
  running: { sign: "▶", word: "running", tone: "busy" },
  interrupted: { sign: "▌", word: "interrupted", tone: "warn" },
  unfinished: { sign: "▶", word: "unfinished", tone: "busy" },
  interactive: { sign: "▶", word: "interactive", tone: "busy" },
  changes_requested: { sign: "↺", word: "changes requested", tone: "warn" },
  escalated: { sign: "↑", word: "escalated", tone: "wait" },
  other_content: { sign: "≠", word: "of another content", tone: "warn" },
  unknown: { sign: "?", word: "unknown", tone: "warn" },
  no_reply: { sign: "–", word: "no reply", tone: "warn" },
  partial: { sign: "◐", word: "partial", tone: "warn" },
  open: { sign: "○", word: "open", tone: "warn" },
  acknowledged: { sign: "◔", word: "acknowledged", tone: "warn" },
  waived: { sign: "~", word: "waived", tone: "quiet" },
  accepted: { sign: "~", word: "accepted", tone: "quiet" },
  skipped: { sign: "–", word: "skipped", tone: "quiet" },
  degraded: { sign: "◐", word: "degraded", tone: "warn" },
  undecided: { sign: "?", word: "undecided", tone: "warn" },
  not_checked: { sign: "?", word: "not checked", tone: "unknown" },
  absent: { sign: "·", word: "absent", tone: "unknown" },
  trace: { sign: "·", word: "trace", tone: "unknown" },
  not_applicable: { sign: "·", word: "not applicable", tone: "unknown" },
  none: { sign: "·", word: "none", tone: "unknown" },
};

/** Returns the look of a status; a word that is not known is shown as it is, with a question mark. */
export function look(status: string | null | undefined): Look {
  if (status === null || status === undefined || status === "") return { sign: "·", word: "none", tone: "unknown" };
  const name = status.toLowerCase().replaceAll(/[\s-]/g, "_");
  return (Object.hasOwn(LOOKS, name) ? LOOKS[name] : undefined) ?? { sign: "?", word: status, tone: "unknown" };
}

/** How something came to be known: the ink of a claim. */
export const ORIGINS: Record<string, { sign: string; word: string; help: string }> = {
  observed: { sign: "●", word: "observed", help: "seen where it happened, by the recorder" },
  recorded: { sign: "◍", word: "recorded", help: "written down by the agent in its own record" },
  declared: { sign: "◍", word: "declared", help: "declared by the document or the agent" },
  inferred: { sign: "◌", word: "inferred", help: "follows from the record by a rule of the tool" },
  asserted: { sign: "○", word: "asserted", help: "somebody says so; nothing was checked" },
};

/** Whether this is a review trace that no journal of ours records: a run may record a trace too, and then a journal proves it. */
export function isTraceAlone(run: { kind: string; records: number | null }): boolean {
  return run.kind === "trace" && run.records === null;
}
