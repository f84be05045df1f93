/** Longer patterns and paths match nothing. */
const MAX_PATH_LENGTH = 1_024;
const MAX_SEGMENTS = 64;

/**
 * Whether two patterns have a path in common: `**` is any folders or none, `*` and `?` stay within a
 * name. One that ends with a plain name may mean a file or a folder: it meets what is below that name
 * where the other pattern spells the name as a folder. Only their text counts, so that all readers
 * agree, whatever they have on disk. Spec 3.6.
 */
export function patternsOverlap(a: string, b: string): boolean {
  const left = segments(a);
  const right = segments(b);
  if (left === undefined || right === undefined) return false;
  return haveCommonPath(left, right) || goesBelow(left, right) || goesBelow(right, left);
}

function haveCommonPath(left: readonly string[], right: readonly string[]): boolean {
  return overlap(left, right, {
    takesAny: isAnyFolders,
    takesAnyOfOther: isAnyFolders,
    fits: (x, y) =>
      overlap(Array.from(x), Array.from(y), {
        takesAny: isStar,
        takesAnyOfOther: isStar,
        fits: (one, other) => one === other || one === "?" || other === "?",
      }),
  });
}

/** Whether the other pattern names something in the folder that this one names. */
function goesBelow(names: readonly string[], other: readonly string[]): boolean {
  const last = names.at(-1) ?? "";
  if (isWild(last)) return false;
  return other
    .slice(0, -1)
    .some((name, at) => name === last && haveCommonPath(names, other.slice(0, at + 1)));
}

/**
 * Whether a pattern matches that path, which is no pattern: `*` in it is a character. A plain name at
 * the end of the pattern matches everything below it, too: nothing is below a file.
 */
export function patternCovers(pattern: string, path: string): boolean {
  const names = segments(pattern);
  const right = segments(path);
  if (names === undefined || right === undefined) return false;
  const left = isWild(names.at(-1) ?? "") ? names : [...names, "**"];
  return overlap(left, right, {
    takesAny: isAnyFolders,
    takesAnyOfOther: never,
    fits: (x, y) =>
      // Any folders, also none: no pattern of one name matches that.
      !isAnyFolders(y) &&
      // Most names are too short for most patterns.
      x.replaceAll("*", "").length <= y.length &&
      overlap(Array.from(x.replace(/\*{2,}/gu, "*")), Array.from(y), {
        takesAny: isStar,
        takesAnyOfOther: never,
        fits: (one, other) => one === other || (one === "?" && other !== "*"),
      }),
  });
}

/**
 * Whether a pattern matches every path that another one matches; no where that is unsure. A plain name
 * at the end of the other may be a folder: what is below it counts.
 */
export function patternIncludes(pattern: string, other: string): boolean {
  const last = segments(other)?.at(-1) ?? "";
  return patternCovers(pattern, other) && (isWild(last) || patternCovers(pattern, `${other}/**`));
}

/** Whether any of those patterns matches a path, for many paths: most are told by how they begin. */
export function pathMatcher(patterns: readonly string[]): (path: string) => boolean {
  const all = patterns.map((pattern) => {
    const names = segments(pattern) ?? [];
    const firstWild = names.findIndex((name) => isWild(name));
    return { pattern, begin: firstWild === -1 ? names : names.slice(0, firstWild) };
  });
  return (path) => {
    const names = segments(path) ?? [];
    return all.some(
      ({ pattern, begin }) =>
        begin.every((name, at) => name === names[at]) && patternCovers(pattern, path),
    );
  };
}

/** Whether a pattern can match a path of the project: not one above it, nor one of the disk's root. */
export function isProjectPattern(pattern: string): boolean {
  return (
    !pattern.startsWith("/") &&
    !pattern.split("/").includes("..") &&
    segments(pattern) !== undefined
  );
}

function isWild(name: string): boolean {
  return /[*?]/u.test(name);
}

function isAnyFolders(name: string): boolean {
  return name === "**";
}

function isStar(character: string): boolean {
  return character === "*";
}

function never(): boolean {
  return false;
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

interface Matching<T> {
  /** Whether an item of the first matches any run of items of the other, or none. */
  takesAny(item: T): boolean;
  /** The same of an item of the second. */
  takesAnyOfOther(item: T): boolean;
  fits(x: T, y: T): boolean;
}

/**
 * Whether two sequences can be equal, by what their items match. Fills one table from the end: no
 * backtracking to blow up.
 */
function overlap<T>(
  a: readonly T[],
  b: readonly T[],
  { takesAny, takesAnyOfOther, fits }: Matching<T>,
): boolean {
  let [row, below] = [new Uint8Array(b.length + 2), new Uint8Array(b.length + 2)];
  for (let i = a.length; i >= 0; i--) {
    [row, below] = [below.fill(0), row];
    const x = a[i];
    for (let j = b.length; j >= 0; j--) {
      const y = b[j];
      let is: boolean;
      if (x === undefined && y === undefined) is = true;
      else if (x !== undefined && takesAny(x)) {
        is = below[j] === 1 || (y !== undefined && row[j + 1] === 1);
      } else if (y !== undefined && takesAnyOfOther(y)) {
        is = row[j + 1] === 1 || (x !== undefined && below[j] === 1);
      } else is = x !== undefined && y !== undefined && below[j + 1] === 1 && fits(x, y);
      if (is) row[j] = 1;
    }
  }
  return row[0] === 1;
}
