/** Differences of two texts by lines. */

export interface DiffLine {
  kind: "same" | "added" | "removed" | "skipped";
  text: string;
}

/** Above this many lines of either side the middle is shown as removed and added, without an alignment. */
const LINES_MAX = 2000;
const CONTEXT_LINES = 3;

/** Returns the lines of both texts, aligned by the longest common subsequence; long equal stretches are folded. */
export function diffLines(before: string, after: string): DiffLine[] {
  const left = before.split("\n");
  const right = after.split("\n");
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start += 1;
  let end = 0;
  while (end < left.length - start && end < right.length - start && left[left.length - 1 - end] === right[right.length - 1 - end]) end += 1;
  const same = (text: string): DiffLine => ({ kind: "same", text });
  const lines = [
    ...left.slice(0, start).map(same),
    ...middle(left.slice(start, left.length - end), right.slice(start, right.length - end)),
    ...left.slice(left.length - end).map(same),
  ];
  return fold(lines);
}

function middle(left: string[], right: string[]): DiffLine[] {
  const removed = (text: string): DiffLine => ({ kind: "removed", text });
  const added = (text: string): DiffLine => ({ kind: "added", text });
  if (left.length > LINES_MAX || right.length > LINES_MAX || left.length === 0 || right.length === 0) {
    return [...left.map(removed), ...right.map(added)];
  }
  const width = right.length + 1;
  const lengths = new Uint16Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = left[i] === right[j]
        ? (lengths[(i + 1) * width + j + 1] as number) + 1
        : Math.max(lengths[(i + 1) * width + j] as number, lengths[i * width + j + 1] as number);
    }
  }
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < left.length && j < right.length) {
    if (left[i] === right[j]) {
      lines.push({ kind: "same", text: left[i] as string });
      i += 1;
      j += 1;
    } else if ((lengths[(i + 1) * width + j] as number) >= (lengths[i * width + j + 1] as number)) {
      lines.push(removed(left[i++] as string));
    } else {
      lines.push(added(right[j++] as string));
    }
  }
  return [...lines, ...left.slice(i).map(removed), ...right.slice(j).map(added)];
}

function fold(lines: DiffLine[]): DiffLine[] {
  const near = new Uint8Array(lines.length);
  lines.forEach((line, at) => {
    if (line.kind === "same") return;
    for (let i = Math.max(0, at - CONTEXT_LINES); i <= Math.min(lines.length - 1, at + CONTEXT_LINES); i += 1) near[i] = 1;
  });
  const found: DiffLine[] = [];
  for (let at = 0; at < lines.length; ) {
    if (near[at] === 1) {
      found.push(lines[at++] as DiffLine);
      continue;
    }
    let to = at;
    while (to < lines.length && near[to] === 0) to += 1;
    found.push(to - at === 1 ? (lines[at] as DiffLine) : { kind: "skipped", text: `${to - at} equal lines` });
    at = to;
  }
  return found;
}
