/** Spans of a run by windows of records, with a bounded number of windows in memory. */

import type { Span, Spans } from "../source/types.ts";

const WINDOW_RECORDS = 500;
const WINDOWS_MAX = 60;

export class SpanStore {
  private readonly windows = new Map<number, Span[]>();
  private readonly loading = new Map<number, Promise<void>>();

  constructor(private readonly load: (from: number, limit: number) => Promise<Spans>, private readonly onChange: () => void) {}

  /** Loads the spans of records [from, to) and returns them. */
  async range(from: number, to: number): Promise<Span[]> {
    const waits: Promise<void>[] = [];
    for (let at = Math.floor(from / WINDOW_RECORDS); at * WINDOW_RECORDS < to; at += 1) {
      if (!this.windows.has(at)) waits.push(this.loading.get(at) ?? this.start(at));
    }
    await Promise.all(waits);
    return this.held(from, to);
  }

  /** The spans of records [from, to) that are here. */
  held(from: number, to: number): Span[] {
    const found: Span[] = [];
    for (let at = Math.floor(from / WINDOW_RECORDS); at * WINDOW_RECORDS < to; at += 1) {
      for (const span of this.windows.get(at) ?? []) if (span.index >= from && span.index < to) found.push(span);
    }
    return found;
  }

  private start(at: number): Promise<void> {
    const work = this.read(at * WINDOW_RECORDS).then((spans) => {
      this.windows.set(at, spans);
      while (this.windows.size > WINDOWS_MAX) this.windows.delete(this.windows.keys().next().value as number);
      this.onChange();
    }).finally(() => this.loading.delete(at));
    this.loading.set(at, work);
    return work;
  }

  private async read(from: number): Promise<Span[]> {
    const end = from + WINDOW_RECORDS;
    const found: Span[] = [];
    let at: number | null = from;
    while (at !== null && at < end) {
      const page: Spans = await this.load(at, end - at);
      found.push(...page.items);
      at = page.next;
    }
    return found;
  }
}
