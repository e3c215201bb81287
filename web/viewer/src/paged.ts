/** Reads a paged list to its end, or to a limit that the reader is told about. */

import { source } from "./app.svelte.ts";
import type { Params } from "./source/source.ts";
import type { Page } from "./source/types.ts";

const PAGE_ITEMS = 200;

export async function readAll<T>(path: string, params: Params, itemsMax: number, signal?: AbortSignal): Promise<{ items: T[]; total: number | null; isCut: boolean }> {
  const items: T[] = [];
  let from: number | null = 0;
  let total: number | null = null;
  while (from !== null && items.length < itemsMax) {
    const page: Page<T> = await source().get<Page<T>>(path, { ...params, from, limit: PAGE_ITEMS }, signal);
    items.push(...page.items);
    total = page.total;
    from = page.next;
  }
  return { items, total, isCut: from !== null };
}
