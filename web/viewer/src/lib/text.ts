/** Text of a run as text: what could change how a page reads is made visible, and long texts are cut where it is said. */

export interface Piece {
  text: string;
  /** The code point of a character that is shown by its number; nothing for plain text. */
  control: string | null;
}

/** C0 and C1 controls but tab and line feed, marks of direction, invisible characters, and half surrogate pairs. */
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffc]|[\u{e0000}-\u{e0fff}]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/gu;
/** A joiner or a variation selector after an emoji is part of its spelling and hides nothing. */
const EMOJI_BEFORE = /\p{Extended_Pictographic}[\u{1f3fb}-\u{1f3ff}]?\ufe0f?$/u;

/** Splits a text into plain pieces and characters that must be shown by their number. */
export function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    const char = match[0];
    const at = match.index;
    if ((char === "\u200d" || char === "\ufe0f") && EMOJI_BEFORE.test(text.slice(Math.max(0, at - 6), at))) continue;
    if (at > from) found.push({ text: text.slice(from, at), control: null });
    found.push({ text: codePoint(char), control: codePoint(char) });
    from = at + char.length;
  }
  if (from < text.length) found.push({ text: text.slice(from), control: null });
  return found;
}

/** The same in one string, for titles, canvases and attributes. */
export function visible(text: string): string {
  return pieces(text).map((piece) => (piece.control === null ? piece.text : `⟨${piece.control}⟩`)).join("");
}

function codePoint(char: string): string {
  return `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Cuts a text for one line: line feeds become spaces, and at most `max` characters are left. */
export function oneLine(text: string, max: number): string {
  const start = cut(text, max * 4).replace(/\s+/g, " ").trim();
  return start.length <= max ? (text.length > max * 4 ? `${start}…` : start) : `${cut(start, max - 1)}…`;
}

/** Cuts a text without leaving half of a surrogate pair. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const last = text.charCodeAt(max - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? max - 1 : max);
}
