/** Draws a timeline on a canvas. */

import { duration } from "../lib/format.ts";
import { look } from "../lib/status.ts";
import { oneLine, visible } from "../lib/text.ts";
import { ticks, toDomain, toUnit, type Placed, type Scale } from "../lib/timeline.ts";
import type { Bucket } from "../source/types.ts";

export const GUTTER = 92;
export const AXIS_HIGH = 26;
export const LANE_HIGH = 22;
export const TRACK_GAP = 14;
const SPAN_HIGH = 18;
const BUCKETS_HIGH = 54;
const LABEL_WIDTH_MIN = 34;
const NARROW_PX = 2.5;

export interface Track {
  name: string;
  title: string;
  top: number;
  lanes: number;
  placed: Placed[];
  /** Bars of many records each, when there are too many spans to draw. */
  buckets: Bucket[] | null;
}

export interface Scene {
  width: number;
  height: number;
  scale: Scale;
  from: number;
  to: number;
  isTime: boolean;
  tracks: Track[];
  cursor: { index: number; from: number; to: number } | null;
  lit: ReadonlySet<number>;
  brush: { from: number; to: number } | null;
  ink: (name: string) => string;
  fonts: { sans: string; mono: string };
}

export function trackHeight(lanes: number, isDense: boolean): number {
  return isDense ? BUCKETS_HIGH : lanes * LANE_HIGH;
}

export function xOf(scene: Pick<Scene, "width" | "from" | "to">, unit: number): number {
  return GUTTER + ((unit - scene.from) / Math.max(1e-9, scene.to - scene.from)) * (scene.width - GUTTER - 8);
}

export function unitOf(scene: Pick<Scene, "width" | "from" | "to">, x: number): number {
  return scene.from + ((x - GUTTER) / (scene.width - GUTTER - 8)) * (scene.to - scene.from);
}

export function draw(context: CanvasRenderingContext2D, scene: Scene): void {
  const { width, height, ink } = scene;
  context.clearRect(0, 0, width, height);
  drawFolds(context, scene);
  drawAxis(context, scene);
  context.save();
  context.beginPath();
  context.rect(GUTTER, 0, width - GUTTER, height);
  context.clip();
  if (scene.cursor !== null) drawCursor(context, scene, scene.cursor);
  for (const track of scene.tracks) {
    if (track.buckets === null) drawSpans(context, scene, track);
    else drawBuckets(context, scene, track, track.buckets);
  }
  if (scene.brush !== null) {
    const [a, b] = [xOf(scene, scene.brush.from), xOf(scene, scene.brush.to)];
    context.fillStyle = ink("--accent");
    context.globalAlpha = 0.15;
    context.fillRect(Math.min(a, b), 0, Math.abs(b - a), height);
    context.globalAlpha = 1;
  }
  context.restore();
  drawFoldLengths(context, scene);
  drawTitles(context, scene);
}

function drawTitles(context: CanvasRenderingContext2D, { tracks, ink, fonts, width }: Scene): void {
  context.font = `600 11px ${fonts.sans}`;
  context.textBaseline = "middle";
  for (const track of tracks) {
    const high = trackHeight(track.lanes, track.buckets !== null);
    context.fillStyle = ink("--muted");
    context.fillText(track.title, 12, track.top + Math.min(high, SPAN_HIGH) / 2 + 2);
    context.fillStyle = ink("--line");
    context.fillRect(0, track.top + high + TRACK_GAP / 2 - 1, width, 1);
  }
}

/** The room that the texts of a tick and of a fold take at most. */
const TICK_WIDE = 54;
const FOLD_WIDE = 90;

function drawAxis(context: CanvasRenderingContext2D, scene: Scene): void {
  const { ink, fonts, scale, width, height } = scene;
  context.font = `11px ${fonts.sans}`;
  context.textBaseline = "middle";
  let last = Number.NEGATIVE_INFINITY;
  const wanted = Math.max(2, Math.floor((width - GUTTER) / 110));
  for (const unit of ticks(scene.from, scene.to, wanted, scene.isTime ? 0 : 1)) {
    const x = xOf(scene, unit);
    if (unit > (scale.untimedFrom ?? Number.POSITIVE_INFINITY)) break;
    context.fillStyle = ink("--line");
    context.fillRect(Math.round(x), AXIS_HIGH - 4, 1, height);
    const value = toDomain(scale, unit);
    const text = scene.isTime ? duration(value) : String(Math.round(value));
    // The length of a fold stands in the same line, and takes the place.
    const isTaken = scale.folds.some((fold) => Math.abs(x + TICK_WIDE / 2 - xOf(scene, fold.unit + fold.width / 2)) < (TICK_WIDE + FOLD_WIDE) / 2);
    if (x - last < 64 || isTaken) continue;
    context.fillStyle = ink("--faint");
    context.fillText(text, x + 4, 12);
    last = x;
  }
  context.fillStyle = ink("--faint");
  context.fillText(scene.isTime ? "since start" : "record", 12, 12);
}

function drawFolds(context: CanvasRenderingContext2D, scene: Scene): void {
  const { ink, height } = scene;
  for (const fold of scene.scale.folds) {
    const from = xOf(scene, fold.unit);
    const to = xOf(scene, fold.unit + fold.width);
    if (to < GUTTER || from > scene.width) continue;
    const left = Math.max(from, GUTTER);
    context.fillStyle = ink("--panel-2");
    context.fillRect(left, AXIS_HIGH, to - left, height);
    context.save();
    context.beginPath();
    context.rect(left, 0, to - left, height);
    context.clip();
    context.strokeStyle = ink("--line-2");
    context.lineWidth = 1;
    for (let at = left - height; at < to; at += 9) {
      context.beginPath();
      context.moveTo(at, height);
      context.lineTo(at + height, 0);
      context.stroke();
    }
    context.restore();
  }
}

/** Writes the length of what was folded above each fold. */
function drawFoldLengths(context: CanvasRenderingContext2D, scene: Scene): void {
  const { ink, fonts } = scene;
  context.font = `600 11px ${fonts.sans}`;
  context.textBaseline = "middle";
  let free = GUTTER;
  for (const fold of scene.scale.folds) {
    const from = xOf(scene, fold.unit);
    const to = xOf(scene, fold.unit + fold.width);
    const text = `idle ${duration(fold.to - fold.from)}`;
    const wide = context.measureText(text).width + 10;
    const left = Math.min((from + to) / 2 - wide / 2, scene.width - wide);
    if (to < GUTTER || from > scene.width || left < free) continue;
    context.fillStyle = ink("--panel-2");
    context.fillRect(left, 2, wide, AXIS_HIGH - 6);
    context.fillStyle = ink("--muted");
    context.fillText(text, left + 5, 12);
    free = left + wide;
  }
}

function drawCursor(context: CanvasRenderingContext2D, scene: Scene, cursor: { from: number; to: number }): void {
  const from = xOf(scene, cursor.from);
  const wide = Math.max(2, xOf(scene, cursor.to) - from);
  context.fillStyle = scene.ink("--select");
  context.fillRect(from - 1, AXIS_HIGH - 4, wide + 2, scene.height);
  context.fillStyle = scene.ink("--accent");
  context.fillRect(from - 1, 0, 2, scene.height);
}

const FILLS: Record<string, string> = { steps: "--accent-soft", calls: "--good-soft", models: "--busy-soft", people: "--wait-soft", control: "--quiet-soft" };
const INKS: Record<string, string> = { steps: "--accent", calls: "--good", models: "--busy", people: "--wait", control: "--quiet" };

function drawSpans(context: CanvasRenderingContext2D, scene: Scene, track: Track): void {
  const { ink, fonts } = scene;
  context.font = `11.5px ${fonts.sans}`;
  context.textBaseline = "middle";
  let lastX = -1;
  let lastLane = -1;
  for (const { span, from, to, lane } of track.placed) {
    const x = xOf(scene, from);
    const wide = Math.max(NARROW_PX, xOf(scene, to) - x - 1);
    if (x + wide < GUTTER || x > scene.width) continue;
    const tone = look(span.status).tone;
    const isBad = tone === "bad";
    // Spans that fall on the same pixel are drawn once, unless they failed.
    if (wide <= NARROW_PX && !isBad && Math.round(x) === lastX && lane === lastLane) continue;
    [lastX, lastLane] = [Math.round(x), lane];
    const y = track.top + lane * LANE_HIGH;
    const stroke = ink(isBad ? "--bad" : tone === "warn" ? "--warn" : (INKS[track.name] ?? "--quiet"));
    context.fillStyle = wide <= NARROW_PX ? stroke : ink(isBad ? "--bad-soft" : (FILLS[track.name] ?? "--quiet-soft"));
    context.beginPath();
    if (wide > 6) context.roundRect(x, y, wide, SPAN_HIGH, 3);
    else context.rect(x, y, wide, SPAN_HIGH);
    context.fill();
    if (wide > 6) {
      context.strokeStyle = stroke;
      context.lineWidth = 1;
      if (span.status === "waiting" || span.end_ms === null) context.setLineDash([4, 3]);
      context.stroke();
      context.setLineDash([]);
    }
    if (scene.lit.has(span.index)) {
      context.strokeStyle = ink("--lit-line");
      context.lineWidth = 2.5;
      context.strokeRect(x - 1, y - 1, wide + 2, SPAN_HIGH + 2);
    }
    if (wide < LABEL_WIDTH_MIN) {
      if (isBad && wide > 8) {
        context.fillStyle = stroke;
        context.fillText("✗", x + 2, y + SPAN_HIGH / 2 + 1);
      }
      continue;
    }
    context.save();
    context.beginPath();
    context.rect(Math.max(x, GUTTER), y, wide - 2, SPAN_HIGH);
    context.clip();
    context.fillStyle = ink("--ink");
    const sign = isBad ? "✗ " : span.status === "waiting" ? "‖ " : span.status === "undecided" ? "? " : (span.attempt ?? 1) > 1 ? `↻${span.attempt} ` : "";
    context.fillText(`${sign}${oneLine(visible(span.name), 60)}`, Math.max(x, GUTTER) + 5, y + SPAN_HIGH / 2 + 1);
    context.restore();
  }
}

function drawBuckets(context: CanvasRenderingContext2D, scene: Scene, track: Track, buckets: Bucket[]): void {
  const { ink, scale, isTime } = scene;
  const countOf = (bucket: Bucket): number => (track.name === "steps" ? bucket.steps : track.name === "calls" ? bucket.calls : bucket.people);
  const most = Math.max(1, ...buckets.map(countOf));
  for (const bucket of buckets) {
    const from = xOf(scene, isTime ? toUnit(scale, bucket.start_ms ?? 0) : bucket.from);
    const to = xOf(scene, isTime ? toUnit(scale, bucket.end_ms ?? bucket.start_ms ?? 0) : bucket.to + 1);
    if (to < GUTTER || from > scene.width || countOf(bucket) === 0) continue;
    const tall = Math.max(2, (countOf(bucket) / most) * (BUCKETS_HIGH - 4));
    context.fillStyle = ink(INKS[track.name] ?? "--quiet");
    context.globalAlpha = 0.55;
    context.fillRect(from, track.top + BUCKETS_HIGH - tall, Math.max(1, to - from), tall);
    context.globalAlpha = 1;
    if (track.name === "steps" && bucket.failed > 0) {
      context.fillStyle = ink("--bad");
      context.fillRect(from, track.top + BUCKETS_HIGH - tall, Math.max(2, to - from), Math.max(3, (bucket.failed / Math.max(1, bucket.steps)) * tall));
      context.fillText("✗", from, track.top + BUCKETS_HIGH - tall - 6);
    }
  }
}
