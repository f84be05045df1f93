/** Longer patterns and paths match nothing. */
const MAX_PATH_LENGTH = 1_024;
const MAX_SEGMENTS = 64;

/** Whether two patterns have a path in common: `**` is any folders or none, `*` and `?` stay within a name. */
export function patternsOverlap(a: string, b: string): boolean {
  const left = segments(a);
  const right = segments(b);
  if (left === undefined || right === undefined) return false;
  return overlap(
    left,
    right,
    (segment) => segment === "**",
    (x, y) => overlap(Array.from(x), Array.from(y), isStar, sameCharacter),
  );
}

function isStar(character: string): boolean {
  return character === "*";
}

function sameCharacter(a: string, b: string): boolean {
  return a === b || a === "?" || b === "?";
}

/** Names of a relative path, `.` and `..` resolved; `undefined` when it is empty or too long. */
function segments(path: string): string[] | undefined {
  if (path.length > MAX_PATH_LENGTH) return undefined;
  const names: string[] = [];
  for (const name of (path.endsWith("/") ? `${path}**` : path).split("/")) {
    if (name === "..") names.pop();
    else if (name !== "" && name !== ".") names.push(name);
  }
  return names.length === 0 || names.length > MAX_SEGMENTS ? undefined : names;
}

/**
 * Whether two sequences can be equal, where an item for which `isAny` holds matches any run of
 * items of the other, or none. Fills one table from the end: no backtracking to blow up.
 */
function overlap<T>(
  a: readonly T[],
  b: readonly T[],
  isAny: (item: T) => boolean,
  fits: (x: T, y: T) => boolean,
): boolean {
  let below: boolean[] = [];
  for (let i = a.length; i >= 0; i--) {
    const row = Array.from({ length: b.length + 1 }, () => false);
    const x = a[i];
    for (let j = b.length; j >= 0; j--) {
      const y = b[j];
      if (x === undefined && y === undefined) row[j] = true;
      else if (x !== undefined && isAny(x)) {
        row[j] = below[j] === true || (y !== undefined && row[j + 1] === true);
      } else if (y !== undefined && isAny(y)) {
        row[j] = row[j + 1] === true || (x !== undefined && below[j] === true);
      } else if (x !== undefined && y !== undefined) {
        row[j] = below[j + 1] === true && fits(x, y);
      }
    }
    below = row;
  }
  return below[0] === true;
}
