/** One run in view: its summary, its records by window, and the cursor that all views share. */

import { untrack } from "svelte";

import { app, go, source } from "./app.svelte.ts";
import { PageCache } from "./lib/windows.ts";
import { runAddress, type Query, type RunView } from "./lib/route.ts";
import { runPath } from "./source/source.ts";
import type { LiveStatus, Page, RecordRow, Run, Unit, Verdict } from "./source/types.ts";

const PAGE_RECORDS = 200;
const PAGES_MAX = 40;
const UNITS_MAX = 1000;
const SUMMARY_WAIT_MS = 2000;

export class RunModel {
  readonly id: string;
  summary: Run | null = $state.raw(null);
  /** Whether the summary still lacks what only the whole journal says. */
  isBrief = $state(false);
  verdict: Verdict | null = $state.raw(null);
  verdictError: unknown = $state.raw(null);
  error: unknown = $state.raw(null);
  units: Unit[] = $state.raw([]);
  total = $state(0);
  /** Raised whenever a window of records came in; rows read it to be drawn again. */
  version = $state(0);
  isConnected = $state(true);
  /** Records that came in while the reader looked elsewhere. */
  unseen = $state(0);
  /** Raised when what a view shows may have changed: after an answer, a comment, or new records. */
  generation = $state(0);
  private readonly records: PageCache<RecordRow>;
  private end: (() => void) | null = null;
  private timer: ReturnType<typeof setTimeout> | null = null;

  constructor(id: string) {
    this.id = id;
    this.records = new PageCache(PAGE_RECORDS, PAGES_MAX, (from, count) => this.loadRecords(from, count), () => (this.version += 1));
    void this.open();
  }

  get hasRecords(): boolean {
    return this.summary?.views.includes("records") !== false;
  }

  /** The record at the cursor; without one in the address it is the last. */
  get cursor(): number {
    const { route } = app;
    const last = Math.max(0, this.total - 1);
    return route.page === "run" && route.step !== null ? Math.min(route.step, last) : last;
  }

  /** The number of records that hold, where the journal is broken; nothing when it holds or was not checked. */
  get intact(): number | null {
    const value = this.verdict?.integrity.report?.["intact"];
    return this.verdict?.integrity.status === "broken" && typeof value === "number" ? value : null;
  }

  /** The record of the last turn of a run of `hence solve`. */
  get lastTurn(): number | null {
    return this.units.findLast((unit) => unit.id.startsWith("turn-"))?.records?.[0] ?? null;
  }

  get view(): RunView {
    return app.route.page === "run" ? app.route.view : "answer";
  }

  /** The parameters of the view, without its name. */
  get ownQuery(): Query {
    const { view: _view, ...query } = app.route.query;
    return query;
  }

  /** Sets parameters of the view; an empty one is removed. */
  setQuery(changes: Query, isSmall = true): void {
    const step = app.route.page === "run" ? app.route.step : null;
    go(runAddress(this.id, this.view, step, { ...this.ownQuery, ...changes }), isSmall);
  }

  private async loadRecords(from: number, count: number): Promise<RecordRow[]> {
    const rows: RecordRow[] = [];
    let at = from;
    while (rows.length < count) {
      const page = await source().get<Page<RecordRow>>(runPath(this.id, "/records"), { from: at, limit: count - rows.length });
      rows.push(...page.items);
      // A damaged journal may have fewer lines than its last record declares.
      if (page.total !== null && page.total < this.total) this.total = page.total;
      if (page.next === null || page.items.length === 0) break;
      at = page.next;
    }
    return rows;
  }

  async open(): Promise<void> {
    // A long run shows its records at once; what only the whole journal says comes after.
    if (app.isLive && this.summary === null) {
      source().get<Run>(runPath(this.id), { brief: true }).then((brief) => {
        if (this.summary === null) this.show(brief, true);
      }).catch(() => undefined);
    }
    try {
      this.show(await source().get<Run>(runPath(this.id)), false);
      this.error = null;
      void this.loadVerdict();
      void this.loadUnits();
    } catch (error) {
      this.error = error;
    }
  }

  private show(summary: Run, isBrief: boolean): void {
    this.summary = summary;
    this.isBrief = isBrief;
    this.total = summary.records ?? 0;
    if (app.isLive && this.end === null && summary.views.includes("records")) this.follow();
  }

  async loadVerdict(withReplay = false): Promise<void> {
    try {
      this.verdict = await source().get<Verdict>(runPath(this.id, "/verdict"), { replay: withReplay });
      this.verdictError = null;
    } catch (error) {
      this.verdictError = error;
    }
  }

  private async loadUnits(): Promise<void> {
    try {
      const units: Unit[] = [];
      let from: number | null = 0;
      while (from !== null && units.length < UNITS_MAX) {
        const page: Page<Unit> = await source().get<Page<Unit>>(runPath(this.id, "/story"), { from, limit: 200 });
        units.push(...page.items);
        from = page.next;
      }
      this.units = units;
    } catch {
      // The story says itself why it cannot be shown; the keys J and K then move by record.
      this.units = [];
    }
  }

  /** Reads everything again that an action of the reader may have changed. */
  async refresh(): Promise<void> {
    await this.open();
    this.generation += 1;
  }

  private follow(): void {
    this.end = source().watch(runPath(this.id, "/events"), this.total === 0 ? null : this.total - 1, {
      onConnection: (isOpen) => (this.isConnected = isOpen),
      onEvent: (name, data) => this.onEvent(name, data),
    });
  }

  private onEvent(name: string, data: unknown): void {
    if (name === "record") {
      const row = data as RecordRow;
      if (row.index < this.total) return;
      // An address without a record means the end: what is being read must not move, so it is pinned to where it was.
      const { route } = app;
      if (route.page === "run" && route.step === null && route.view !== "answer") this.move(this.cursor, true);
      this.unseen += row.index + 1 - this.total;
      this.total = row.index + 1;
      this.version += 1;
    } else if (name === "status") {
      const status = data as LiveStatus;
      const { summary } = this;
      if (summary === null || (summary.status === status.status && summary.head === status.head)) return;
      if (summary.status === status.status) this.readSummarySoon();
      else void this.refresh();
    } else if (name === "gone") {
      this.isConnected = false;
    }
  }

  /** A run that is being written changes with every record; its summary is read again now and then, its verdict when its status changes. */
  private readSummarySoon(): void {
    this.timer ??= setTimeout(() => {
      this.timer = null;
      source().get<Run>(runPath(this.id)).then((summary) => (this.summary = summary)).catch((error: unknown) => (this.error = error));
    }, SUMMARY_WAIT_MS);
  }

  close(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.end?.();
    this.end = null;
  }

  /** Returns a row if it is here, and asks for its window if it is not. */
  row(index: number): RecordRow | undefined {
    void this.version;
    const row = this.records.get(index);
    if (row === undefined && index >= 0 && index < this.total) untrack(() => void this.records.want({ from: index, to: index + 1 }, this.total));
    return row;
  }

  want(from: number, to: number): void {
    void this.records.want({ from, to }, this.total);
  }

  /** Moves the cursor; the view and its parameters stay. */
  move(step: number, isPinned = false): void {
    const last = Math.max(0, this.total - 1);
    const to = Math.min(Math.max(0, step), last);
    if (to === last && !isPinned) this.unseen = 0;
    go(runAddress(this.id, this.view, to, this.ownQuery), true);
  }

  /** The address of a view at the cursor. */
  address(view: RunView, query: Query = {}): string {
    const { route } = app;
    const step = route.page === "run" ? route.step : null;
    return runAddress(this.id, view, view === "record" ? (step ?? this.cursor) : step, query);
  }

  /** Moves to the next (1) or previous (-1) unit of the story. */
  moveUnit(direction: 1 | -1): void {
    const starts = this.units.map((unit) => unit.records?.[0]).filter((start): start is number => start !== undefined).sort((a, b) => a - b);
    const { cursor } = this;
    const to = direction === 1 ? starts.find((start) => start > cursor) : starts.findLast((start) => start < cursor);
    this.move(to ?? cursor + direction);
  }

  /** Moves to the next or previous record that names a checkpoint. */
  moveCheckpoint(direction: 1 | -1): void {
    const { cursor } = this;
    const places = (this.summary?.checkpoints ?? []).map((one) => one.index).sort((a, b) => a - b);
    const to = direction === 1 ? places.find((place) => place > cursor) : places.findLast((place) => place < cursor);
    if (to === undefined) app.say(direction === 1 ? "no checkpoint after this record" : "no checkpoint before this record");
    else this.move(to);
  }
}
