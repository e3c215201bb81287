// Measures the page on a long run: first paint, memory of the tab, frames and long tasks while scrolling, the largest response.
// `node test/browser/bench.mjs [RECORDS] [FOLDER]`: the run is made in FOLDER, or found there from an earlier call. `BENCH_RUN=ID` names another run there.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync, existsSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { BINARY, missing, openBrowser, startServer, tabMemory } from "./browser.mjs";
import { openPlain } from "./plain.mjs";
import { hence, longProblem } from "./store.mjs";

const records = Number(process.argv[2] ?? 100_000);
const folder = process.argv[3] ?? mkdtempSync(join(tmpdir(), "hence-bench-"));
const BUDGETS = { paint: 1000, memory: 300, response: 256 * 1024, longTasks: 10 };
const SCROLLS = 120;
const VERIFY_MS_MAX = Number(process.env.VERIFY_MS_MAX ?? 60_000);
const RUN = process.env.BENCH_RUN ?? `bench-${records}`;
/** How often the memory of the tab is read while it verifies. */
const SAMPLE_MS = 250;

const why = await missing();
if (why !== null) {
  console.log(`skipped: ${why}`);
  process.exit(0);
}

async function scrolling(page) {
  return page.evaluate(async (steps) => {
    const scroller = document.querySelector(".rail .scroller");
    const long = [];
    const observer = new PerformanceObserver((list) => long.push(...list.getEntries().map((entry) => entry.duration)));
    observer.observe({ entryTypes: ["longtask"] });
    const frames = [];
    let last = performance.now();
    for (let at = 0; at < steps; at += 1) {
      // Small moves, and now and then a jump far away, as a person with a scroll bar does.
      scroller.scrollTop = at % 20 === 19 ? (scroller.scrollHeight * ((at * 7919) % steps)) / steps : scroller.scrollTop + 240;
      await new Promise((resolve) => requestAnimationFrame(resolve));
      const now = performance.now();
      frames.push(now - last);
      last = now;
    }
    await new Promise((resolve) => setTimeout(resolve, 300));
    observer.disconnect();
    frames.sort((a, b) => a - b);
    return { longTasks: long.length, longest: Math.max(0, ...long), median: frames[frames.length >> 1], p95: frames[Math.floor(frames.length * 0.95)] };
  }, SCROLLS);
}

/** The memory of a tab that nobody looks into: with records and timeline, and the most while it verifies the journal. */
async function memoryOf(server) {
  const plain = await openPlain();
  const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const until = async (expression, ms) => {
    for (const end = Date.now() + ms; Date.now() < end; await wait(SAMPLE_MS)) if (await plain.evaluate(expression)) return true;
    return false;
  };
  await plain.goto(server.address(`#token=${server.token}&to=/run/${RUN}?view=record`));
  if (!(await until("document.querySelector('.record.here') !== null", VERIFY_MS_MAX))) throw new Error("the record at the cursor did not come into view");
  await plain.goto(server.address(`#/run/${RUN}?view=timeline`));
  if (!(await until("document.querySelector('canvas[aria-label^=Timeline]') !== null", VERIFY_MS_MAX))) throw new Error("the timeline did not come into view");
  const viewing = tabMemory(process.pid);
  const started = Date.now();
  let memory = viewing;
  const sampler = setInterval(() => (memory = Math.max(memory, tabMemory(process.pid))), SAMPLE_MS);
  await plain.goto(server.address(`#/run/${RUN}?view=integrity`));
  // The verifier works in its worker; how far it came is what a reader sees meanwhile.
  const isVerified = await until("document.querySelector('main').innerText.includes('records hold')", VERIFY_MS_MAX);
  const progress = isVerified ? records : Number(await plain.evaluate("document.querySelector('progress')?.value ?? 0"));
  const verified = `${progress} records in ${Date.now() - started} ms`;
  clearInterval(sampler);
  await plain.close();
  return { viewing, memory, verified };
}

mkdirSync(folder, { recursive: true });
if (!existsSync(join(folder, ".hence/runs", RUN, "trace.ndjson"))) {
  writeFileSync(join(folder, `${RUN}.json`), longProblem(RUN, records));
  await hence(BINARY, folder, ["run", `${RUN}.json`], [0, 1, 5]);
}
const server = await startServer(folder);
const browser = await openBrowser();
const page = await browser.context.newPage();
const session = await browser.context.newCDPSession(page);
let largest = { bytes: 0, url: "" };
let requests = 0;
page.on("response", async (response) => {
  if (!response.url().includes("/api/v1/") || response.url().endsWith("/events")) return;
  requests += 1;
  const bytes = (await response.body().catch(() => Buffer.alloc(0))).length;
  if (bytes > largest.bytes) largest = { bytes, url: response.url().replace(server.origin, "") };
});
await page.goto(server.address(`#token=${server.token}&to=/runs`));
await page.locator("h1").waitFor();
// A warm server, a cold page: what a reader sees who follows a link to the run.
const started = Date.now();
await page.goto("about:blank");
await page.goto(server.address(`#/run/${RUN}?view=record`));
await page.locator(".record.here").waitFor({ timeout: 60_000 });
const usable = Date.now() - started;
const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null);
const scroll = await scrolling(page);
await page.goto(server.address(`#/run/${RUN}?view=timeline`));
await page.locator("canvas[aria-label^=Timeline]").waitFor({ timeout: 60_000 });
const zoom = await page.evaluate(async () => {
  const canvas = document.querySelector("canvas[aria-label^=Timeline]");
  const long = [];
  const observer = new PerformanceObserver((list) => long.push(...list.getEntries().map((entry) => entry.duration)));
  observer.observe({ entryTypes: ["longtask"] });
  const box = canvas.getBoundingClientRect();
  for (let at = 0; at < 60; at += 1) {
    canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: at < 40 ? -100 : 100, clientX: box.left + 600, clientY: box.top + 60, bubbles: true, cancelable: true }));
    await new Promise((resolve) => requestAnimationFrame(resolve));
  }
  await new Promise((resolve) => setTimeout(resolve, 500));
  observer.disconnect();
  return { longTasks: long.length, longest: Math.max(0, ...long) };
});
const heap = (await session.send("Performance.enable"), await session.send("Performance.getMetrics")).metrics.find((one) => one.name === "JSHeapUsedSize").value / 1024 ** 2;

const file = join(folder, "bench.html");
let single = null;
if (records <= 20_000) {
  await hence(BINARY, folder, ["view", RUN, "--html", file]);
  const other = await browser.context.newPage();
  const before = Date.now();
  await other.goto(pathToFileURL(file).href);
  await other.locator("h1").waitFor({ timeout: 120_000 });
  single = { bytes: statSync(file).size, ms: Date.now() - before };
}
await browser.close();
const { viewing, memory, verified } = await memoryOf(server);
await server.stop();
if (process.argv[3] === undefined) rmSync(folder, { recursive: true, force: true });

const rows = [
  ["first contentful paint", `${Math.round(paint ?? -1)} ms`, paint !== null && paint <= BUDGETS.paint, `≤ ${BUDGETS.paint} ms`],
  ["record at the cursor in view", `${usable} ms`, null, ""],
  ["process of the tab, resident, records and timeline", `${Math.round(viewing)} MB`, viewing <= BUDGETS.memory, `≤ ${BUDGETS.memory} MB`],
  ["process of the tab, the most while it verifies the journal", `${Math.round(memory)} MB`, memory <= BUDGETS.memory, `≤ ${BUDGETS.memory} MB`],
  ["JavaScript heap", `${heap.toFixed(1)} MB`, null, ""],
  [`scrolling ${SCROLLS} frames: long tasks (> 50 ms)`, `${scroll.longTasks}, the longest ${Math.round(scroll.longest)} ms`, scroll.longTasks <= BUDGETS.longTasks, `≤ ${BUDGETS.longTasks}`],
  ["frames while scrolling", `median ${scroll.median.toFixed(1)} ms, 95 % ${scroll.p95.toFixed(1)} ms`, null, ""],
  ["zooming the timeline, 60 frames: long tasks", `${zoom.longTasks}, the longest ${Math.round(zoom.longest)} ms`, zoom.longTasks <= BUDGETS.longTasks, `≤ ${BUDGETS.longTasks}`],
  ["integrity recomputed in the page", verified, null, ""],
  [`largest of ${requests} responses`, `${largest.bytes} bytes (${largest.url.split("?")[0]})`, largest.bytes <= BUDGETS.response || largest.url.includes("/journal"), `≤ ${BUDGETS.response}`],
  ...(single === null ? [] : [["one file", `${single.bytes} bytes, open after ${single.ms} ms`, single.bytes < 5_000_000, "< 5 MB"]]),
];
console.log(`a run of ${records} records`);
for (const [what, figure, holds, budget] of rows) console.log(`${what.padEnd(54)} ${figure.padEnd(40)} ${holds === null ? "" : holds ? "ok" : "OVER"} ${budget}`);
if (rows.some(([, , holds]) => holds === false)) process.exit(1);
