/** JSON with numbers as they are written: a double cannot tell `1.0` from `1`, nor hold every integer. */

/** A number whose text is not what a double would print. */
export class ExactNumber {
  constructor(readonly text: string) {}

  toJSON(): number {
    return Number(this.text);
  }

  /** Comparisons and arithmetic use the nearest double. */
  valueOf(): number {
    return Number(this.text);
  }

  toString(): string {
    return this.text;
  }
}

export type Json = null | boolean | number | ExactNumber | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json;
}

/**
 * A number that a double may change: with a fraction, an exponent or very many digits, or a negative zero. It may be found in a string
 * too, which costs only time: looking at the source of every number is several times slower than a plain parse.
 */
const MAY_CHANGE = /(?:^|[:,[])\s*(?:-?[0-9]{16}|-?[0-9]+[.eE]|-0)/;

/** Parses a text. Where the browser gives the source of a number, one that a double would change is kept as text. */
export function parseJson(text: string): unknown {
  if (!MAY_CHANGE.test(text)) return JSON.parse(text);
  return JSON.parse(text, function revive(this: unknown, _key: string, value: unknown, context?: { source?: string }): unknown {
    if (typeof value !== "number" || context?.source === undefined) return value;
    return String(value) === context.source ? value : new ExactNumber(context.source);
  } as (key: string, value: unknown) => unknown);
}

export function isObject(value: unknown): value is JsonObject {
  return value !== null && typeof value === "object" && !Array.isArray(value) && !(value instanceof ExactNumber);
}

export function isContainer(value: unknown): value is Json[] | JsonObject {
  return Array.isArray(value) || isObject(value);
}

/** The number a value is, or null when it is none. */
export function numberOf(value: unknown): number | null {
  if (typeof value === "number") return value;
  return value instanceof ExactNumber ? Number(value.text) : null;
}

/** A value as text, indented, with numbers as they were written. */
export function printJson(value: Json, indent = 2): string {
  const parts: string[] = [];
  const write = (one: Json, depth: number): void => {
    const gap = indent === 0 ? "" : `\n${" ".repeat(indent * (depth + 1))}`;
    const end = indent === 0 ? "" : `\n${" ".repeat(indent * depth)}`;
    if (one instanceof ExactNumber) parts.push(one.text);
    else if (!isContainer(one)) parts.push(JSON.stringify(one));
    else if (Array.isArray(one)) {
      one.forEach((item, at) => {
        parts.push(at === 0 ? `[${gap}` : `,${gap}`);
        write(item, depth + 1);
      });
      parts.push(one.length === 0 ? "[]" : `${end}]`);
    } else {
      const keys = Object.keys(one);
      keys.forEach((key, at) => {
        parts.push(`${at === 0 ? "{" : ","}${gap}${JSON.stringify(key)}:${indent === 0 ? "" : " "}`);
        write(one[key] as Json, depth + 1);
      });
      parts.push(keys.length === 0 ? "{}" : `${end}}`);
    }
  };
  write(value, 0);
  return parts.join("");
}

/** A value in one short line, for lists. */
export function brief(value: Json | undefined, max = 80): string {
  if (value === undefined) return "";
  const text = typeof value === "string" ? value : printJson(value, 0);
  const line = text.slice(0, max * 4).replace(/\s+/g, " ");
  return line.length > max ? `${line.slice(0, max - 1)}…` : line;
}
