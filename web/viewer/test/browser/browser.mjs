// Starts Chromium and the program for the browser tests.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ROOT } from "./store.mjs";

export const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const START_MS_MAX = 30_000;
export const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

export const BINARY = process.env.HENCE ?? join(ROOT, "target/debug/hence");

/** What is missing for these tests, in words; nothing when they can run. */
export async function missing() {
  if (!existsSync(CHROMIUM)) return `there is no Chromium at ${CHROMIUM}`;
  if (!existsSync(BINARY)) return `there is no program at ${BINARY}`;
  if (spawnSync(BINARY, ["view", "--help"]).status !== 0) return `the program at ${BINARY} has no command view`;
  try {
    await import("playwright-core");
  } catch {
    return "playwright-core is not installed";
  }
  return null;
}

/** Opens a browser with an empty profile; `close` removes the profile. */
export async function openBrowser() {
  const { chromium } = await import("playwright-core");
  const profile = mkdtempSync(join(tmpdir(), "hence-chromium-"));
  const context = await chromium.launchPersistentContext(profile, { executablePath: CHROMIUM, args: FLAGS, viewport: { width: 1280, height: 800 }, colorScheme: "light" });
  return {
    context,
    close: async () => {
      await context.close();
      rmSync(profile, { recursive: true, force: true });
    },
  };
}

/** Starts `hence view` in a folder and returns the address that it prints. */
export function startServer(folder, args = []) {
  const child = spawn(BINARY, ["view", "--no-open", ...args], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`hence view printed no address: ${text}`)), START_MS_MAX);
    const read = (part) => {
      text += part;
      const found = /http:\/\/(?:127\.0\.0\.1|localhost|\[::1\]):[0-9]+\/#\S+/.exec(text);
      if (found === null) return;
      clearTimeout(timer);
      const url = new URL(found[0]);
      resolve({
        origin: url.origin,
        pid: child.pid,
        token: new URLSearchParams(url.hash.slice(1)).get("token"),
        address: (hash) => `${url.origin}/${hash}`,
        stop: () => new Promise((done) => {
          child.on("close", done);
          child.kill("SIGTERM");
        }),
      });
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.on("error", reject);
    child.on("close", (code) => reject(new Error(`hence view ended with ${code}: ${text}`)));
  });
}

/** A page that collects what must not happen: errors, requests elsewhere, refused scripts. */
export async function openPage(context, origin) {
  const page = await context.newPage();
  // `VIEWER_DIST=DIR` puts a fresh build in place of the one that the program embeds, under the headers of the server.
  const dist = process.env.VIEWER_DIST;
  if (dist !== undefined && origin.startsWith("http")) {
    await context.route((url) => url.origin === origin && (url.pathname === "/" || url.pathname.startsWith("/assets/")), async (route) => {
      const response = await route.fetch();
      const path = new URL(route.request().url()).pathname;
      await route.fulfill({ response, body: readFileSync(join(dist, path === "/" ? "index.html" : path)) });
    });
  }
  const problems = [];
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error" && !/the server responded with a status of 4\d\d/.test(message.text())) problems.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !/^(data|blob|about):/.test(url)) problems.push(`request elsewhere: ${url}`);
  });
  page.on("response", async (response) => {
    const length = Number(response.headers()["content-length"] ?? 0);
    if (response.url().includes("/api/v1/") && length > 256 * 1024 + 4096) problems.push(`response of ${length} bytes: ${response.url()}`);
  });
  return { page, problems };
}

/** The largest resident memory of a page's process, in MB; the browser's own processes are told apart by their arguments. */
export function tabMemory(browserPid) {
  const parents = new Map();
  const found = [];
  for (const name of readdirSync("/proc").filter((one) => /^[0-9]+$/.test(one))) {
    try {
      const status = readFileSync(`/proc/${name}/status`, "utf8");
      parents.set(name, /^PPid:\s+([0-9]+)/m.exec(status)?.[1]);
      if (readFileSync(`/proc/${name}/cmdline`, "utf8").includes("--type=renderer")) found.push([name, Number(/^VmRSS:\s+([0-9]+)/m.exec(status)?.[1] ?? 0)]);
    } catch {
      // The process ended meanwhile.
    }
  }
  const isOurs = (pid) => pid === String(browserPid) || (parents.has(pid) && parents.get(pid) !== "0" && isOurs(parents.get(pid)));
  return Math.max(0, ...found.filter(([pid]) => isOurs(pid)).map(([, kb]) => kb)) / 1024;
}
