/** The fields of an answer, from the type, the options or the JSON Schema of a question; and the value they give. */

import { isObject, type Json, type JsonObject } from "./json.ts";

export interface Field {
  /** The member's name; empty when the answer is one value. */
  name: string;
  title: string;
  help: string | null;
  kind: "boolean" | "choice" | "number" | "integer" | "text" | "long" | "json";
  options: Json[];
  isRequired: boolean;
}

const LONG_TEXT_FROM = 120;

/** Returns the fields of a question. A schema that is no plain object of plain members is answered as JSON. */
export function fieldsOf(question: { type: string | null; options: Json[] | null; schema: JsonObject | null }): Field[] {
  const one = (kind: Field["kind"], options: Json[] = []): Field[] => [{ name: "", title: "Answer", help: null, kind, options, isRequired: true }];
  if (question.options !== null && question.options.length > 0) return one("choice", question.options);
  if (question.schema !== null) return schemaFields(question.schema);
  if (question.type === "boolean") return one("boolean");
  if (question.type === "number" || question.type === "integer") return one(question.type);
  return question.type === "object" || question.type === "array" || question.type === "any" ? one("json") : one("long");
}

function schemaFields(schema: JsonObject): Field[] {
  const properties = schema["properties"];
  if (schema["type"] !== "object" || !isObject(properties) || Object.keys(properties).length === 0) {
    return [field("", schema, true)];
  }
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  // A stored question has its members sorted by name. Its list of required members is in the order of its author.
  const place = (name: string): number => (required.includes(name) ? required.indexOf(name) : required.length);
  const members = Object.entries(properties).sort(([a], [b]) => place(a) - place(b));
  return members.map(([name, member]) => field(name, isObject(member) ? member : {}, required.includes(name)));
}

function field(name: string, schema: JsonObject, isRequired: boolean): Field {
  const title = typeof schema["title"] === "string" ? schema["title"] : name === "" ? "Answer" : name;
  const help = typeof schema["description"] === "string" ? schema["description"] : null;
  const base = { name, title, help, options: [] as Json[], isRequired };
  if (Array.isArray(schema["enum"])) return { ...base, kind: "choice", options: schema["enum"] };
  const { type } = schema;
  if (type === "boolean") return { ...base, kind: "boolean" };
  if (type === "number" || type === "integer") return { ...base, kind: type };
  if (type !== "string") return { ...base, kind: "json" };
  const max = schema["maxLength"];
  return { ...base, kind: typeof max === "number" && max <= LONG_TEXT_FROM ? "text" : "long" };
}

/** Reads one field; the text is what the reader typed, or the position of the chosen option. */
export function readField(one: Field, text: string): { value: Json | undefined } | { problem: string } {
  const trimmed = text.trim();
  if (trimmed === "" && one.kind !== "long" && one.kind !== "text") return one.isRequired ? { problem: `${one.title} is missing` } : { value: undefined };
  if (one.kind === "boolean") return { value: trimmed === "true" };
  if (one.kind === "choice") return { value: one.options[Number(trimmed)] };
  if (one.kind === "number" || one.kind === "integer") {
    const value = Number(trimmed);
    if (!Number.isFinite(value)) return { problem: `${one.title} must be a number` };
    if (one.kind === "integer" && !Number.isSafeInteger(value)) return { problem: `${one.title} must be an integer` };
    return { value };
  }
  if (one.kind === "json") {
    try {
      return { value: JSON.parse(trimmed) as Json };
    } catch {
      return { problem: `${one.title} must be JSON` };
    }
  }
  if (text === "") return one.isRequired ? { problem: `${one.title} is missing` } : { value: undefined };
  return { value: text };
}

/** Puts the fields together: one value, or an object of members. */
export function readAnswer(fields: Field[], texts: Record<string, string>): { value: Json } | { problem: string } {
  const object: JsonObject = {};
  for (const one of fields) {
    const read = readField(one, texts[one.name] ?? "");
    if ("problem" in read) return read;
    if (one.name === "") return { value: read.value ?? null };
    if (read.value !== undefined) Object.defineProperty(object, one.name, { value: read.value, enumerable: true, configurable: true, writable: true });
  }
  return { value: object };
}
