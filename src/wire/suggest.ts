/** The candidate that `word` was probably meant to be, or undefined when none is near. */
export function closest(word: string, candidates: Iterable<string>): string | undefined {
  // A typo in three; of a short word, one letter.
  let best = Math.max(1, Math.floor(word.length / 3)) + 1;
  let found: string | undefined;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= best) continue;
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < best) {
      best = distance;
      found = candidate;
    }
  }
  return found;
}

/** Letters put in, left out, changed, or swapped with their neighbour. */
function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      current[column] = Math.min(
        at(previous, column) + 1,
        at(current, column - 1) + 1,
        at(previous, column - 1) + (same ? 0 : 1),
        row > 1 && column > 1 && swapped ? at(beforePrevious, column - 2) + 1 : Infinity,
      );
    }
    beforePrevious = previous;
    previous = current;
  }
  return at(previous, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Infinity;
}
