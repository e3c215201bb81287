/** Numbers and times as people read them. */

export function duration(value: number | null | undefined): string {
  // Numbers of a response may be written as `1.0`; see lib/json.ts.
  const ms = value === null || value === undefined ? Number.NaN : Number(value);
  if (!Number.isFinite(ms)) return "not measured";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1000);
  const units: [number, string][] = [[86_400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const at = units.findIndex(([size]) => seconds >= size);
  const [size, unit] = units[at] as [number, string];
  const next = units[at + 1];
  const rest = next === undefined ? 0 : Math.floor((seconds % size) / next[0]);
  return `${Math.floor(seconds / size)} ${unit}${next === undefined || rest === 0 ? "" : ` ${rest} ${next[1]}`}`;
}

export function bytes(count: number): string {
  if (count < 1024) return `${count} B`;
  if (count < 1024 * 1024) return `${(count / 1024).toFixed(1)} KiB`;
  if (count < 1024 ** 3) return `${(count / 1024 ** 2).toFixed(1)} MiB`;
  return `${(count / 1024 ** 3).toFixed(2)} GiB`;
}

/** An integer with thin spaces between thousands. */
export function count(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** The outcome of a unit of a trace; one that says nothing but numbers says them in the plural. */
export function outcomeText(outcome: string): string {
  const found = /^([0-9]+) actions, ([0-9]+) artifacts$/.exec(outcome);
  return found === null ? outcome : `${plural(Number(found[1]), "action")}, ${plural(Number(found[2]), "artifact")}`;
}

export function shortHash(hash: string, length = 12): string {
  return hash.length > length ? hash.slice(0, length) : hash;
}

/** A time as it stands in a record or a time log, without the letters; the zone is always UTC. */
export function time(text: string | null | undefined): string {
  if (text === null || text === undefined) return "not measured";
  return text.replace("T", " ").replace(/(\.\d+)?Z$/, "");
}

/** How long ago a time was, for lists; `now` is given so that the caller decides what the time is. */
export function ago(text: string, now: number): string {
  const then = Date.parse(text);
  if (Number.isNaN(then)) return text;
  const ms = now - then;
  if (ms < 0) return time(text);
  if (ms < 60_000) return "just now";
  const [size, unit] = ([[86_400_000, "d"], [3_600_000, "h"], [60_000, "min"]] as [number, string][]).find(([size]) => ms >= size) ?? [1, "ms"];
  return `${Math.floor(ms / size)} ${unit} ago`;
}

interface Money {
  amount: string;
  currency: string;
}

const DECIMAL = /^([0-9]+)(?:\.([0-9]+))?$/;

/** An amount as a whole number of its `digits`th decimal places; nothing when it is no plain decimal. */
function scaled(amount: string, digits: number): bigint | null {
  const found = DECIMAL.exec(amount);
  return found === null ? null : BigInt(`${found[1]}${(found[2] ?? "").padEnd(digits, "0")}`);
}

/** How the second cost differs from the first, exactly, for each currency that both have; empty where nothing can be said. */
export function moneyChange(left: readonly Money[], right: readonly Money[]): string {
  const changes = left.flatMap(({ amount, currency }) => {
    const other = right.find((one) => one.currency === currency);
    if (other === undefined) return [];
    const digits = Math.max(...[amount, other.amount].map((text) => DECIMAL.exec(text)?.[2]?.length ?? 0));
    const [before, after] = [scaled(amount, digits), scaled(other.amount, digits)];
    if (before === null || after === null || before === after) return [];
    const text = String(after > before ? after - before : before - after).padStart(digits + 1, "0");
    const shown = digits === 0 ? text : `${text.slice(0, -digits)}.${text.slice(-digits)}`.replace(/\.?0+$/, "");
    return [`${after > before ? "+" : "−"}${shown} ${currency}`];
  });
  return changes.join(", ");
}
