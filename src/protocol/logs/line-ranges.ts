/** Lines from `first` to `last`, both included. */
export interface LineRange {
  readonly first: number;
  readonly last: number;
}

/** Lines that the beat at line `beat` was the first to name. */
export interface NamedRange extends LineRange {
  readonly beat: number;
}

/**
 * The ranges with those that a later beat names: a line that is in already keeps its beat. What is
 * given and what is returned rises and does not overlap, neighbours of one beat are one range, and
 * however many lines a range has, it costs as much as one line. Spec 3.2.
 */
export function withNamed(
  named: readonly NamedRange[],
  ranges: readonly LineRange[],
  beat: number,
): NamedRange[] {
  const added = union(ranges);
  const [first] = added;
  if (first === undefined) return [...named];
  // What lies before all of them stays as it is.
  const keep = Math.max(
    lastAtOrBelow(named, first.first - 1, (each) => each.first),
    0,
  );
  const merged: NamedRange[] = named.slice(0, keep);
  let next = keep;
  for (const range of added) {
    let from = range.first;
    for (let each = named[next]; each !== undefined; each = named[next]) {
      if (each.first > range.last) break;
      if (each.first > from) append(merged, { first: from, last: each.first - 1, beat });
      from = Math.max(from, each.last + 1);
      // One that goes on behind this range may hold the beginning of the next one, too.
      if (each.last > range.last) break;
      append(merged, each);
      next += 1;
    }
    if (from <= range.last) append(merged, { first: from, last: range.last, beat });
  }
  for (const each of named.slice(next)) append(merged, each);
  return merged;
}

/** The line of the first beat that named that line; undefined when none did. */
export function beatNaming(named: readonly NamedRange[], line: number): number | undefined {
  const range = named[lastAtOrBelow(named, line, (each) => each.first)];
  return range !== undefined && line <= range.last ? range.beat : undefined;
}

/** In order, and those that overlap or touch as one. */
function union(ranges: readonly LineRange[]): LineRange[] {
  const sorted = [...ranges].sort((a, b) => a.first - b.first);
  const merged: LineRange[] = [];
  for (const range of sorted) {
    const before = merged.at(-1);
    if (before === undefined || range.first > before.last + 1) merged.push(range);
    else if (range.last > before.last) {
      merged[merged.length - 1] = { first: before.first, last: range.last };
    }
  }
  return merged;
}

function append(merged: NamedRange[], range: NamedRange): void {
  const before = merged.at(-1);
  if (before === undefined || before.beat !== range.beat || before.last + 1 !== range.first) {
    merged.push(range);
  } else {
    merged[merged.length - 1] = { ...before, last: range.last };
  }
}

/** Index of the last item whose rising key is at most `limit`; -1 when there is none. */
export function lastAtOrBelow<T>(
  items: readonly T[],
  limit: number,
  key: (item: T) => number,
): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (key(items[middle] as T) <= limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
