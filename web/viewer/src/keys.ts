/** The keyboard: one place that says which key does what. */

import { app, followAddress, go } from "./app.svelte.ts";
import { pageAddress, runAddress } from "./lib/route.ts";
import type { RunModel } from "./run.svelte.ts";

export const KEY_HELP: [string, string][] = [
  ["j / k", "next, previous record"],
  ["J / K", "next, previous unit of the story"],
  ["[ / ]", "previous, next checkpoint"],
  ["/", "search: in the run, or in the list of runs"],
  ["g", "go to a run, a record or a pointer"],
  ["d", "mark this record; again at another one: show the difference"],
  ["c", "comment on what is at the cursor"],
  ["?", "this map"],
  ["Esc", "back: close what is open, then leave the view"],
  ["1 … 9, 0", "the views of a run, in the order of the tabs"],
  ["t", "dark, light or as the system"],
];

function isTyping(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement | null;
  return target !== null && (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable);
}

export interface Actions {
  run: RunModel | null;
  tabs: string[];
  cycleTheme: () => void;
}

/** Acts on a key. Keys with Ctrl, Alt or Meta belong to the browser. */
export function onKey(event: KeyboardEvent, actions: Actions): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") return escape(event, actions);
  if (isTyping(event) || app.dialog !== null) return;
  if (key(event.key, actions)) event.preventDefault();
}

function escape(event: KeyboardEvent, { run }: Actions): void {
  // The event of a changed address comes later than the next key of a quick hand.
  followAddress();
  if (app.dialog !== null) {
    app.dialog = null;
    event.preventDefault();
  } else if (isTyping(event)) {
    (event.target as HTMLElement).blur();
  } else if (run !== null) {
    go(app.route.page === "run" && (app.route.view !== "answer" || app.route.step !== null) ? runAddress(run.id, "answer", null) : pageAddress("runs"));
  } else if (app.route.page !== "runs") {
    go(pageAddress("runs"));
  }
}

function key(name: string, { run, tabs, cycleTheme }: Actions): boolean {
  if (name === "?") app.dialog = "help";
  else if (name === "t") cycleTheme();
  else if (name === "g") app.dialog = "go";
  else if (name === "/" && run === null) document.querySelector<HTMLInputElement>("input[type=search]")?.focus();
  else if (run === null) return false;
  else if (name === "/") app.dialog = "search";
  else if (name === "j") run.move(run.cursor + 1);
  else if (name === "k") run.move(run.cursor - 1);
  else if (name === "J") run.moveUnit(1);
  else if (name === "K") run.moveUnit(-1);
  else if (name === "]") run.moveCheckpoint(1);
  else if (name === "[") run.moveCheckpoint(-1);
  else if (name === "d") markOrCompare(run);
  else if (name === "c") app.dialog = "comment";
  else if (/^[0-9]$/.test(name)) {
    const tab = tabs[name === "0" ? 9 : Number(name) - 1];
    if (tab === undefined) return false;
    go(run.address(tab as Parameters<RunModel["address"]>[0]));
  } else return false;
  return true;
}

function markOrCompare(run: RunModel): void {
  const { mark } = app;
  const here = { run: run.id, step: run.cursor };
  if (mark === null || (mark.run === here.run && mark.step === here.step)) {
    app.mark = mark === null ? here : null;
    app.say(mark === null ? `record ${here.step} is marked; press d at another one to see the difference` : "the mark is gone");
  } else if (mark.run === here.run) {
    go(runAddress(run.id, "state", here.step, { after: String(mark.step) }));
  } else {
    go(pageAddress("compare", { left: mark.run, right: here.run }));
  }
}
