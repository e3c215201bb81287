/** The command `hence-verify`: reads files with Node and prints reports. */

import { createReadStream, readdirSync, statSync } from "node:fs";
import { lstat, readFile } from "node:fs/promises";
import { webcrypto } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";

import { checkBundle } from "./bundle.js";
import type { Report } from "./report.js";
import { sha256Text } from "./sha256.js";
import { encodeUtf8 } from "./json.js";
import { parseHead, verify, type Sources } from "./verify.js";

// Node 18 has WebCrypto, but not as a global.
if (globalThis.crypto === undefined) Object.defineProperty(globalThis, "crypto", { value: webcrypto });

const FILE_BYTES_MAX = 256 * 1024 * 1024;
const USAGE = `usage: hence-verify TARGET [--problem FILE] [--anchor HASH:COUNT] [--json]
       hence-verify --batch

TARGET is the folder of a run, an exported bundle, or a journal's file.
--batch reads a JSON object {"target", "problem", "anchor"} from each line of standard input and prints a report for each.
Exit codes: 0 everything that was checked holds, 1 something is broken, 2 usage or unreadable.
`;

interface Request {
  target: string;
  problem?: string | undefined;
  anchor?: string | undefined;
}

class Unreadable extends Error {}

async function file(path: string): Promise<Uint8Array | string | null> {
  try {
    const found = await lstat(path);
    // A link could lead anywhere: a bundle may come from somebody else.
    if (!found.isFile()) return `${path} is no plain file`;
    if (found.size > FILE_BYTES_MAX) return `${path} is larger than this verifier reads`;
    return await readFile(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ENOTDIR" ? null : `${path}: ${(error as Error).message}`;
  }
}

async function whole(path: string): Promise<Uint8Array | null> {
  const found = await file(path);
  if (typeof found === "string") throw new Unreadable(found);
  return found;
}

function stream(path: string): AsyncIterable<Uint8Array> {
  return createReadStream(path, { highWaterMark: 1024 * 1024 });
}

/** Returns the folder name of a run in a store, or null for an id whose name this tool does not make. */
async function runFolder(id: string): Promise<string> {
  let name = "";
  for (const [at, byte] of encodeUtf8(id).entries()) {
    const char = String.fromCharCode(byte);
    const isDot = char === "." && at > 0 && at < encodeUtf8(id).length - 1;
    name += /[a-z0-9_-]/.test(char) || isDot ? char : `%${byte.toString(16).padStart(2, "0")}`;
  }
  return name.length > 200 ? `%%${await sha256Text(id)}` : name;
}

async function check(request: Request): Promise<Report> {
  const { target } = request;
  let isFolder: boolean;
  try {
    isFolder = statSync(target).isDirectory();
  } catch {
    throw new Unreadable(`${target}: no such file or folder`);
  }
  const folder = isFolder ? target : null;
  const path = folder === null ? target : join(folder, "trace.ndjson");
  if (folder !== null && !readdirSync(folder).includes("trace.ndjson")) throw new Unreadable(`${target} has no trace.ndjson`);
  const manifest = folder === null ? null : await whole(join(folder, "bundle.json"));
  const store = folder !== null && manifest === null && basename(dirname(join(folder, "x", ".."))) === "runs" ? dirname(dirname(folder)) : null;
  const anchor = request.anchor === undefined ? null : parseHead(request.anchor);
  if (request.anchor !== undefined && anchor === null) throw new Unreadable(`expected HASH:COUNT, found ${request.anchor}`);
  const problem = request.problem ?? (folder === null ? undefined : join(folder, "problem.json"));
  const sources: Sources = { journal: stream(path), anchor, problem: problem === undefined ? null : await whole(problem) };
  if (request.problem !== undefined && sources.problem === null) throw new Unreadable(`${request.problem}: no such file`);
  if (folder !== null) {
    sources.document = async (name) => whole(join(folder, name));
    sources.blob = async (hash) => {
      const inBundle = await file(join(folder, "blobs", hash));
      if (inBundle !== null || store === null) return inBundle;
      return file(join(store, "blobs", hash.slice(0, 2), hash.slice(2)));
    };
  }
  if (store !== null) {
    sources.run = async (id) => {
      const journal = join(store, "runs", await runFolder(id), "trace.ndjson");
      const found = await lstat(journal).catch(() => null);
      return found?.isFile() === true ? stream(journal) : null;
    };
  }
  const report = await verify(sources, { target });
  if (manifest === null || folder === null) return report;
  const items = [...await checkBundle(manifest, { read: (name) => file(join(folder, name)) }, report.head), ...report.items];
  return { ...report, items, holds: report.holds && items.every((item) => item.verdict !== "broken") };
}

const MARKS = { holds: "holds", broken: "broken", not_checked: "not checked" } as const;

/** Control characters of a record must not reach the terminal. */
function plain(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function print(report: Report): string {
  const lines = [`${report.target}: ${report.holds ? `${report.records} records hold` : `broken, ${report.intact} of ${report.records} records intact`}`];
  for (const level of report.levels) {
    const place = level.line === null ? "" : `  at record ${level.line}`;
    lines.push(`  ${level.level.padEnd(8)}  ${MARKS[level.verdict]}${place}`);
    for (const one of level.reasons) {
      const values = [one.expected === null ? "" : `expected ${one.expected}`, one.found === null ? "" : `found ${one.found}`];
      lines.push(`    ${[one.member === null ? one.code : `${one.code}:${one.member}`, ...values].filter(Boolean).join("  ")}`);
    }
    for (const one of level.unchecked) lines.push(`    not checked: ${one}`);
  }
  for (const item of report.items) lines.push(`  ${item.kind} ${item.name}  ${MARKS[item.verdict]}  ${item.detail}`);
  if (report.head !== null) lines.push(`head ${report.head}`);
  if (report.torn_bytes > 0) lines.push(`the last line has no line feed: ${report.torn_bytes} bytes, as an interrupted write leaves them`);
  lines.push("not shown by these checks:", ...report.not_shown.map((one) => `  ${one}`));
  return `${lines.map(plain).join("\n")}\n`;
}

async function batch(): Promise<number> {
  let code = 0;
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    let report: unknown;
    try {
      report = await check(JSON.parse(line) as Request);
      if (!(report as Report).holds) code = 1;
    } catch (error) {
      report = { error: (error as Error).message };
      code = 2;
    }
    process.stdout.write(`${JSON.stringify(report)}\n`);
  }
  return code;
}

export async function main(args: string[]): Promise<number> {
  const request: Partial<Request> = {};
  let isJson = false;
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] as string;
    if (arg === "--batch" && args.length === 1) return batch();
    if (arg === "--json") isJson = true;
    else if (arg === "--problem") request.problem = args[(at += 1)];
    else if (arg === "--anchor") request.anchor = args[(at += 1)];
    else if (arg === "--help" || arg === "-h") {
      process.stdout.write(USAGE);
      return 0;
    } else if (!arg.startsWith("-") && request.target === undefined) request.target = arg;
    else return usage();
  }
  if (request.target === undefined) return usage();
  try {
    const report = await check(request as Request);
    process.stdout.write(isJson ? `${JSON.stringify(report, null, 2)}\n` : print(report));
    return report.holds ? 0 : 1;
  } catch (error) {
    process.stderr.write(`hence-verify: ${(error as Error).message}\n`);
    return 2;
  }
}

function usage(): number {
  process.stderr.write(USAGE);
  return 2;
}
