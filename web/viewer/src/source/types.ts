/** The forms of the HTTP API, as docs/api.md describes them. */

import type { Json, JsonObject } from "../lib/json.ts";

export interface Shown {
  kind: "null" | "boolean" | "number" | "string" | "array" | "object";
  bytes: number;
  count: number | null;
  whole: boolean;
  value: Json;
  start: string | null;
}

export interface Page<T> {
  total: number | null;
  from: number;
  next: number | null;
  items: T[];
}

export interface Session {
  name: string;
  roles: string[];
  version: string;
  store: string;
}

export interface Money {
  amount: string;
  currency: string;
}

export interface PolicyCounts {
  /** Rules that hold, and something happened that they are about. */
  passed: number;
  /** Rules that hold because nothing happened that they are about. */
  absent: number;
  failed: number;
  unknown: number;
  not_applicable: number;
  /** Steps that a rule blocked while the run was driven. */
  blocked: number;
}

export interface BlockedStep {
  record: number;
  step: string;
  policy: string;
}

export interface RunRow {
  run: string;
  status: string;
  kind: string;
  skill: string | null;
  question: string | null;
  records: number;
  bytes: number;
  head: string | null;
  created_at: string | null;
  measured_at: string | null;
  duration_ms: number | null;
  waiting: number;
  calls: number | null;
  tokens: number | null;
  cost: Money[] | null;
  gaps: { open: number; worst: string | null; of_worst: number } | null;
  policies: PolicyCounts | null;
  parent: Json;
  origin: Json;
  retries: Json;
  retry: Json;
}

export interface Facet {
  value: string;
  count: number;
}

export interface Runs extends Page<RunRow> {
  facets: { status: Facet[]; kind: Facet[]; skill: Facet[]; waiting: number; failed_policy: number; gaps: number; unindexed: number };
}

export interface Usage {
  calls: number;
  tokens_in: number;
  tokens_out: number;
  cost: Money[];
  limits?: { calls: number | null; tokens: number | null; cost: Money[]; seconds: number | null };
}

export interface MeasuredSum {
  records: number;
  first_at: string | null;
  last_at: string | null;
  steps_ms: number;
  steps: number;
  calls_ms: number;
  calls: number;
  waits_ms: number;
  waits: number;
  elsewhere: boolean;
}

export interface Why {
  standing: string;
  says: string;
  commands: string[];
  failures: Json[];
  waiting: { step: string; key: string; capability: string; about: string; question: string }[];
  calls: Json[];
  decisions: Json[];
  executed: Json[];
  held_by: Json;
  since: string | null;
  asked: Json[];
}

export interface Run {
  run: string;
  kind: string;
  status: string;
  skill: string | null;
  profile: string | null;
  question: string | null;
  answer: Shown | null;
  answer_record: number | null;
  /** Nothing for a trace, which has no journal. */
  records: number | null;
  bytes: number;
  head: string | null;
  torn_bytes: number;
  made_here: boolean;
  created_at: string | null;
  measured: MeasuredSum | null;
  wall_ms: number | null;
  usage: Usage | null;
  why: Why | null;
  parent: Json;
  origin: Json;
  retries: Json;
  retry: Json;
  children: { run: string; relation: string; status: string }[];
  views: string[];
  remarks: string[];
  /** Named positions; a server of an earlier version does not list them. */
  checkpoints?: { name: string; index: number; position: number }[];
  /** The actions of a trace; nothing for a run. */
  actions: { all: number; failed: number } | null;
}

export interface VerdictPart {
  status: string;
  says: string;
}

export interface Verdict {
  integrity: VerdictPart & { report: JsonObject | null };
  replay: VerdictPart;
  policies: VerdictPart & PolicyCounts & { blocked_steps: BlockedStep[] };
  gaps: VerdictPart & { open: number; by_severity: Record<string, number> };
  review: VerdictPart & { review: string | null };
}

export interface Measured {
  recorded_at: string | null;
  started_at: string | null;
  ended_at: string | null;
  duration_ms: number | null;
  elsewhere: boolean;
}

export interface RecordRow {
  index: number;
  kind: string;
  what: string;
  status: string | null;
  logical_at: string | null;
  measured: Measured | null;
  hash: string | null;
  offset: number;
  bytes: number;
  line?: string | null;
}

export interface Place {
  place: string;
  value: Shown | null;
}

export interface TimedCall {
  key: string;
  started_at: string | null;
  ended_at: string | null;
  duration_ms: number | null;
}

export interface RecordDetail {
  run: string;
  index: number;
  offset: number;
  bytes: number;
  line: string | null;
  kind: string;
  what: string;
  status: string | null;
  hash: string | null;
  record: Shown;
  input: Shown | null;
  output: Shown | null;
  missing: string | null;
  reads: Place[];
  writes: Place[];
  measured: Measured | null;
  calls: TimedCall[];
  waits: { key: string; asked_at: string | null; answered_at: string | null; duration_ms: number | null }[];
  decisions: Json[];
  exchanges: ExchangeEntry[];
  actions: number[];
}

export interface ExchangeEntry {
  call: Json;
  sha256: string | null;
  missing: string | null;
  exchange: JsonObject | null;
  cut: boolean;
}

export interface Hit {
  index: number;
  kind: string;
  what: string;
  status: string | null;
  excerpt: string;
}

export interface StateWindow extends Page<{ key: string; pointer: string; value: Shown }> {
  at: number;
  pointer: string;
  value: Shown;
}

export interface Change {
  pointer: string;
  change: "added" | "removed" | "changed";
  before: Shown | null;
  after_value: Shown | null;
}

export interface Changes extends Page<Change> {
  after: number;
  at: number;
}

export interface ValueAt {
  index: number;
  /** The name of the step that wrote it, where there is one. */
  step: string | null;
  change: string;
  value: Shown | null;
}

export interface Values extends Page<ValueAt> {
  pointer: string;
}

export interface Operation {
  op: "set" | "remove";
  at: string;
  value?: Json;
}

export interface PatchRow {
  index: number;
  patch: Operation[];
}

export interface Span {
  index: number;
  track: string;
  name: string;
  key: string | null;
  status: string | null;
  start_ms: number | null;
  end_ms: number | null;
  duration_ms: number | null;
  measured: boolean;
  attempt: number | null;
  model: string | null;
}

export interface Spans extends Page<Span> {
  t0: string | null;
}

export interface Bucket {
  from: number;
  to: number;
  start_ms: number | null;
  end_ms: number | null;
  steps: number;
  calls: number;
  people: number;
  failed: number;
  busy_ms: number;
  wait_ms: number;
}

export interface Overview {
  total: number;
  t0: string | null;
  end_ms: number | null;
  items: Bucket[];
}

export interface Unit {
  id: string;
  title: string;
  intent: string | null;
  status: string | null;
  outcome: string | null;
  source: string | null;
  parent: string | null;
  actions: number;
  action_ids: number[];
  records: [number, number] | null;
  artifact_ids: string[];
  gap_ids: string[];
  tags: string[];
}

export interface Action {
  id: number;
  index: number | null;
  category: string;
  type: string;
  label: string;
  rationale: string | null;
  result: string | null;
  status: string | null;
  unit: string | null;
  inputs: string[];
  outputs: string[];
  agent: string | null;
  duration_ms: number | null;
  gap_ids: string[];
  action: Shown;
}

export interface Artifact {
  id: string;
  type: string;
  name: string;
  summary: string | null;
  producer: number | null;
  index: number | null;
  derived_from: string[];
  blob: string | null;
  artifact: Shown;
}

export interface LineageNode {
  id: string;
  kind: "action" | "artifact";
  label: string;
  type: string;
  index: number | null;
  status: string | null;
}

export interface LineageEdge {
  from: string;
  to: string;
  kind: string;
}

export interface Lineage {
  total: number | null;
  from: number;
  next: number | null;
  cut: boolean;
  nodes: LineageNode[];
  edges: LineageEdge[];
}

export interface CallRow {
  index: number;
  step: string;
  capability: string | null;
  key: string | null;
  status: string | null;
  effect: string | null;
  attempt: number | null;
  duration_ms: number | null;
  exchanges: number;
  tokens_in: number | null;
  tokens_out: number | null;
  cost: Money[];
  /** The model and the child run of a call of `hence solve`. */
  model: string | null;
  child: string | null;
  previous: number | null;
}

export interface CallDetail {
  index: number;
  step: string;
  capability: string | null;
  status: string | null;
  input: Shown | null;
  output: Shown | null;
  hash: string | null;
  calls: {
    key: string;
    capability: string;
    status: string | null;
    effect: string | null;
    attempt: number | null;
    input: Shown | null;
    idempotency_key: string | null;
    decided_by: Json;
    started_at: string | null;
    ended_at: string | null;
    duration_ms: number | null;
  }[];
  exchanges: ExchangeEntry[];
  usage: Usage | null;
  previous: number | null;
}

export interface Gap {
  id: string;
  kind: string;
  severity: string;
  status: string;
  statement: string;
  suggested_check: string | null;
  source: string | null;
  target: { type: string; id: string } | null;
  action: number | null;
  index: number | null;
  gap: Shown;
}

export interface Gaps extends Page<Gap> {
  counts: { kind: string; severity: string; open: number; closed: number }[];
}

export interface Witnesses {
  action_ids: number[];
  artifact_ids: string[];
  residual_ids: string[];
  elements: Json[];
}

export interface Policy {
  id: string;
  name: string | null;
  severity: string | null;
  words: string | null;
  formula: string | null;
  applies_when: string | null;
  status: string;
  absent: boolean;
  note: string | null;
  explanation: { position: number | null; action_id: number | null; action_type: string | null; found: Json }[];
  violating: Witnesses | null;
  evidence: Witnesses | null;
  records: number[];
  heuristic_words: string[];
  events: Json[];
}

export interface ReviewTarget {
  type: string;
  id: string | null;
}

export interface Thread {
  id: string;
  target: ReviewTarget | null;
  author: string;
  at: string;
  body: string;
  status: string | null;
  replies: Thread[];
}

export interface ReviewItem {
  id: string;
  target: ReviewTarget | null;
  title: string;
  body: string | null;
  assignee: string | null;
  blocking: boolean;
  status: string;
  author: string;
  at: string;
}

export interface Review {
  review: string;
  exists: boolean;
  bound: boolean;
  holds: boolean;
  broken: Json;
  records: number;
  head: string | null;
  decision: string | null;
  stage: string | null;
  decided_by: string | null;
  disposition: string | null;
  obstacles: { subject: string; reason: string }[];
  threads: Thread[];
  items: ReviewItem[];
  entries: { index: number; event: string; author: string; at: string; subject: string | null; text: string | null }[];
  may: string[];
}

export interface Question {
  run: string;
  question_of_run: string | null;
  step: string;
  key: string;
  capability: string;
  about: string;
  question: string | null;
  who: string | null;
  input: Shown | null;
  type: string | null;
  options: Json[] | null;
  schema: JsonObject | null;
  approves: Json[];
  rejects: Json[];
  idempotency_key: string | null;
  asked_at: string | null;
  may_answer: boolean;
  commands: string[];
}

export interface CompareSide {
  run: string;
  records: number;
  status: string;
  usage: Usage | null;
  wall_ms: number | null;
}

export interface Comparison extends Page<{ line: number; step: string | null; path: string; left: Shown | null; right: Shown | null }> {
  left: CompareSide;
  right: CompareSide;
  equal: boolean;
  first: number | null;
  rows: { line: number; left: CompareRow | null; right: CompareRow | null; same: boolean }[];
  state: Change[];
}

export interface CompareRow {
  index: number;
  what: string;
  status: string | null;
  hash: string | null;
}

export interface LiveStatus {
  run: string;
  status: string;
  records: number;
  head: string | null;
  waiting: number;
}
