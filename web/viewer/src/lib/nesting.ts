/** Puts rows under the rows they belong to, as far as those are in the list; the order stays otherwise. */
export function nested<T>(rows: T[], idOf: (row: T) => string, parentOf: (row: T) => string | null): { item: T; depth: number }[] {
  const known = new Map(rows.map((row) => [idOf(row), row]));
  const children = new Map<string, T[]>();
  const roots: T[] = [];
  for (const row of rows) {
    const parent = parentOf(row);
    if (parent === null || !known.has(parent) || parent === idOf(row)) roots.push(row);
    else children.set(parent, [...(children.get(parent) ?? []), row]);
  }
  const found: { item: T; depth: number }[] = [];
  const seen = new Set<string>();
  const add = (row: T, depth: number): void => {
    const id = idOf(row);
    if (seen.has(id)) return;
    seen.add(id);
    found.push({ item: row, depth });
    for (const child of children.get(id) ?? []) add(child, depth + 1);
  };
  for (const row of roots) add(row, 0);
  // Rows that name each other in a circle have no root; they are shown all the same.
  for (const row of rows) add(row, 0);
  return found;
}
