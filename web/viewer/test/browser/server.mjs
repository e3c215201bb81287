// Measures the server on a very long run, without a browser: windows of records right after it started, and again; then live
// watchers: the memory for each, and how many of them hear of a new record.
// `node test/browser/server.mjs [RECORDS] [WATCHERS] [FOLDER]`: the run is made in FOLDER, or found there from an earlier call.
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { BINARY, startServer } from "./browser.mjs";
import { hence, longProblem } from "./store.mjs";

const records = Number(process.argv[2] ?? 1_000_000);
const watchers = Number(process.argv[3] ?? 1000);
const folder = process.argv[4] ?? mkdtempSync(join(tmpdir(), "hence-server-"));
const BUDGETS = { window: 50, watcher: 100 * 1024 };
const WINDOW = 100;
const ASKED = 40;
const RUN = `bench-${records}`;
const HEARD_MS_MAX = 60_000;
/** The most records that the program itself makes for this. */
const MADE_MAX = 5000;

function get(server, path) {
  const started = performance.now();
  return new Promise((resolve, reject) => {
    const request = http.get(`${server.origin}/api/v1${path}`, { headers: { authorization: `Bearer ${server.token}` }, agent: false }, (response) => {
      let bytes = 0;
      response.on("data", (part) => (bytes += part.length)).on("end", () => resolve({ ms: performance.now() - started, bytes, status: response.statusCode })).on("error", reject);
    });
    request.on("error", reject);
  });
}

/** Opens a live stream; `heard` counts the events with a name. */
function watch(server, path, heard) {
  return new Promise((resolve, reject) => {
    const request = http.get(`${server.origin}/api/v1${path}`, { headers: { authorization: `Bearer ${server.token}` }, agent: false }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`status ${response.statusCode}`));
      response.setEncoding("utf8");
      response.on("data", (text) => {
        for (const [, name] of text.matchAll(/^event: (\w+)/gm)) heard.set(name, (heard.get(name) ?? 0) + 1);
      });
      response.on("error", () => undefined);
      resolve(request);
    });
    request.on("error", reject);
  });
}

const resident = (pid) => Number(/^VmRSS:\s+([0-9]+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) * 1024;
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

/**
 * Makes a file longer by repeating its lines with their numbers counted on. The chain of such a journal does not hold, which a
 * window neither asks nor shows; making a million real records takes hours on a slow disk.
 */
function repeat(path, name, total) {
  const lines = readFileSync(path, "utf8").split("\n").filter((line) => line !== "");
  const number = new RegExp(`"${name}":([0-9]+)`);
  const last = Math.max(...lines.map((line) => Number(number.exec(line)?.[1] ?? 0)));
  // The header and the end stay what they are; what is between them is repeated.
  const middle = lines.slice(1, -1);
  const file = openSync(path, "a");
  for (let base = last; base < total; base += last - 1) {
    writeSync(file, `${middle.map((line) => line.replace(number, (_, at) => `"${name}":${Number(at) + base}`)).join("\n")}\n`);
  }
  closeSync(file);
}

mkdirSync(folder, { recursive: true });
const runFolder = join(folder, ".hence/runs", RUN);
if (!existsSync(join(runFolder, "trace.ndjson"))) {
  writeFileSync(join(folder, `${RUN}.json`), longProblem(RUN, Math.min(records, MADE_MAX)));
  await hence(BINARY, folder, ["run", `${RUN}.json`], [0, 1, 5]);
  if (records > MADE_MAX) {
    repeat(join(runFolder, "trace.ndjson"), "index", records);
    repeat(join(runFolder, "times.ndjson"), "record", records);
  }
}
if (!existsSync(join(folder, ".hence/runs/watched"))) {
  writeFileSync(join(folder, "watched.json"), longProblem("watched", 40));
  await hence(BINARY, folder, ["run", "watched.json"], [0, 1, 5]);
}
const size = statSync(join(folder, ".hence/runs", RUN, "trace.ndjson")).size;
const total = Number(JSON.parse(await hence(BINARY, folder, ["runs", "--json"])).runs.find((row) => row.run === RUN).records);

// The server is not told which run will be looked at, so nothing was read when the first request comes.
const server = await startServer(folder);
const places = [0, total - WINDOW, total >> 1, ...Array.from({ length: ASKED - 3 }, (_, at) => (at * 7919 * 131) % (total - WINDOW))];
const windows = [];
for (const from of places) windows.push(await get(server, `/runs/${RUN}/records?from=${from}&limit=${WINDOW}`));
const spans = [];
for (const from of places) spans.push(await get(server, `/runs/${RUN}/spans?from=${from}&limit=${WINDOW}`));
const wrong = [...windows, ...spans].find((one) => one.status !== 200);
if (wrong !== undefined) throw new Error(`status ${wrong.status}`);

const heard = new Map();
const before = resident(server.pid);
const open = [];
for (let at = 0; at < watchers; at += 1) open.push(await watch(server, "/runs/watched/events", heard));
while ((heard.get("status") ?? 0) < watchers) await pause(50);
const during = resident(server.pid);
const asked = performance.now();
await hence(BINARY, folder, ["checkpoint", "watched", `c${Date.now()}`]);
let busy = 0;
while ((heard.get("record") ?? 0) < watchers && performance.now() - asked < HEARD_MS_MAX) {
  // A request of somebody else meanwhile.
  busy = Math.max(busy, (await get(server, `/runs/${RUN}/records?from=${total >> 2}&limit=${WINDOW}`)).ms);
  await pause(20);
}
const spread = performance.now() - asked;
const after = resident(server.pid);
for (const request of open) request.destroy();
await server.stop();
if (process.argv[4] === undefined) rmSync(folder, { recursive: true, force: true });

const each = (Math.max(during, after) - before) / watchers;
const slowest = Math.max(...windows.map((one) => one.ms));
const rows = [
  [`first window of ${WINDOW} records after the start`, `${windows[0].ms.toFixed(1)} ms`, windows[0].ms <= BUDGETS.window, `≤ ${BUDGETS.window} ms`],
  ["the last window, the one in the middle", `${windows[1].ms.toFixed(1)} ms, ${windows[2].ms.toFixed(1)} ms`, Math.max(windows[1].ms, windows[2].ms) <= BUDGETS.window, `≤ ${BUDGETS.window} ms`],
  [`${ASKED} windows anywhere`, `median ${median(windows.map((one) => one.ms)).toFixed(1)} ms, slowest ${slowest.toFixed(1)} ms`, slowest <= BUDGETS.window, `≤ ${BUDGETS.window} ms`],
  [`${ASKED} windows of the timeline anywhere`, `median ${median(spans.map((one) => one.ms)).toFixed(1)} ms, slowest ${Math.max(...spans.map((one) => one.ms)).toFixed(1)} ms`, null, ""],
  [`memory for each of ${watchers} watchers`, `${(each / 1024).toFixed(1)} KiB`, each <= BUDGETS.watcher, "≤ 100 KiB"],
  ["watchers that heard of a new record", `${heard.get("record") ?? 0}, the last after ${Math.round(spread)} ms`, (heard.get("record") ?? 0) >= watchers, `${watchers}`],
  ["a window asked for meanwhile, slowest", `${busy.toFixed(1)} ms`, null, ""],
];
console.log(`a run of ${total} records, ${(size / 1e6).toFixed(0)} MB`);
for (const [what, figure, holds, budget] of rows) console.log(`${what.padEnd(54)} ${figure.padEnd(40)} ${holds === null ? "" : holds ? "ok" : "OVER"} ${budget}`);
if (rows.some(([, , holds]) => holds === false)) process.exit(1);
