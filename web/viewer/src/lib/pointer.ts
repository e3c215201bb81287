/** JSON pointers (RFC 6901) and the flat form of a value that a tree shows. */

import { isContainer, isObject, printJson, type Json } from "./json.ts";

export function escapePart(part: string): string {
  return part.replaceAll("~", "~0").replaceAll("/", "~1");
}

export function splitPointer(pointer: string): string[] {
  if (pointer === "") return [];
  return pointer.slice(1).split("/").map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** Returns the value at a pointer, or undefined when there is none. */
export function valueAt(value: Json | undefined, pointer: string): Json | undefined {
  let here: Json | undefined = value;
  for (const part of splitPointer(pointer)) {
    if (Array.isArray(here)) here = /^(0|[1-9][0-9]*)$/.test(part) ? here[Number(part)] : undefined;
    else if (isObject(here)) here = Object.hasOwn(here, part) ? here[part] : undefined;
    else return undefined;
  }
  return here;
}

export interface Row {
  pointer: string;
  key: string;
  depth: number;
  value: Json;
  /** Members or items; nothing for a plain value. */
  size: number | null;
  isOpen: boolean;
}

/** The most rows a tree lays out; what is beyond is said in the tree. */
export const ROWS_MAX = 200_000;

/** Returns the rows of a tree in which the containers of `open` show their members. */
export function rowsOf(value: Json, isOpen: (pointer: string, depth: number) => boolean, rowsMax = ROWS_MAX): Row[] {
  const rows: Row[] = [];
  const stack: { pointer: string; key: string; depth: number; value: Json }[] = [{ pointer: "", key: "", depth: 0, value }];
  while (stack.length > 0 && rows.length < rowsMax) {
    const one = stack.pop() as { pointer: string; key: string; depth: number; value: Json };
    const size = sizeOf(one.value);
    const opened = size !== null && size > 0 && isOpen(one.pointer, one.depth);
    rows.push({ ...one, size, isOpen: opened });
    if (!opened) continue;
    const children = childrenOf(one.value);
    for (let at = children.length - 1; at >= 0; at -= 1) {
      const [key, child] = children[at] as [string, Json];
      stack.push({ pointer: `${one.pointer}/${escapePart(key)}`, key, depth: one.depth + 1, value: child });
    }
  }
  return rows;
}

export function sizeOf(value: Json): number | null {
  if (Array.isArray(value)) return value.length;
  return isObject(value) ? Object.keys(value).length : null;
}

function childrenOf(value: Json): [string, Json][] {
  if (Array.isArray(value)) return value.map((item, at) => [String(at), item]);
  return isObject(value) ? Object.entries(value) : [];
}

/** Whether `pointer` is `other` or one of its ancestors. */
export function contains(pointer: string, other: string): boolean {
  return other === pointer || other.startsWith(`${pointer}/`);
}

/** The pointers at which two values differ, each as high up as a whole member was added or removed. */
export function changes(before: Json | undefined, after: Json | undefined, max = 1000): string[] {
  const found: string[] = [];
  const walk = (left: Json | undefined, right: Json | undefined, pointer: string): void => {
    if (found.length >= max || left === right) return;
    if (!isContainer(left) || !isContainer(right) || Array.isArray(left) !== Array.isArray(right)) {
      if (left === undefined || right === undefined || printJson(left, 0) !== printJson(right, 0)) found.push(pointer);
      return;
    }
    const a = left as Record<string, Json>;
    const b = right as Record<string, Json>;
    for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) walk(a[key], b[key], `${pointer}/${escapePart(key)}`);
  };
  walk(before, after, "");
  return found;
}
