/** The rows of a state of which only parts were loaded. */

import { isContainer, type Json } from "./json.ts";
import { contains, escapePart } from "./pointer.ts";
import type { Shown } from "../source/types.ts";

/** A loaded container: its members so far, and whether there are more. */
export interface Loaded {
  items: { key: string; pointer: string; value: Shown }[];
  total: number;
}

export interface TreeRow {
  pointer: string;
  key: string;
  depth: number;
  kind: Shown["kind"];
  count: number | null;
  bytes: number;
  /** The value of a leaf; undefined where only its start is here. */
  value: Json | undefined;
  start: string | null;
  isOpen: boolean;
  /** `changed` itself, or an ancestor of a change. */
  lit: "changed" | "inside" | null;
  /** A row that stands for members that are not loaded. */
  rest: number | null;
}

/** How rows are made: what is open, what is loaded, what changed. */
export interface TreeParts {
  isOpen: (pointer: string, depth: number) => boolean;
  loaded: (pointer: string) => Loaded | undefined;
  changed: ReadonlySet<string>;
}

/** Returns the rows below the root. Containers that are open and not loaded have no rows below them yet. */
export function treeRows(root: Loaded, parts: TreeParts, rowsMax: number): TreeRow[] {
  const rows: TreeRow[] = [];
  const inside = ancestors(parts.changed);
  const litOf = (pointer: string): TreeRow["lit"] => (parts.changed.has(pointer) ? "changed" : inside.has(pointer) ? "inside" : null);
  const addShown = (key: string, pointer: string, shown: Shown, depth: number): void => {
    if (rows.length >= rowsMax) return;
    if (shown.whole) return addValue(key, pointer, shown.value, depth, shown.bytes);
    const isContainerKind = shown.kind === "array" || shown.kind === "object";
    const isOpen = isContainerKind && parts.isOpen(pointer, depth);
    rows.push({ pointer, key, depth, kind: shown.kind, count: shown.count, bytes: shown.bytes, value: undefined, start: shown.start, isOpen, lit: litOf(pointer), rest: null });
    const below = isOpen ? parts.loaded(pointer) : undefined;
    if (below !== undefined) addLoaded(below, pointer, depth + 1);
  };
  const addLoaded = (loaded: Loaded, pointer: string, depth: number): void => {
    for (const item of loaded.items) addShown(item.key, item.pointer, item.value, depth);
    const rest = loaded.total - loaded.items.length;
    if (rest > 0) rows.push({ pointer, key: "", depth, kind: "null", count: null, bytes: 0, value: null, start: null, isOpen: false, lit: null, rest });
  };
  const addValue = (key: string, pointer: string, value: Json, depth: number, bytes: number): void => {
    if (rows.length >= rowsMax) return;
    const entries: [string, Json][] | null = Array.isArray(value) ? value.map((item, at) => [String(at), item]) : isContainer(value) ? Object.entries(value) : null;
    const isOpen = entries !== null && entries.length > 0 && parts.isOpen(pointer, depth);
    const kind = entries === null ? "string" : Array.isArray(value) ? "array" : "object";
    rows.push({ pointer, key, depth, kind, count: entries?.length ?? null, bytes, value: entries === null ? value : undefined, start: null, isOpen, lit: litOf(pointer), rest: null });
    if (isOpen) for (const [name, item] of entries) addValue(name, `${pointer}/${escapePart(name)}`, item, depth + 1, 0);
  };
  addLoaded(root, "", 0);
  return rows;
}

function ancestors(changed: ReadonlySet<string>): Set<string> {
  const found = new Set<string>();
  for (const pointer of changed) {
    for (let at = pointer.lastIndexOf("/"); at > 0; at = pointer.lastIndexOf("/", at - 1)) found.add(pointer.slice(0, at));
  }
  return found;
}

/** Whether a container must be loaded to show a path. */
export function leadsTo(pointer: string, path: string | null): boolean {
  return path !== null && path !== pointer && contains(pointer, path);
}
