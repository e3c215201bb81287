// Measures pages in one file side by side: `node test/browser/files.mjs NAME=FILE…`. For each: its size, the first paint, the
// time until the page rests, the work that blocked it, the elements it made and the memory of its tab. A page that does not
// rest within the limit is said to hang; nothing is known of it beyond that.
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { missing, openBrowser, tabMemory } from "./browser.mjs";

const REST_MS = 1000;
const LIMIT_MS = Number(process.env.LIMIT_MS ?? 60_000);
const why = await missing();
if (why !== null) {
  console.log(`skipped: ${why}`);
  process.exit(0);
}

/** Notes long tasks from the first moment on. */
function watchTasks() {
  window.longTasks = [];
  new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map((one) => ({ end: one.startTime + one.duration, ms: one.duration })))).observe({ entryTypes: ["longtask"] });
}

async function measure(file) {
  // A browser of its own: the memory of one page is not that of another.
  const browser = await openBrowser();
  const page = await browser.context.newPage();
  await page.addInitScript(watchTasks);
  const url = pathToFileURL(resolve(file)).href;
  const measured = (async () => {
    await page.goto(url, { timeout: LIMIT_MS, waitUntil: "load" });
    return page.evaluate(async (rest) => {
      const last = () => Math.max(0, ...window.longTasks.map((one) => one.end));
      while (performance.now() - last() < rest) await new Promise((done) => setTimeout(done, 100));
      const paint = performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null;
      const blocked = window.longTasks.reduce((sum, one) => sum + one.ms, 0);
      return { paint, rested: last(), tasks: window.longTasks.length, blocked, longest: Math.max(0, ...window.longTasks.map((one) => one.ms)), elements: document.querySelectorAll("*").length };
    }, REST_MS);
  })();
  const timer = new Promise((done) => setTimeout(() => done(null), LIMIT_MS));
  const found = await Promise.race([measured.catch(() => null), timer]);
  const memory = tabMemory(process.pid);
  measured.catch(() => undefined);
  await browser.close();
  return { bytes: statSync(file).size, memory, found };
}

const ms = (value) => (value === null ? "—" : `${Math.round(value)} ms`);
console.log("| page | file | first paint | rests after | long tasks | the longest | elements | tab |\n|---|---|---|---|---|---|---|---|");
for (const argument of process.argv.slice(2)) {
  const [name, file] = argument.split("=");
  const { bytes, memory, found } = await measure(file);
  const rest = found === null ? `| hangs: no rest within ${LIMIT_MS / 1000} s | | | | |` : `| ${ms(found.paint)} | ${ms(found.rested)} | ${found.tasks}, ${ms(found.blocked)} in all | ${ms(found.longest)} | ${found.elements} |`;
  console.log(`| ${name} | ${(bytes / 1e6).toFixed(2)} MB ${rest} ${Math.round(memory)} MB |`);
}
