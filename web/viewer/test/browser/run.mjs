// Opens every view in a real browser, on runs that the program itself made, and acts through the page as a person would.
// `SCREENSHOTS=DIR` also writes a picture of each view. Without a browser or a program it says so and ends with 0.
import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

import { BINARY, missing, openBrowser, openPage, startServer } from "./browser.mjs";
import { CAN_SOLVE, copyStore, hence, HOSTILE, makeStore, ROOT } from "./store.mjs";

const why = await missing();
if (why !== null) {
  console.log(`skipped: ${why}`);
  process.exit(0);
}

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PICTURES = process.env.SCREENSHOTS ?? null;
const WAIT = { timeout: 20_000 };
let store;
let server;
let browser;

before(async () => {
  store = await makeStore(BINARY);
  server = await startServer(store.folder);
  browser = await openBrowser();
});

after(async () => {
  await browser?.close();
  await server?.stop();
  store?.remove();
});

/** Opens an address with a session. The token is used once per page; the cookie stays. */
async function open(to, from = server) {
  const { page, problems } = await openPage(browser.context, from.origin);
  await page.goto(from.address(`#token=${encodeURIComponent(from.token)}&to=${encodeURIComponent(to)}`));
  await page.locator("main").waitFor(WAIT);
  return { page, problems };
}

async function picture(page, name) {
  if (PICTURES === null) return;
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`) });
}

/** Serious findings of axe-core. It is run as a function of the page, which the Content-Security-Policy of the page does not touch. */
async function findings(page) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return violations.filter((one) => one.impact === "serious" || one.impact === "critical").map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 120)).join(" | ")}`);
}

/** Waits until no answer is outstanding and what came is drawn. The stream of events never ends, so the network never idles. */
async function settled(page) {
  await page.waitForFunction(() => document.querySelectorAll("main [role=status] .pulse").length === 0, undefined, WAIT);
  await page.waitForTimeout(500);
}

const VIEWS = [
  ["runs", "/runs", "h1:has-text('Runs')"],
  ["answer", "/run/triage", "text=5 error lines"],
  ["answer-failed", "/run/no-table", "text=There is no answer"],
  ["answer-broken", "/run/tampered", ".status:has-text('broken journal')"],
  ["story", "/run/triage?view=story", ".unit"],
  ["timeline", "/run/refund-41?view=timeline", "canvas[aria-label^=Timeline]"],
  ["record", "/run/refund-41/step/1", "text=What does this customer want?"],
  ["state", "/run/vendor-choice/step/8?view=state&path=%2Fstep_index", ".uplot"],
  ["lineage", "/run/triage/step/4?view=lineage", "[data-node]"],
  ["calls", "/run/refund-41?view=calls", ".call:has-text('orders.find')"],
  ["gaps", "/run/refund-42?view=gaps", "text=What is not established"],
  ["policies", "/run/contractor-access?view=policies", "text=Only passed is compliance"],
  ["review", "/run/triage?view=review", "h2:has-text('Threads')"],
  ["integrity", "/run/triage?view=integrity", "text=records hold"],
  ["integrity-reported", "/run/reported?view=integrity", "text=3 records hold"],
  ["solve-integrity", "/run/first-failure?view=integrity", "text=13 records hold"],
  ["integrity-broken", "/run/tampered?view=integrity", "text=Broken at record 4"],
  ["waiting", "/waiting", "text=Refund the order?"],
  ["compare", "/compare?left=vendor-choice&right=vendor-choice-fork", "text=Records side by side"],
  ["solve", "/run/first-failure", "text=its connection pool was exhausted"],
  ["solve-turn", "/run/first-failure/step/10", "text=Which service failed first"],
  ["solve-block", "/run/first-failure/step/9", "text=llm_query_batched"],
  ["solve-calls", "/run/first-failure?view=calls", ".call:has-text('rlm_query')"],
  ["answer-blocked", "/run/release-1", ".verdict:has-text('blocked a step')"],
  ["answer-undecided", "/run/payout-7", "text=say whether it happened"],
];

for (const [name, to, sign] of VIEWS) {
  const skip = name.startsWith("solve") && !CAN_SOLVE ? "HENCE_MONTY does not name the worker of `hence solve`" : false;
  test(`the view ${name} opens, light and dark, without errors and serious findings`, { skip }, async () => {
    const { page, problems } = await open(to);
    await page.locator(sign).first().waitFor(WAIT);
    await settled(page);
    await picture(page, name);
    assert.deepEqual(await findings(page), []);
    // Only the parts of a view scroll: a document taller than its window would move the page away and leave nothing.
    assert.equal(await page.evaluate(() => document.documentElement.scrollHeight - innerHeight), 0, "the document is as tall as the window");
    await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
    await page.locator("html[data-theme=dark]").waitFor(WAIT);
    assert.deepEqual(await findings(page), []);
    assert.equal(await page.evaluate(() => document.getAnimations().length), 0, "reduced motion");
    if (name === "timeline" || name === "answer") await picture(page, `${name}-dark`);
    assert.deepEqual(problems, []);
    await page.close();
  });
}

test("the token leaves the address, and the cookie is not for scripts", async () => {
  const { page } = await open("/run/triage");
  await page.locator("text=5 error lines").first().waitFor(WAIT);
  assert.equal(new URL(page.url()).hash, "#/run/triage");
  assert.equal(await page.evaluate(() => document.cookie), "");
  await page.close();
});

test("the keyboard moves the cursor, opens dialogs and goes back", async () => {
  const { page, problems } = await open("/run/vendor-choice/step/3");
  await page.locator("h2:has-text('AcquireEvidence')").waitFor(WAIT);
  const step = async () => Number(/\/step\/([0-9]+)/.exec(page.url())?.[1] ?? -1);
  await page.keyboard.press("j");
  assert.equal(await step(), 4);
  await page.keyboard.press("k");
  await page.keyboard.press("k");
  assert.equal(await step(), 2);
  await page.keyboard.press("J");
  assert.ok((await step()) > 2, "the next unit of the story");
  await page.keyboard.press("?");
  await page.locator("dialog[open]:has-text('next, previous record')").waitFor(WAIT);
  await page.keyboard.press("Escape");
  await page.keyboard.press("g");
  await page.keyboard.type("8");
  await page.keyboard.press("Enter");
  await page.waitForURL(/step\/8/, WAIT);
  // The address is followed a moment later; keys act on the record that is shown.
  await page.locator(".record.here:has-text('8')").waitFor(WAIT);
  await page.locator("dialog[open]").waitFor({ state: "hidden", ...WAIT });
  await page.keyboard.press("d");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("d");
  await page.waitForURL(/view=state/, WAIT);
  await page.locator("text=compared with record 8").waitFor(WAIT);
  await page.keyboard.press("/");
  await page.keyboard.type("latency");
  await page.locator("dialog[open] input").waitFor(WAIT);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await page.waitForURL((url) => url.hash === "#/run/vendor-choice", WAIT);
  await page.keyboard.press("Escape");
  await page.waitForURL(/#\/runs/, WAIT);
  assert.deepEqual(problems, []);
  await page.close();
});

test("runs are found as one types, and facets narrow them", async () => {
  const { page } = await open("/runs");
  await page.locator("text=vendor-choice").first().waitFor(WAIT);
  await page.keyboard.press("/");
  await page.keyboard.type("checkout outage");
  await page.locator("tbody tr").first().waitFor(WAIT);
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1, undefined, WAIT);
  assert.match(page.url(), /search=checkout/);
  await page.fill("input[type=search]", "no run is called like this");
  await page.locator("text=No run matches").waitFor(WAIT);
  await page.close();
});

test("the state is opened where it changed, and a path shows its values over time", async () => {
  const { page } = await open("/run/vendor-choice/step/8?view=state");
  await page.locator(".line.lit").first().waitFor(WAIT);
  await page.locator("button.key:has-text('step_index')").click();
  await page.locator(".uplot canvas").waitFor(WAIT);
  assert.match(page.url(), /path=%2Fstep_index/);
  await page.locator("input[type=range]").fill("2");
  await page.locator("h2:has-text('State after record 2')").waitFor(WAIT);
  await page.close();
});

test("the hash of a record is computed again in the page", async () => {
  const { page } = await open("/run/vendor-choice/step/4");
  await page.locator("summary:has-text('Bytes and hash')").click();
  await page.locator("text=✓ equal").waitFor(WAIT);
  await page.close();
});

test("a model's rejected reply, the demand for another one and the used reply are a conversation", async () => {
  const { page } = await open("/run/refund-41/step/1");
  for (const text of ["You sort the mail of a shop", "rejected", "Reply again", "used"]) await page.locator(`text=${text}`).first().waitFor(WAIT);
  await page.close();
});

test("a tampered journal turns the integrity view red and says where trust ends", async () => {
  const { page } = await open("/run/tampered?view=integrity");
  await page.locator("[role=alert]:has-text('Broken at record 4')").waitFor(WAIT);
  await page.locator("text=Records 0 to 3 hold").first().waitFor(WAIT);
  await page.locator("text=record_hash_mismatch").first().waitFor(WAIT);
  await page.goto(server.address("#/run/tampered"));
  await page.locator("text=Trust ends at record 4").waitFor(WAIT);
  await page.close();
});

test("an anchor of another journal is not found", async () => {
  const { page } = await open("/run/triage?view=integrity");
  await page.locator("text=records hold").first().waitFor(WAIT);
  await page.fill("input[placeholder='HASH:COUNT']", `${"0".repeat(64)}:13`);
  await page.locator("button:has-text('Check against it')").click();
  await page.locator("tr:has-text('anchored') >> text=broken").waitFor(WAIT);
  await page.close();
});

test("hostile texts stay texts, in every view", async () => {
  for (const view of ["answer", "story", "timeline", "record", "state", "lineage", "gaps", "review"]) {
    const { page, problems } = await open(`/run/hostile/step/3?view=${view}`);
    await settled(page);
    assert.equal(await page.evaluate(() => window.pwned), undefined, view);
    assert.equal(await page.evaluate(() => document.querySelectorAll("main img, main script").length), 0, view);
    const text = await page.evaluate(() => document.body.innerText);
    assert.doesNotMatch(text, /[\u202a-\u202e\u001b\u200b]/u, `${view} shows hidden characters by number`);
    assert.deepEqual(problems, [], view);
    await page.close();
  }
  const { page } = await open("/run/hostile");
  await page.locator("text=<script>window.pwned=1</script>").first().waitFor(WAIT);
  assert.ok(HOSTILE.includes("\u202e"));
  await page.locator("text=U+202E").first().waitFor(WAIT);
  await page.close();
});

test("a text of 10 MB does not fill the page", async () => {
  const { page, problems } = await open("/run/long");
  await page.locator("main >> text=xxxx").first().waitFor(WAIT);
  const size = await page.evaluate(() => document.body.innerText.length);
  assert.ok(size < 100_000, `${size} characters`);
  await page.goto(server.address("#/run/long/step/1?view=state"));
  await page.locator("h2:has-text('State after record 1')").waitFor(WAIT);
  assert.deepEqual(problems, []);
  await page.close();
});

test("a question is answered through the page, and the record has the name of the token", async () => {
  const { folder } = store;
  const { page, problems } = await open("/waiting?run=refund-43");
  await page.locator("text=Refund the order?").first().waitFor(WAIT);
  await page.locator("text=refund (annoyed): order of 120.5 EUR").first().waitFor(WAIT);
  await page.locator("button:has-text('Answer as')").click();
  await page.locator("[role=alert]:has-text('missing')").waitFor(WAIT);
  await page.locator("fieldset:has-text('Refund') >> label:has-text('yes')").click();
  await page.locator("label:has-text('Amount in EUR') >> input").fill("120.5");
  await page.locator("label:has-text('Why') >> textarea").fill("It broke on the way.");
  await page.locator("button:has-text('Answer as')").click();
  await page.locator("text=✓ Recorded").waitFor(WAIT);
  await page.locator("code:has-text('hence resume refund-43')").first().waitFor(WAIT);
  const name = await page.evaluate(async () => (await (await fetch("/api/v1/session")).json()).name);
  // Another process continues the run; the page that watches it shows the new records and the new status.
  await page.goto(server.address("#/run/refund-43"));
  await page.locator("h1:has-text('refund-43')").waitFor(WAIT);
  await hence(BINARY, folder, ["resume", "refund-43"]);
  await page.locator(".status:has-text('completed')").first().waitFor(WAIT);
  const shown = JSON.parse(await hence(BINARY, folder, ["show", "refund-43", "approve", "--json"]));
  assert.equal(shown.output.produced.by, name);
  assert.deepEqual(shown.output.produced.value, { amount: 120.5, note: "It broke on the way.", refund: true });
  assert.deepEqual(problems, []);
  await page.close();
});

test("a comment, an item and a decision are recorded through the page, by the rules of the command line", async () => {
  const folder = copyStore(store.folder);
  const own = await startServer(folder);
  const { page } = await open("/run/triage/step/3", own);
  await page.locator("h2:has-text('errors')").waitFor(WAIT);
  await page.keyboard.press("c");
  await page.locator("dialog[open] textarea").fill("Which level counts as an error?");
  await page.locator("dialog[open] button.primary").click();
  await page.locator("text=comment recorded").waitFor(WAIT);
  await page.goto(own.address("#/run/triage?view=review"));
  await page.locator("text=Which level counts as an error?").first().waitFor(WAIT);
  await page.keyboard.press("c");
  await page.locator("dialog[open] button:has-text('Item to settle')").click();
  await page.locator("dialog[open] label:has-text('Title') >> input").fill("Check the log");
  await page.locator("dialog[open] button.primary").click();
  await page.locator("text=Check the log").first().waitFor(WAIT);
  // An approval is refused while a blocking item is open, with the reason of the command line.
  await page.locator("button:has-text('Approve…')").click();
  await page.locator(".decide form button.primary").click();
  await page.locator(".decide [role=alert]").waitFor(WAIT);
  await page.locator(".decide button:has-text('Cancel')").first().click();
  await page.locator(".item button:has-text('Resolve…')").click();
  await page.locator(".item form input").fill("Compared with the service's own count.");
  await page.locator(".item form button.primary").click();
  await page.locator(".item .status:has-text('resolved')").waitFor(WAIT);
  await page.locator("button:has-text('Request changes…')").click();
  await page.locator(".decide form input").fill("Cite the time zone.");
  await page.locator(".decide form button.primary").click();
  await page.locator("text=changes requested").first().waitFor(WAIT);
  await page.locator("h3:has-text('Hand-off') + button").click();
  await page.locator(".text-box").waitFor(WAIT);
  await picture(page, "review");
  const status = JSON.parse(await hence(BINARY, folder, ["review", "status", "triage", "--json"], [0, 1]));
  assert.match(JSON.stringify(status), /changes_requested|request_changes|request-changes/);
  await page.close();
  await own.stop();
});

test("a run is approved through the page once nothing stands against it", async () => {
  const folder = copyStore(store.folder);
  const own = await startServer(folder);
  const { page } = await open("/run/vendor-choice?view=review", own);
  await page.locator("button:has-text('Open a review')").click();
  await page.locator("h2:has-text('Decision')").waitFor(WAIT);
  // Everything that stands against it is settled on the command line; the page then approves.
  const { obstacles } = await page.evaluate(async () => (await fetch("/api/v1/runs/vendor-choice/review")).json());
  assert.notEqual(obstacles.length, 0);
  for (const { subject: id } of obstacles) {
    // A gap is waived, a result accepted; the other command refuses what it is not for.
    await hence(BINARY, folder, ["review", "waive", "vendor-choice", id, "--note", "looked at by hand", "--author", "bob"], [0, 1, 2]);
    await hence(BINARY, folder, ["review", "check", "vendor-choice", "accepted", id, "--note", "looked at by hand", "--author", "bob"], [0, 1, 2]);
  }
  await page.reload();
  await page.locator("h2:has-text('Decision')").waitFor(WAIT);
  await page.locator("button:has-text('Approve…')").click();
  await page.locator(".decide form button.primary").click();
  await page.locator(".status:has-text('approved')").first().waitFor(WAIT);
  await page.close();
  await own.stop();
});

test("new records appear without moving what is being read", async () => {
  const { folder } = store;
  await hence(BINARY, folder, ["answer", "refund-44", "approve", "--value", '{"refund": false, "note": "no"}']);
  const { page } = await open("/run/refund-44/step/1");
  await page.locator("text=What does this customer want?").first().waitFor(WAIT);
  await hence(BINARY, folder, ["resume", "refund-44"]);
  await page.locator("button:has-text('go to now')").waitFor(WAIT);
  assert.match(page.url(), /step\/1/);
  await page.locator("button:has-text('go to now')").click();
  await page.waitForURL(/step\/6/, WAIT);
  await page.close();
});

test("an artifact, a policy and a gap are commented on through the page", async () => {
  const folder = copyStore(store.folder);
  const own = await startServer(folder);
  const { page, problems } = await open("/run/contractor-access?view=policies", own);
  const comment = async (text) => {
    await page.locator("dialog[open] textarea").waitFor(WAIT);
    await page.locator("dialog[open] textarea").press("End");
    await page.locator("dialog[open] textarea").pressSequentially(text);
    await page.locator("dialog[open] button.primary").click();
    await page.locator("text=comment recorded").waitFor(WAIT);
    await page.locator("dialog[open]").waitFor({ state: "detached", ...WAIT }).catch(() => undefined);
  };
  await page.locator(".policy >> button:has-text('Comment…')").first().click();
  await page.locator("dialog[open] select >> option:has-text('policy')").first().waitFor({ state: "attached", ...WAIT });
  await comment("Is this rule for us?");
  await page.goto(own.address("#/run/contractor-access?view=gaps"));
  await page.locator(".gap >> button:has-text('Comment…')").first().click();
  await page.locator("dialog[open] select >> option:has-text('gap')").first().waitFor({ state: "attached", ...WAIT });
  await comment("Who closes it?");
  await page.goto(own.address("#/run/contractor-access?view=lineage&node=artifact%3Aproblem"));
  await page.locator("button:has-text('Comment…')").first().click();
  await page.locator("dialog[open] select >> option:has-text('artifact problem')").waitFor({ state: "attached", ...WAIT });
  await comment("Where is it from?");
  const { threads } = await page.evaluate(async () => (await fetch("/api/v1/runs/contractor-access/review")).json());
  assert.equal(threads.length, 3);
  assert.equal(threads.filter((one) => one.target?.type === "policy").length, 1);
  assert.match(threads.find((one) => one.body.endsWith("Who closes it?")).body, /^gap /);
  assert.equal(threads.find((one) => one.body === "Where is it from?").target.id, "problem");
  assert.deepEqual(problems, []);
  await page.close();
  await own.stop();
});

test("a run that records what an agent reports is a run of this store", async () => {
  const { page, problems } = await open("/run/reported");
  await page.locator("text=What an agent reports").waitFor(WAIT);
  assert.equal(await page.locator("text=not a run of this store").count(), 0);
  await page.goto(server.address("#/run/reported?view=timeline"));
  await page.locator("h3:has-text('At the cursor: record 2')").waitFor(WAIT);
  assert.deepEqual(problems, []);
  await page.close();
});

test("two runs differ by their tokens and their cost, to the last digit", async () => {
  const { page } = await open("/compare?left=refund-41&right=refund-42");
  const row = (name) => page.locator(".figures tr", { has: page.locator(`th:has-text("${name}")`) }).locator("td").last();
  await row("tokens").waitFor(WAIT);
  assert.match(await row("tokens").innerText(), /^[+−][0-9]+$/);
  assert.match(await row("cost").innerText(), /^[+−]0\.[0-9]+ EUR$/);
  await page.close();
});

test("the cost of a call is in its list without being cut off", async () => {
  const { page } = await open("/run/refund-41?view=calls");
  const cost = page.locator(".call:has-text('mail.judge') span").last();
  await cost.waitFor(WAIT);
  assert.match(await cost.innerText(), /^0\.[0-9]+ EUR$/);
  assert.ok(await cost.evaluate((one) => one.scrollWidth <= one.clientWidth), "all of the cost is in view");
  await page.close();
});

test("a graph of steps can be seen whole", async () => {
  const { page } = await open("/run/contract?view=lineage");
  await page.locator("[data-node]").first().waitFor(WAIT);
  await page.locator("button:has-text('fit')").click();
  await page.waitForTimeout(300);
  const outside = await page.evaluate(() => {
    const stage = document.querySelector("[data-node]").closest("svg").getBoundingClientRect();
    return [...document.querySelectorAll("[data-node]")].map((one) => one.getBoundingClientRect()).filter((box) => box.left < stage.left - 1 || box.right > stage.right + 1 || box.top < stage.top - 1 || box.bottom > stage.bottom + 1).length;
  });
  assert.equal(outside, 0, "nodes outside of the picture");
  await page.close();
});

test("a narrow window cuts nothing off", async () => {
  for (const to of ["/runs", "/run/triage", "/run/tampered", "/run/triage?view=story", "/run/triage?view=gaps", "/run/triage?view=review", "/run/refund-41?view=calls", "/waiting"]) {
    const { page } = await open(to);
    await page.setViewportSize({ width: 400, height: 800 });
    await settled(page);
    const wide = await page.evaluate(() => Math.max(...[...document.querySelectorAll("main, [role=region] > *")].map((one) => one.getBoundingClientRect().right)));
    assert.ok(wide <= 401, `${to} is ${wide} wide`);
    await page.close();
  }
});

test("a table that is wider than a narrow window can be scrolled to its last column, and every tab is in view", async () => {
  for (const to of ["/run/refund-41?view=calls", "/run/payout-7?view=integrity"]) {
    const { page } = await open(to);
    await page.setViewportSize({ width: 700, height: 800 });
    await settled(page);
    const tabs = await page.evaluate(() => [...document.querySelectorAll("nav[aria-label='Views of the run'] a")].map((one) => one.getBoundingClientRect()).filter((box) => box.right > innerWidth || box.left < 0).length);
    assert.equal(tabs, 0, `${to}: tabs outside of the window`);
    if (to.endsWith("calls")) {
      const last = page.locator(".head span").last();
      await last.evaluate((one) => one.scrollIntoView());
      const box = await last.boundingBox();
      assert.ok(box !== null && box.x >= 0 && box.x + box.width <= 700, `the last column ends at ${box?.x} + ${box?.width}`);
      const tokens = await page.evaluate(() => [...document.querySelectorAll(".call")].map((one) => one.getBoundingClientRect().right <= innerWidth + 1));
      assert.ok(tokens.length > 0 && tokens.every(Boolean), "the rows scroll with their head");
    }
    await page.close();
  }
});

test("a run that a policy blocked says so, with its record and its policy, and counts no absence as a pass", async () => {
  const { page } = await open("/run/release-1");
  await page.locator(".verdict:has-text('blocked a step')").waitFor(WAIT);
  assert.equal(await page.locator(".verdict:has-text('Policies')").evaluate((one) => one.className.includes("t-bad")), true);
  await page.locator(".verdict:has-text('0 passed, 1 absent')").waitFor(WAIT);
  await page.locator("a:has-text('record 2')").first().waitFor(WAIT);
  await page.locator("a:has-text('destructive-actions-confirmed')").first().click();
  await page.locator(".policy.lit .status:has-text('blocked a step')").waitFor(WAIT);
  await page.locator(".policy:has-text('No forced push') .status:has-text('absent')").waitFor(WAIT);
  assert.equal(await page.locator(".policy .status:has-text('passed')").count(), 0);
  assert.match(await page.locator(".during").first().innerText(), /blocked at record 2/);
  await page.goto(server.address("#/runs?search=release"));
  await page.locator("tr:has-text('release-1') >> text=blocked a step").waitFor(WAIT);
  await page.close();
});

test("a call that nobody knows the outcome of is in every view, and leads to its question", async () => {
  const { page } = await open("/run/payout-7");
  await page.locator("text=and 1 undecided").waitFor(WAIT);
  await page.locator("li:has-text('invoice.pay of step pay')").waitFor(WAIT);
  await page.goto(server.address("#/run/payout-7?view=calls"));
  const row = page.locator(".call:has-text('invoice.pay')");
  await row.locator(".status:has-text('undecided')").waitFor(WAIT);
  assert.match(await row.innerText(), /acts/);
  assert.match(await page.locator(".call:has-text('invoice.find')").innerText(), /replied[^]*reads/);
  await page.goto(server.address("#/run/payout-7?view=timeline"));
  await page.locator(".below tr:has-text('invoice.pay'):has-text('undecided')").waitFor(WAIT);
  await page.goto(server.address("#/run/payout-7?view=calls"));
  await row.click();
  await page.locator("article:has-text('did `invoice.pay` happen?')").waitFor(WAIT);
  await page.close();
});

test("a run of solve shows its calls, its conversation and its children", { skip: CAN_SOLVE ? false : "HENCE_MONTY does not name the worker of `hence solve`" }, async () => {
  const { page, problems } = await open("/run/first-failure?view=calls");
  await page.locator(".call").first().waitFor(WAIT);
  const calls = await page.evaluate(async () => (await (await fetch("/api/v1/runs/first-failure/calls")).json()).items);
  assert.deepEqual(calls.map((one) => one.capability), ["turn", "turn", "llm_query", "llm_query", "llm_query", "llm_query", "rlm_query", "turn"]);
  assert.ok(calls.every((one) => one.tokens_in > 0 && one.duration_ms !== null), "each call has its tokens and its measured time");
  assert.equal(calls.at(-2).child, "first-failure/8");
  const spans = await page.evaluate(async () => (await (await fetch("/api/v1/runs/first-failure/spans")).json()).items);
  assert.equal(spans.filter((one) => one.track === "models" && one.measured).length, 7);
  await page.locator(".call:has-text('rlm_query')").click();
  await page.locator("a:has-text('first-failure/8')").first().waitFor(WAIT);
  await page.goto(server.address("#/run/first-failure/step/10"));
  for (const text of ["system", "Question: Which service failed first, and why?", "I look for the first errors.", "its connection pool was exhausted"]) await page.locator(`.turn:has-text('${text}')`).first().waitFor(WAIT);
  await page.goto(server.address("#/run/first-failure/step/9?view=state"));
  await page.locator("text=context_0: characters 65100 to 93033").waitFor(WAIT);
  await page.goto(server.address("#/runs"));
  await page.locator("tr:has-text('first-failure/8') .name >> text=└").waitFor(WAIT);
  assert.deepEqual(problems, []);
  await page.close();
});

test("a torn journal shows what still holds", async () => {
  const folder = copyStore(store.folder);
  appendFileSync(join(folder, ".hence/runs/triage/trace.ndjson"), '{"index":13,"prev');
  const own = await startServer(folder);
  const { page } = await open("/run/triage?view=integrity", own);
  await page.locator("text=The last line has no line feed").waitFor(WAIT);
  await page.goto(own.address("#/run/triage"));
  await page.locator("text=5 error lines").first().waitFor(WAIT);
  await page.close();
  await own.stop();
});

test("what does not exist has a page that says what to do", async () => {
  const { page } = await open("/run/no-such-run");
  await page.locator("[role=alert]:has-text('E0202')").waitFor(WAIT);
  await page.goto(server.address("#/nowhere"));
  await page.locator("text=There is no such page").waitFor(WAIT);
  await page.goto("about:blank");
  await browser.context.clearCookies();
  await page.goto(server.address("#token=wrong&to=/runs"));
  await page.locator("text=This page has no data").waitFor(WAIT);
  await page.close();
});

test("one file opens from a folder with the network off, and checks itself", async () => {
  for (const run of ["triage", "refund-41", "hostile", "certificate-renewal"]) {
    const file = join(store.folder, `${run}.html`);
    await hence(BINARY, store.folder, ["view", run, "--html", file]);
    const { page, problems } = await openPage(browser.context, "file://");
    await page.context().setOffline(true);
    await page.goto(pathToFileURL(file).href);
    await page.locator(`h1:has-text('${run}')`).waitFor(WAIT);
    await page.goto(`${pathToFileURL(file).href}#/run/${run}?view=integrity`);
    await page.locator("text=records hold").first().waitFor(WAIT);
    for (const [view, sign] of [["story", ".unit"], ["timeline", "canvas[aria-label^=Timeline]"], ["lineage", "[data-node]"], ["state", "h2:has-text('State after record')"], ["record", "summary:has-text('Bytes and hash')"], ["gaps", "main"], ["review", "main"], ["policies", "main"]]) {
      await page.goto(`${pathToFileURL(file).href}#/run/${run}/step/3?view=${view}`);
      await page.locator(sign).first().waitFor(WAIT);
      await page.waitForTimeout(200);
      assert.equal(await page.locator("main [role=alert]").count(), 0, `${run} ${view}`);
    }
    if (run === "triage") await picture(page, "single-file");
    assert.equal(await page.evaluate(() => window.pwned), undefined);
    assert.deepEqual(problems, [], run);
    await page.context().setOffline(false);
    await page.close();
  }
});

test("a trace that is no run of ours opens as one file", async () => {
  const trace = await hence(BINARY, store.folder, ["trace", "export", "triage", "--json"]);
  writeFileSync(join(store.folder, "trace.json"), trace);
  const file = join(store.folder, "trace.html");
  await hence(BINARY, store.folder, ["view", "trace.json", "--html", file]);
  const { page, problems } = await openPage(browser.context, "file://");
  await page.goto(pathToFileURL(file).href);
  await page.locator("text=How it came about").waitFor(WAIT);
  assert.equal(await page.locator("nav[aria-label='Views of the run'] >> text=Integrity").count(), 0, "a trace has no journal");
  await page.locator("nav[aria-label='Views of the run'] >> text=Story").click();
  await page.locator(".unit").first().waitFor(WAIT);
  assert.deepEqual(problems, []);
  await page.close();
});

test("an imported session shows the times, the tokens and the failures of its log", async () => {
  const trace = join(store.folder, "session.json");
  const file = join(store.folder, "session.html");
  await hence(BINARY, store.folder, ["import", join(ROOT, "examples/sessions/cart-rounding.jsonl"), "--out", trace]);
  await hence(BINARY, store.folder, ["view", trace, "--html", file]);
  const { page, problems } = await openPage(browser.context, "file://");
  await page.goto(pathToFileURL(file).href);
  await page.locator("text=How it came about").waitFor(WAIT);
  const text = await page.evaluate(() => document.body.innerText);
  assert.doesNotMatch(text, /null records|0 B|Not everything could be read/);
  assert.match(text, /7\u202f765/, "the tokens of the log");
  assert.match(text, /1 min 3 s/, "the time between the first and the last action");
  assert.match(text, /✗ 1 failed/);
  await page.locator("nav[aria-label='Views of the run'] >> text=Timeline").click();
  await page.locator(".below tr:has-text('Run the tests'):has-text('✗ failed')").waitFor(WAIT);
  await page.locator("nav[aria-label='Views of the run'] >> text=Policies").click();
  await page.locator("code:has-text('hence policy check FILE --policy reasoning')").waitFor(WAIT);
  await picture(page, "trace");
  assert.deepEqual(problems, []);
  await page.close();
});

test("a run prints as a report", async () => {
  const { page } = await open("/run/triage");
  await page.locator("text=How it came about").waitFor(WAIT);
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.locator(".bar").first().isVisible(), false, "the bar is not printed");
  assert.equal(await page.locator("text=How it came about").isVisible(), true);
  const whole = await page.evaluate(() => document.querySelector("article").getBoundingClientRect().height <= document.documentElement.scrollHeight);
  assert.ok(whole, "nothing is cut off by a scrolling part");
  await page.close();
});
