// Builds dist/: the page as one module, its styles, and each worker as one classic script. File names are fixed and nothing in
// them depends on the machine, so that the committed files can be compared with a new build.
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { svelte } from "@sveltejs/vite-plugin-svelte";
import { build } from "vite";

/** The most that the first load of the page may weigh, compressed. */
const FIRST_LOAD_BYTES_MAX = 200 * 1024;

const root = dirname(fileURLToPath(import.meta.url));
const dist = join(root, "dist");

function config(entry, name, format, plugins) {
  return {
    root,
    configFile: false,
    logLevel: "warn",
    publicDir: false,
    plugins,
    define: { "process.env.NODE_ENV": '"production"' },
    build: {
      outDir: join(dist, "assets"),
      emptyOutDir: false,
      target: "es2022",
      modulePreload: false,
      cssCodeSplit: false,
      reportCompressedSize: false,
      rolldownOptions: {
        input: join(root, entry),
        output: { format, entryFileNames: `${name}.js`, assetFileNames: `${name}.[ext]`, codeSplitting: false, minify: true },
      },
    },
  };
}

rmSync(dist, { recursive: true, force: true });
mkdirSync(join(dist, "assets"), { recursive: true });
await build(config("src/main.ts", "app", "es", [svelte({ configFile: false, compilerOptions: { runes: true } })]));
await build(config("src/workers/verify.ts", "worker-verify", "iife", []));
await build(config("src/workers/layout.ts", "worker-layout", "iife", []));
cpSync(join(root, "index.html"), join(dist, "index.html"));

let total = 0;
for (const name of ["index.html", ...readdirSync(join(dist, "assets")).sort().map((file) => `assets/${file}`)]) {
  const path = join(dist, name);
  const bytes = readFileSync(path);
  if (name.endsWith(".js")) {
    // The single file inlines the scripts: neither sequence may end or comment out the element that holds them.
    const text = bytes.toString("utf8").replace(/<\/(script)/gi, "<\\/$1").replace(/<!--/g, "<\\!--");
    writeFileSync(path, text);
  }
  const packed = gzipSync(readFileSync(path), { level: 9 }).length;
  total += packed;
  console.log(`${name.padEnd(26)} ${String(bytes.length).padStart(8)} bytes ${String(packed).padStart(8)} compressed`);
}
console.log(`first load and workers: ${total} bytes compressed, at most ${FIRST_LOAD_BYTES_MAX}`);
if (total > FIRST_LOAD_BYTES_MAX) process.exit(1);
