// Makes a store of real runs for the browser tests: the examples, a run that asks a model and a person, hostile texts, a fork,
// a run under policies, and a damaged journal. Every run is made by the program itself; the model is a server of this file.
import { spawn } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../../../..");
const NOW = "2026-03-02T09:00:00Z";

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
