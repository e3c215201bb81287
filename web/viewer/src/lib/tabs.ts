/** The tabs of a run, in order, and which of them a run has. */

import type { Run } from "../source/types.ts";
import type { RunView } from "./route.ts";

export interface Tab {
  view: RunView;
  title: string;
  /** The name of the view in the run's own list; nothing for views that every run has. */
  needs: string | null;
}

export const TABS: Tab[] = [
  { view: "answer", title: "Answer", needs: null },
  { view: "story", title: "Story", needs: "story" },
  { view: "timeline", title: "Timeline", needs: "timeline" },
  { view: "record", title: "Record", needs: "records" },
  { view: "state", title: "State", needs: "state" },
  { view: "lineage", title: "Lineage", needs: "lineage" },
  { view: "calls", title: "Calls", needs: "calls" },
  { view: "gaps", title: "Gaps", needs: "gaps" },
  { view: "policies", title: "Policies", needs: "policies" },
  { view: "review", title: "Review", needs: "review" },
  { view: "integrity", title: "Integrity", needs: "integrity" },
];

/** The names of the views a run has; all of them while that is not known. */
export function tabsOf(run: Run | null): RunView[] {
  return TABS.filter((tab) => tab.needs === null || run === null || run.views.includes(tab.needs)).map((tab) => tab.view);
}
