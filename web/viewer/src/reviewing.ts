/** What a reader records: entries of the review of a run. */

import { source } from "./app.svelte.ts";
import { runPath } from "./source/source.ts";
import type { Review } from "./source/types.ts";

export type Entry = { event: string } & Record<string, string | boolean | null | undefined>;

/** Adds an entry, and opens the review first when there is none for the run as it is now. */
export async function addEntry(run: string, entry: Entry): Promise<void> {
  const review = await source().get<Review>(runPath(run, "/review"));
  if (!review.exists) await source().post(runPath(run, "/review"), {});
  const body = Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== undefined && value !== null && value !== ""));
  await source().post(runPath(run, "/review/entries"), body);
}
