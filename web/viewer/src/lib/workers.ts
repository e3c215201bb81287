/** Starts the workers of the page: from the server, or from the text that a single file holds. */

const REVOKE_MS = 30_000;

export type WorkerName = "worker-verify" | "worker-layout";

export function startWorker(name: WorkerName): Worker {
  const block = document.querySelector(`script[data-asset="assets/${name}.js"]`);
  if (block === null) return new Worker(`assets/${name}.js`);
  const url = URL.createObjectURL(new Blob([block.textContent ?? ""], { type: "text/javascript" }));
  const worker = new Worker(url);
  // The browser may still be reading the script; the address is given back later.
  setTimeout(() => URL.revokeObjectURL(url), REVOKE_MS);
  return worker;
}
