/** Windows of a long list: which pages a range needs, and a cache that holds a bounded number of them. */

export interface Range {
  from: number;
  to: number;
}

/** The pages that cover `from` to `to` (exclusive), in order. */
export function pagesOf(range: Range, pageSize: number, total: number): number[] {
  const from = Math.max(0, Math.floor(range.from / pageSize));
  const to = Math.min(total, range.to);
  const found: number[] = [];
  for (let page = from; page * pageSize < to; page += 1) found.push(page);
  return found;
}

/** Pages of a list, loaded as they are looked at. The page used longest ago is dropped first. */
export class PageCache<T> {
  private readonly pages = new Map<number, T[]>();
  private readonly loading = new Map<number, Promise<void>>();
  /** Why a page could not be loaded; it is tried again when asked for after `forget`. */
  readonly failures = new Map<number, unknown>();

  constructor(
    readonly pageSize: number,
    private readonly pagesMax: number,
    private readonly load: (from: number, count: number) => Promise<T[]>,
    private readonly onChange: () => void,
  ) {}

  /** Returns an item if its page is here. */
  get(index: number): T | undefined {
    const number = Math.floor(index / this.pageSize);
    const page = this.pages.get(number);
    if (page === undefined) return undefined;
    this.pages.delete(number);
    this.pages.set(number, page);
    return page[index - number * this.pageSize];
  }

  /** Loads what is missing of a range. */
  async want(range: Range, total: number): Promise<void> {
    const waits: Promise<void>[] = [];
    for (const number of pagesOf(range, this.pageSize, total)) {
      const held = this.pages.get(number);
      const expected = Math.min(this.pageSize, total - number * this.pageSize);
      if (this.failures.has(number) || (held !== undefined && held.length >= expected)) continue;
      waits.push(this.loading.get(number) ?? this.start(number));
    }
    await Promise.all(waits);
  }

  private start(number: number): Promise<void> {
    const work = this.load(number * this.pageSize, this.pageSize)
      .then((items) => {
        this.pages.set(number, items);
        while (this.pages.size > this.pagesMax) this.pages.delete(this.pages.keys().next().value as number);
      })
      .catch((error: unknown) => void this.failures.set(number, error))
      .finally(() => {
        this.loading.delete(number);
        this.onChange();
      });
    this.loading.set(number, work);
    return work;
  }

  get heldPages(): number {
    return this.pages.size;
  }

  /** Drops everything, for a list that has changed. */
  forget(): void {
    this.pages.clear();
    this.failures.clear();
  }
}
