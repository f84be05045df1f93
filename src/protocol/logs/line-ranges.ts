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
 * Adds the ranges that a later beat names: a line that is in already keeps its beat. What is given and
 * what is made of it rises and does not overlap, neighbours of one beat are one range, and however
 * many lines a range has, it costs as much as one line. Only what the new ranges touch is written
 * again. Where more than `max` ranges would come of it, nothing is added. Spec 3.2.
 */
export function nameRanges(
  named: NamedRange[],
  ranges: readonly LineRange[],
  beat: number,
  max: number,
): void {
  const added = union(ranges);
  const [first] = added;
  if (first === undefined) return;
  // What is before all of them stays as it is.
  const from = Math.max(
    lastAtOrBelow(named, first.first - 1, (each) => each.first),
    0,
  );
  const merged: NamedRange[] = [];
  let next = from;
  for (const range of added) {
    let free = range.first;
    for (let each = named[next]; each !== undefined; each = named[next]) {
      if (each.first > range.last) break;
      if (each.first > free) append(merged, { first: free, last: each.first - 1, beat });
      free = Math.max(free, each.last + 1);
      // One that goes on behind this range may hold the beginning of the next one, too.
      if (each.last > range.last) break;
      append(merged, each);
      next += 1;
    }
    if (free <= range.last) append(merged, { first: free, last: range.last, beat });
  }
  // The next one may touch the last of them.
  const after = named[next];
  if (after !== undefined) append(merged, after);
  const replaced = next - from + (after === undefined ? 0 : 1);
  if (named.length - replaced + merged.length > max) return;
  named.splice(from, replaced, ...merged);
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
