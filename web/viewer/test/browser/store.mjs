// Makes a store of real runs for the browser tests: the examples, a run that asks a model and a person, hostile texts, a fork,
// a run under policies, a run of `hence solve` where its worker is available, and a damaged journal. Every run is made by the
// program itself; the models are servers of this file.
import { spawn } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../../../..");
const NOW = "2026-03-02T09:00:00Z";
/** How long a call may take to begin, and how often one looks. */
const BEGUN_MS_MAX = 20_000;
const BEGUN_STEP_MS = 20;

/** Runs the program and returns its output; exit codes that are not in `codes` are errors. */
export function hence(binary, folder, args, codes = [0]) {
  return new Promise((resolve, reject) => {
    const child = spawn(binary, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
    let [out, err] = ["", ""];
    child.stdout.on("data", (text) => (out += text));
    child.stderr.on("data", (text) => (err += text));
    child.on("error", reject);
    child.on("close", (code) => (codes.includes(code) ? resolve(out) : reject(new Error(`hence ${args.join(" ")}: exit code ${code}\n${out}${err}`))));
  });
}

const REFUND = `id: refund
version: 1.0.0
name: Refund
description: Decide whether a customer gets money back, with the reasons
inputs:
  mail: {type: string, required: true}
  order: {type: string, required: true}
outputs:
  decision: {type: any, required: true}
steps:
  - id: read-mail
    uses: mail.judge
    input: {mail: inputs.mail}
    output: {topic: vars.topic, tone: vars.tone}
  - id: find-order
    uses: orders.find
    input: {order: inputs.order}
    output: {amount: vars.amount, shipped: vars.shipped}
    config: {depends_on: [], retry: {max_attempts: 3, backoff_seconds: 0.1}}
  - id: history
    uses: orders.history
    input: {order: inputs.order}
    output: {orders: vars.orders}
    config: {depends_on: []}
  - id: reason
    uses: text.template
    input: {template: "{{topic}} ({{tone}}): order of {{amount}} EUR", values: {topic: vars.topic, tone: vars.tone, amount: vars.amount}}
    output: {text: vars.reason}
    config: {depends_on: [read-mail, find-order, history]}
  - id: approve
    uses: human.ask
    input:
      question: "Refund the order?"
      schema: {$literal: {type: object, required: [refund, note], properties: {refund: {type: boolean, title: Refund}, amount: {type: number, title: Amount in EUR}, note: {type: string, title: Why, description: One sentence for the customer}}}}
      who: finance
      context: vars.reason
    output: {value: outputs.decision, by: vars.approver}
    config: {depends_on: [reason]}
`;

const capabilities = (endpoint) => `capabilities:
  mail.judge:
    description: Say what a mail is about
    effects: reads
    output: {type: object, required: [topic, tone], properties: {topic: {enum: [refund, other]}, tone: {type: string}}}
    provider:
      kind: llm
      api: openai
      model: small-1
      endpoint: ${endpoint}
      stream: false
      system: You sort the mail of a shop. Answer with JSON.
      prompt: "What does this customer want? {{mail}}"
      price: {currency: EUR, input: "0.15", output: "0.60"}
  orders.find:
    description: Find an order
    effects: reads
    provider: {kind: command, command: [/bin/sh, find-order.sh], environment: [PATH]}
  orders.history:
    description: List the orders of a customer
    effects: reads
    provider: {kind: command, command: [/bin/sh, history.sh], environment: [PATH]}
`;

// The first call fails and leaves a mark, the second finds the order: a retry that really happened.
const FIND_ORDER = `sleep 0.2
if [ ! -e tried ]; then : > tried; echo 'the order service is busy' >&2; exit 75; fi
echo '{"amount": 120.50, "shipped": "2026-02-20"}'
`;
const HISTORY = `sleep 0.5
echo '{"orders": [{"id": "A-1", "amount": 35}, {"id": "A-2", "amount": 120.50}]}'
`;

/** A model that first gives an invalid reply, then a valid one, in turn. */
function startModel() {
  let calls = 0;
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      calls += 1;
      const content = calls % 2 === 1 ? "The customer wants a refund." : '{"topic": "refund", "tone": "annoyed"}';
      const body = { id: `reply-${calls}`, model: "small-1", choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }], usage: { prompt_tokens: 64 + calls, completion_tokens: 12 } };
      setTimeout(() => response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body)), 120);
    });
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

/** Whether `hence solve` can run here: its Python worker is named in the environment, as CI does. */
export const CAN_SOLVE = (process.env.HENCE_MONTY ?? "") !== "";

const TURNS = [
  "I look for the first errors.\n```repl\nhits = search('ERROR', limit=4)\nfirst = hits[0]['start']\nprint(slice(first - 29, first + 31))\n```",
  "I ask what the line says, what came after it, and how many there are.\n```repl\ncause = llm_query('What failed here? ' + slice(first - 29, first + 31))\nlater = llm_query_batched(['Cause or consequence? ' + slice(hit['start'] - 29, hit['start'] + 22) for hit in hits[1:]])\nerrors = rlm_query('How many error lines are there?', context=slice(first, len(context)))\nprint(cause, later, errors)\n```",
  "```repl\nFinal = {'service': 'billing', 'cause': cause, 'later': later, 'errors': errors}\n```",
];

/** A log of 2 000 lines whose first error comes late; further errors follow from it. */
function serviceLog() {
  const names = ["cart", "search", "auth", "mail"];
  const two = (number) => String(number).padStart(2, "0");
  return Array.from({ length: 2000 }, (_, at) => {
    const time = `2026-03-02T09:${two(Math.floor(at / 60))}:${two(at % 60)}Z`;
    if (at === 1400) return `${time} billing ERROR connection pool exhausted\n`;
    return at > 1400 && at % 97 === 0 ? `${time} ${names[at % 4]} ERROR upstream timeout\n` : `${time} ${names[at % 4]} INFO request served\n`;
  }).join("");
}

/** A model that answers as one that was taught the loop: the turns in order, the child with a count, sub-calls with a word. */
function startSolver() {
  const reply = ({ messages }) => {
    const asks = (role) => messages.filter((one) => one.role === role).map((one) => JSON.stringify(one.content));
    if (asks("system").length === 0) return asks("user").at(-1).includes("What failed here?") ? "its connection pool was exhausted" : "consequence";
    if (asks("user")[0].includes("How many error lines")) return "```repl\nFinal = context.count('ERROR')\n```";
    return TURNS[asks("assistant").length] ?? "I do not know.";
  };
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += part;
    const content = reply(JSON.parse(text));
    const usage = { prompt_tokens: Math.ceil(text.length / 4), completion_tokens: Math.ceil(content.length / 4) };
    const body = { id: "reply", model: "small-1", choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }], usage };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

/** Makes the run `first-failure` of `hence solve`, with a child run. */
async function makeSolved(run, folder) {
  const model = await startSolver();
  try {
    writeFileSync(join(folder, "services.log"), serviceLog());
    await run(["solve", "Which service failed first, and why?", "--context", "services.log", "--model", `http://127.0.0.1:${model.address().port}/v1#small-1`, "--run-id", "first-failure"]);
  } finally {
    model.close();
  }
}

const RELEASE = `id: release
version: 1.0.0
name: Release
description: Release a change
inputs: {}
outputs: {}
capabilities: deeds.yaml
steps:
  - {id: clean-up, uses: bucket.delete, input: {path: data/prod}}
`;

const PAYOUT = `id: payout
version: 1.0.0
name: Payout
description: Pay an invoice once
inputs: {}
outputs: {}
capabilities: deeds.yaml
steps:
  - {id: look-up, uses: invoice.find, input: {invoice: I-7}, output: {amount: vars.amount}}
  - {id: pay, uses: invoice.pay, input: {invoice: I-7, amount: vars.amount}, config: {recovery: ask}}
`;

// The payment marks that it began and never ends, so that a process can be ended in the middle of it.
const DEEDS = `capabilities:
  bucket.delete:
    description: Delete a bucket
    action: DeleteFile
    provider: {kind: command, command: [/bin/sh, -c, "cat >/dev/null; echo '{}'"]}
  invoice.find:
    description: Find an invoice
    effects: reads
    provider: {kind: command, command: [/bin/sh, -c, "cat >/dev/null; echo '{\\"amount\\": 70}'"]}
  invoice.pay:
    description: Pay an invoice
    provider: {kind: command, command: [/bin/sh, -c, ": > begun; sleep 60"]}
`;

/** Makes a run that a policy blocked, and one whose process ended in the middle of a call that acts. */
async function makeStopped(binary, run, folder) {
  writeFileSync(join(folder, "deeds.yaml"), DEEDS);
  writeFileSync(join(folder, "release.yaml"), RELEASE);
  writeFileSync(join(folder, "payout.yaml"), PAYOUT);
  await run(["run", "release.yaml", "--run-id", "release-1", "--policy", "engineering"], [1, 3, 5]);
  const child = spawn(binary, ["run", "payout.yaml", "--run-id", "payout-7"], { cwd: folder, stdio: "ignore" });
  const ended = new Promise((resolve) => child.on("close", resolve));
  // The mark comes after the intent was logged; the limit is far above what a busy machine needs.
  for (let waited = 0; waited < BEGUN_MS_MAX && !existsSync(join(folder, "begun")); waited += BEGUN_STEP_MS) await new Promise((resolve) => setTimeout(resolve, BEGUN_STEP_MS));
  child.kill("SIGKILL");
  await ended;
}

/** Text that would act if anything read it as markup, or that changes how a line reads. */
export const HOSTILE = "<script>window.pwned=1</script><img src=x onerror=\"window.pwned=1\"> \u202etxet desrever\u202c \u001b[31mred\u001b[0m {{7*7}} </script><!-- \u200bzero width";

const problem = (id, prompt, more = {}) => JSON.stringify({ id, version: "1.0.0", created_at: NOW, inputs: { prompt, ...more.inputs }, ...(more.settings ? { settings: more.settings } : {}) });

/** Makes the store and returns its folder; `remove` deletes it. */
export async function makeStore(binary) {
  const folder = mkdtempSync(join(tmpdir(), "hence-viewer-"));
  const run = (args, codes) => hence(binary, folder, args, codes);
  const examples = join(ROOT, "examples");
  await run(["run", join(examples, "vendor-choice.json")]);
  await run(["run", join(examples, "outage-cause.json")]);
  await run(["run", join(examples, "skills/vendor-comparison/skill.yaml"), "--input", "table=nonsense", "--run-id", "no-table"], [1]);
  await run(["run", join(examples, "contractor-access.json"), "--policy", "reasoning"], [0, 1, 5]);
  await run(["run", join(examples, "certificate-renewal.json")]);
  const triage = join(examples, "skills/incident-triage");
  await run(["run", join(triage, "skill.yaml"), "--input", `log=@${join(triage, "service.log")}`, "--run-id", "triage", "--now", NOW]);
  const contract = join(examples, "skills/contract-review");
  await run(["run", join(contract, "skill.yaml"), "--input", `contract=@${join(contract, "contract.txt")}`, "--input", `rules=@${join(contract, "rules.csv")}`, "--run-id", "contract", "--now", NOW]);

  const model = await startModel();
  try {
    writeFileSync(join(folder, "refund.yaml"), REFUND);
    writeFileSync(join(folder, "capabilities.yaml"), capabilities(`http://127.0.0.1:${model.address().port}/v1`));
    writeFileSync(join(folder, "find-order.sh"), FIND_ORDER);
    writeFileSync(join(folder, "history.sh"), HISTORY);
    for (const id of ["refund-41", "refund-42", "refund-43", "refund-44"]) {
      rmSync(join(folder, "tried"), { force: true });
      await run(["run", "refund.yaml", "--capabilities", "capabilities.yaml", "--input", "mail=The lamp arrived broken, I want my money back!", "--input", `order=A-${id.slice(-1)}`, "--run-id", id], [3]);
    }
    await run(["answer", "refund-41", "approve", "--value", JSON.stringify({ refund: true, amount: 120.5, note: "The lamp broke on the way." }), "--by", "ada", "--resume"]);
  } finally {
    model.close();
  }

  await makeStopped(binary, run, folder);
  if (CAN_SOLVE) await makeSolved(run, folder);
  await run(["trace", "init", "reported", "Fix the rounding of totals", "--agent", "an-agent"]);
  await run(["trace", "act", "reported", "EditFile", "Sum in cents", "--why", "Cents do not round"]);
  writeFileSync(join(folder, "hostile.json"), problem("hostile", HOSTILE, { inputs: { evidence: [{ id: "e1", source: HOSTILE, claim: HOSTILE }] } }));
  await run(["run", "hostile.json"], [5]);
  writeFileSync(join(folder, "long.json"), problem("long", `start ${"x".repeat(10 * 1024 * 1024)} end`));
  await run(["run", "long.json"], [5]);
  await run(["fork", "vendor-choice", "--from", "Compute", "--run-id", "vendor-choice-fork"], [0, 1, 5]).catch(() => undefined);
  await run(["run", join(examples, "contractor-access.json"), "--run-id", "tampered"], [1]);
  tamper(join(folder, ".hence/runs/tampered/trace.ndjson"));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** A problem whose loop never meets its condition: four records for each iteration. */
export function longProblem(id, records) {
  const iterations = Math.ceil(records / 4);
  const evidence = Array.from({ length: 8 }, (_, at) => ({ source: `note ${at}` }));
  const stop = { path: "artifacts.verification.checks.evidence_count", operator: "gte", value: 1000 };
  const loop = { enabled: true, start_step: "AcquireEvidence", end_step: "Verify", max_iterations: iterations, stop_condition: stop };
  return problem(id, "How long does a record take?", { inputs: { context: { evidence } }, settings: { evidence_batch: 1, max_steps: 10 + 3 * iterations, loop } });
}

/** Changes one word of the fourth record, as somebody who wants another past would. */
function tamper(path) {
  chmodSync(path, 0o644);
  const lines = readFileSync(path, "utf8").split("\n");
  lines[4] = lines[4].replace('"value":"no"', '"value":"yes"').replace('"value":false', '"value":true');
  writeFileSync(path, lines.join("\n"));
}

/** A copy of a store that a test may change. */
export function copyStore(folder) {
  const copy = mkdtempSync(join(tmpdir(), "hence-viewer-copy-"));
  mkdirSync(copy, { recursive: true });
  cpSync(folder, copy, { recursive: true });
  return copy;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { folder } = await makeStore(process.argv[2]);
  console.log(folder, readdirSync(join(folder, ".hence/runs")));
}
