import type { JournalEntry, LineEntry } from "./journal-entries.ts";
import type { JudgedLine } from "../intake/judged-line.ts";

/**
 * One line, or neighbours that prove nothing as one: then with the first of them, how many they are,
 * and whether they were refused for several reasons.
 */
export interface JudgedRun {
  readonly line: JudgedLine;
  readonly run?: {
    readonly first: JudgedLine;
    readonly count: number;
    readonly isMixed: boolean;
  };
}

/**
 * The lines in their order, those that prove nothing as runs: any program can write them by the
 * million, so a run costs one note and one event. Blank lines between them belong to the run.
 */
export function runsOf(judged: readonly JudgedLine[]): JudgedRun[] {
  const runs: JudgedRun[] = [];
  let blanks: JudgedRun[] = [];
  for (const line of judged) {
    const before = runs.at(-1);
    const isInRun = before?.line.verdict === "unauthentic" && before.line.live === line.live;
    if (isInRun && line.verdict === "blank") {
      blanks.push({ line });
      continue;
    }
    if (isInRun && line.verdict === "unauthentic") {
      const { first, count, isMixed } = before.run ?? {
        first: before.line,
        count: 1,
        isMixed: false,
      };
      const run = { first, count: count + 1, isMixed: isMixed || line.reason !== first.reason };
      runs[runs.length - 1] = { line, run };
    } else runs.push(...blanks, { line });
    blanks = [];
  }
  return [...runs, ...blanks];
}

/**
 * Adds an entry to those that wait to be written. A run that goes on stays one entry: lines that
 * others append little by little cost our journal at most one note for each authentic line.
 */
export function addEntry(waiting: JournalEntry[], entry: JournalEntry): void {
  const [last, secondLast] = isPassed(entry) ? lastOf(waiting, entry.log) : [];
  const before = last === undefined ? undefined : (waiting[last] as LineEntry);
  if (!isPassed(entry) || last === undefined || before === undefined || !follows(entry, before)) {
    waiting.push(entry);
    return;
  }
  if (before.verdict === entry.verdict) {
    waiting[last] = together(before, entry);
    return;
  }
  // A run goes on behind the blank lines after it.
  const run = secondLast === undefined ? undefined : (waiting[secondLast] as LineEntry);
  if (secondLast === undefined || run?.verdict !== entry.verdict || !follows(before, run)) {
    waiting.push(entry);
    return;
  }
  if (entry.verdict === "blank") {
    waiting.push(entry);
    return;
  }
  waiting[secondLast] = together(run, entry);
  waiting.splice(last, 1);
}

/** Where the last two entries of a log are among the last ones, which can wait for each other. */
function lastOf(waiting: readonly JournalEntry[], log: string): number[] {
  const found: number[] = [];
  for (let at = waiting.length - 1; at >= 0 && found.length < 2; at -= 1) {
    const entry = waiting[at];
    if (entry === undefined || !isPassed(entry)) break;
    if (entry.log === log) found.push(at);
  }
  return found;
}

/** A line that is passed over. Beside those of other logs, its place in the journal says nothing. */
function isPassed(entry: JournalEntry): entry is LineEntry {
  return entry.k === "line" && (entry.verdict === "unauthentic" || entry.verdict === "blank");
}

function follows(entry: LineEntry, before: LineEntry): boolean {
  return entry.start === before.end && entry.old === before.old;
}

function together(before: LineEntry, after: LineEntry): LineEntry {
  const last: { -readonly [Field in keyof LineEntry]: LineEntry[Field] } = {
    ...after,
    start: before.start,
  };
  if (after.verdict === "blank") return last;
  const first = before.first ?? before.line;
  const count = (before.count ?? 1) + (after.count ?? 1);
  if (after.reason === before.reason) return { ...last, first, count };
  delete last.reason;
  return { ...last, first, count };
}
