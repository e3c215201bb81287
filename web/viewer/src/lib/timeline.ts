/** The geometry of a timeline: a scale that folds idle time, lanes for what overlaps, and which records are in view. */

import type { Bucket, Span } from "../source/types.ts";

export interface Fold {
  /** Where the idle time begins and ends, in the domain (milliseconds). */
  from: number;
  to: number;
  /** Where it is drawn, in units of the scale. */
  unit: number;
  width: number;
}

/** A piece of the scale on which domain and units grow together. */
interface Segment {
  from: number;
  to: number;
  unit: number;
}

export interface Scale {
  segments: Segment[];
  folds: Fold[];
  /** The length of the whole scale in units. */
  length: number;
  /** Where the room for what has no measured time begins, in units; nothing where there is none. */
  untimedFrom?: number;
}

/** Idle time shorter than this is never folded. */
const IDLE_MS_MIN = 400;
/** Idle time is folded when it is longer than this part of the active time. */
const IDLE_PART = 0.08;
/** A fold is drawn as wide as this part of the active time. */
const FOLD_PART = 0.025;
/** The room after the last measured time for what has none, as a part of the rest. */
const UNTIMED_PART = 0.12;
export const LANES_MAX = 14;

export type Interval = [number, number];

/** Joins intervals that touch or overlap. */
export function merged(intervals: Interval[]): Interval[] {
  const sorted = intervals.filter(([from, to]) => Number.isFinite(from) && to >= from).sort((a, b) => a[0] - b[0]);
  const found: Interval[] = [];
  for (const [from, to] of sorted) {
    const last = found.at(-1);
    if (last !== undefined && from <= last[1]) last[1] = Math.max(last[1], to);
    else found.push([from, to]);
  }
  return found;
}

/** Builds a scale over active intervals; idle time between them is folded when it is long. */
export function foldedScale(active: Interval[]): Scale {
  const busy = merged(active);
  const first = busy[0];
  const last = busy.at(-1);
  if (first === undefined || last === undefined) return plainScale(0, 1);
  const sum = busy.reduce((total, [from, to]) => total + (to - from), 0);
  const idleMin = Math.max(IDLE_MS_MIN, sum * IDLE_PART);
  const segments: Segment[] = [];
  const folds: Fold[] = [];
  let kept = 0;
  let from = first[0];
  const gaps: { at: number; to: number }[] = [];
  busy.forEach(([, end], at) => {
    const next = busy[at + 1];
    if (next === undefined || next[0] - end > idleMin) {
      gaps.push({ at: end, to: next?.[0] ?? end });
      kept += end - from;
      from = next?.[0] ?? end;
    }
  });
  const width = Math.max(kept, 1) * FOLD_PART;
  let unit = 0;
  from = first[0];
  for (const gap of gaps) {
    segments.push({ from, to: gap.at, unit });
    unit += gap.at - from;
    if (gap.to > gap.at) {
      folds.push({ from: gap.at, to: gap.to, unit, width });
      unit += width;
      from = gap.to;
    }
  }
  return { segments, folds, length: Math.max(unit, 1) };
}

/** Adds room after everything that was measured. */
export function withUntimed(scale: Scale): Scale {
  return { ...scale, untimedFrom: scale.length, length: scale.length * (1 + UNTIMED_PART) };
}

export function plainScale(from: number, to: number): Scale {
  return { segments: [{ from, to: Math.max(to, from), unit: 0 }], folds: [], length: Math.max(to - from, 1) };
}

/** Where a point of the domain is drawn. Inside of a fold it is somewhere within the fold's width. */
export function toUnit(scale: Scale, value: number): number {
  let low = 0;
  let high = scale.segments.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((scale.segments[middle] as Segment).from <= value) low = middle;
    else high = middle - 1;
  }
  const segment = scale.segments[low] as Segment;
  if (value <= segment.to) return segment.unit + Math.max(value, segment.from) - segment.from;
  const end = segment.unit + segment.to - segment.from;
  const fold = scale.folds[low];
  if (fold === undefined) return end;
  return end + fold.width * Math.min(1, (value - fold.from) / Math.max(1, fold.to - fold.from));
}

/** The point of the domain that is drawn at a unit. */
export function toDomain(scale: Scale, unit: number): number {
  let found = scale.segments[0] as Segment;
  let at = 0;
  scale.segments.forEach((segment, index) => {
    if (segment.unit <= unit) [found, at] = [segment, index];
  });
  const inside = found.from + unit - found.unit;
  if (inside <= found.to) return inside;
  const fold = scale.folds[at];
  if (fold === undefined) return found.to;
  return fold.from + (fold.to - fold.from) * Math.min(1, (unit - fold.unit) / fold.width);
}

export interface Placed {
  span: Span;
  from: number;
  to: number;
  lane: number;
}

/** Puts overlapping spans into lanes, first fit; a further attempt is drawn below the one before it. */
export function lanesOf(spans: { span: Span; from: number; to: number }[], lanesMax = LANES_MAX): { placed: Placed[]; lanes: number } {
  const sorted = [...spans].sort((a, b) => a.from - b.from || b.to - a.to || a.span.index - b.span.index);
  const ends: number[] = [];
  const placed = sorted.map(({ span, from, to }): Placed => {
    let lane = Math.min(Math.max(0, (span.attempt ?? 1) - 1), lanesMax - 1);
    while (lane < lanesMax - 1 && (ends[lane] ?? Number.NEGATIVE_INFINITY) > from) lane += 1;
    while (ends.length <= lane) ends.push(Number.NEGATIVE_INFINITY);
    ends[lane] = Math.max(ends[lane] as number, to);
    return { span, from, to, lane };
  });
  return { placed, lanes: Math.max(1, ends.length) };
}

/** The records of which something may lie between two times, as a range [from, to). */
export function recordsBetween(buckets: Bucket[], from: number, to: number): { from: number; to: number } {
  let first: number | null = null;
  let last = 0;
  for (const bucket of buckets) {
    const start = bucket.start_ms ?? Number.NEGATIVE_INFINITY;
    const end = bucket.end_ms ?? Number.POSITIVE_INFINITY;
    if (end < from || start > to) continue;
    first ??= bucket.from;
    last = bucket.to + 1;
  }
  return { from: first ?? 0, to: first === null ? 0 : last };
}

/** Whether order says more than time: nothing was measured, or hardly anything took a measurable time. */
export function prefersOrder(buckets: Bucket[]): boolean {
  const known = buckets.filter((bucket) => bucket.start_ms !== null);
  if (known.length === 0) return true;
  const busy = known.reduce((sum, bucket) => sum + bucket.busy_ms + bucket.wait_ms, 0);
  const first = known[0]?.start_ms ?? 0;
  const last = known.at(-1)?.end_ms ?? first;
  return busy < (last - first) * 0.25;
}

/** Round steps for an axis: about `wanted` of them between two values, none smaller than `least`. */
export function ticks(from: number, to: number, wanted: number, least = 0): number[] {
  const span = to - from;
  if (!(span > 0) || wanted < 1) return [];
  const raw = Math.max(span / wanted, least);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5, 10].find((one) => one * power >= raw) ?? 10) * power;
  const found: number[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) found.push(at);
  return found;
}
