// A browser that nobody looks into. Playwright has the browser keep the body of every response of a page, up to 100 MB of them in the memory of the
// tab, so that a test may ask for it; memory is measured without that.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { CHROMIUM, FLAGS } from "./browser.mjs";

/** Starts a browser with one page, whose window asks for nothing but the results of expressions. */
export async function openPlain() {
  const profile = mkdtempSync(join(tmpdir(), "hence-plain-"));
  const child = spawn(CHROMIUM, [...FLAGS, `--user-data-dir=${profile}`, "--remote-debugging-pipe", "--window-size=1280,800"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
  const waiting = new Map();
  let [number, text] = [0, ""];
  child.stdio[4].setEncoding("utf8").on("data", (part) => {
    const messages = (text + part).split("\0");
    text = messages.pop();
    for (const message of messages.map((one) => JSON.parse(one))) {
      const [resolve, reject] = waiting.get(message.id) ?? [];
      waiting.delete(message.id);
      if (message.error === undefined) resolve?.(message.result);
      else reject?.(new Error(message.error.message));
    }
  });
  const ask = (method, params = {}, sessionId = undefined) => new Promise((resolve, reject) => {
    number += 1;
    waiting.set(number, [resolve, reject]);
    child.stdio[3].write(`${JSON.stringify({ id: number, method, params, sessionId })}\0`);
  });
  const { targetId } = await ask("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await ask("Target.attachToTarget", { targetId, flatten: true });
  return {
    goto: (url) => ask("Page.navigate", { url }, sessionId),
    evaluate: async (expression) => (await ask("Runtime.evaluate", { expression, returnByValue: true }, sessionId)).result.value,
    close: async () => {
      const ended = new Promise((resolve) => child.on("close", resolve));
      await ask("Browser.close").catch(() => child.kill());
      await ended;
      rmSync(profile, { recursive: true, force: true });
    },
  };
}
