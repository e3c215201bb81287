/** What the whole page knows: where its data comes from, who looks at it, and the address. */

import { parseRoute, type Route } from "./lib/route.ts";
import { readEmbedded } from "./source/embedded.ts";
import { HttpSource } from "./source/http.ts";
import { ApiError, type Source } from "./source/source.ts";
import type { Session } from "./source/types.ts";

export type Theme = "auto" | "light" | "dark";
export type Dialog = "help" | "go" | "search" | "comment" | null;

class App {
  source: Source | null = $state.raw(null);
  session: Session | null = $state.raw(null);
  bootError: unknown = $state.raw(null);
  route: Route = $state.raw(parseRoute(location.hash));
  dialog: Dialog = $state(null);
  theme: Theme = $state("auto");
  isDark = $state(false);
  /** The record that `d` compares with. */
  mark: { run: string; step: number } | null = $state(null);
  toast: string | null = $state(null);

  get isLive(): boolean {
    return this.source?.isLive === true;
  }

  may(role: string): boolean {
    return this.isLive && this.session?.roles.includes(role) === true;
  }

  say(text: string): void {
    this.toast = text;
    setTimeout(() => (this.toast = this.toast === text ? null : this.toast), 2500);
  }
}

export const app = new App();

/** The source; views exist only when there is one. */
export function source(): Source {
  if (app.source === null) throw new ApiError(0, "", "the page has no data yet", null);
  return app.source;
}

/** Goes to an address. Small moves, such as the next record, replace the entry of the history. */
export function go(hash: string, isSmall = false): void {
  if (hash === location.hash) return;
  if (isSmall) {
    history.replaceState(null, "", hash);
    app.route = parseRoute(hash);
  } else {
    location.hash = hash;
  }
}

const THEME_KEY = "hence-theme";

export function setTheme(theme: Theme): void {
  app.theme = theme;
  try {
    localStorage.setItem(THEME_KEY, theme);
  } catch {
    // A page from a file may have no storage; the choice then lasts as long as the page.
  }
  applyTheme();
}

function applyTheme(): void {
  const prefersDark = matchMedia("(prefers-color-scheme: dark)").matches;
  app.isDark = app.theme === "dark" || (app.theme === "auto" && prefersDark);
  document.documentElement.dataset["theme"] = app.isDark ? "dark" : "light";
}

/** Makes the page show what its address says. */
export function followAddress(): void {
  app.route = parseRoute(location.hash);
}

/** Finds the data, exchanges a token for a session, and follows the address. */
export async function boot(): Promise<void> {
  try {
    const held = localStorage.getItem(THEME_KEY);
    if (held === "light" || held === "dark") app.theme = held;
  } catch {
    // See setTheme.
  }
  applyTheme();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);
  addEventListener("hashchange", followAddress);
  try {
    const block = document.getElementById("hence-data");
    if (block === null) await openServer();
    else await openFile(block.textContent ?? "");
  } catch (error) {
    app.bootError = error;
  }
}

async function openFile(text: string): Promise<void> {
  const embedded = await readEmbedded(text);
  app.session = await embedded.get<Session>("/session").catch(() => null);
  if (location.hash === "" || location.hash === "#") history.replaceState(null, "", `#/run/${encodeURIComponent(embedded.run)}`);
  app.route = parseRoute(location.hash);
  app.source = embedded;
}

async function openServer(): Promise<void> {
  const server = new HttpSource();
  const fragment = new URLSearchParams(location.hash.slice(1));
  const token = fragment.get("token");
  if (token !== null) {
    const to = fragment.get("to") ?? "/";
    // The token leaves the address before anything else happens.
    history.replaceState(null, "", `#${to.startsWith("/") ? to : `/${to}`}`);
    app.route = parseRoute(location.hash);
    app.session = await server.post<Session>("/session", { token });
  } else {
    app.session = await server.get<Session>("/session");
  }
  app.source = server;
}
