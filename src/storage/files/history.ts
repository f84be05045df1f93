/** An authentic line of a log as the log is now. Copies of known lines are listed each time. */
export interface FoundLine {
  readonly id: string;
  /** Of chained lines. */
  readonly seq: number | undefined;
  /** Where it ends in the file. */
  readonly end: number;
  readonly line: number;
}

export type HistoryVerdict = "same" | "behind" | "reordered" | "rewritten";

export interface ComparedHistory {
  readonly verdict: HistoryVerdict;
  /** The known lines in their order, up to where that order holds; for "same" all of them. */
  readonly inOrder: readonly FoundLine[];
  /** A known line that is missing, if there is one. */
  readonly missing: string | undefined;
  /** A line that is not known, if there is one before the first hole behind what is missing. */
  readonly other: string | undefined;
}

/**
 * How a log as it is now relates to what was taken in from it. Spec 1.6: one that lacks known
 * lines is "behind", or "rewritten" when it has others; one that has all of them is the "same" when
 * they are in the order in which we took them in, or in that of their `seq`, and "reordered"
 * otherwise, or while new lines of the chain come before known ones.
 *
 * @param known ids of the lines that were taken in, in that order
 * @param holes where zero bytes are: so many of `found` come before each
 */
export function compareHistory(
  known: readonly string[],
  found: readonly FoundLine[],
  holes: readonly number[],
): ComparedHistory {
  const ids = [...new Set(known)];
  const isKnown = new Set(ids);
  const first = new Map<string, number>();
  for (const [at, { id }] of found.entries()) if (!first.has(id)) first.set(id, at);
  const missing = ids.findIndex((id) => !first.has(id));
  if (missing >= 0) {
    // A power cut may take lines and leave later ones. Until its author has put them back, nothing
    // that comes after the zero bytes counts. Spec 4.1.
    const before = (first.get(ids[missing - 1] ?? "") ?? -1) + 1;
    const upTo = holes.find((each) => each >= before) ?? found.length;
    const other = found.slice(0, upTo).find(({ id }) => !isKnown.has(id))?.id;
    const verdict = other === undefined ? "behind" : "rewritten";
    return { verdict, inOrder: asTaken(ids, found), missing: ids[missing], other };
  }
  const taken = asTaken(ids, found);
  const chained = asChained(isKnown, first, found);
  const inOrder = taken.length < ids.length && chained !== undefined ? chained : taken;
  const isSame = inOrder.length === ids.length && !isNewBefore(inOrder, isKnown, found);
  const verdict = isSame ? "same" : "reordered";
  return { verdict, inOrder, missing: undefined, other: undefined };
}

/** The known lines in the order in which we took them in, as far as they are in it. */
function asTaken(ids: readonly string[], found: readonly FoundLine[]): FoundLine[] {
  const inOrder: FoundLine[] = [];
  for (const each of found) if (each.id === ids[inOrder.length]) inOrder.push(each);
  return inOrder;
}

/** The known lines in the order of the log, if it is the order of their chain. */
function asChained(
  isKnown: ReadonlySet<string>,
  first: ReadonlyMap<string, number>,
  found: readonly FoundLine[],
): FoundLine[] | undefined {
  const lines = found.filter(({ id }, at) => isKnown.has(id) && first.get(id) === at);
  const seqs = lines.flatMap(({ seq }) => seq ?? []);
  const rises = seqs.every((seq, at) => at === 0 || seq > (seqs[at - 1] ?? 0));
  return seqs.length > 0 && rises ? lines : undefined;
}

/** Whether a line that continues the chain comes before one that we know. */
function isNewBefore(
  inOrder: readonly FoundLine[],
  isKnown: ReadonlySet<string>,
  found: readonly FoundLine[],
): boolean {
  const end = inOrder.at(-1)?.end ?? 0;
  const top = inOrder.reduce((most, { seq = 0 }) => Math.max(most, seq), 0);
  return (
    top > 0 && found.some(({ id, seq = 0, end: at }) => at < end && seq > top && !isKnown.has(id))
  );
}
