import { MAX_OPEN_GAPS } from "./limits.ts";
import type { Message } from "./message.ts";

/** The last chained line of a log. */
export interface ChainHead {
  readonly seq: number;
  /** Its event id: the `prev` of the line after it. */
  readonly id: string;
}

/** Lines `from` to `to` that have not been seen, and what their neighbours say of them. */
export interface ChainGap {
  readonly from: number;
  readonly to: number;
  /** Id of line `from − 1`; undefined at the beginning of the log. */
  readonly after: string | undefined;
  /** Id that line `to` must have: the `prev` of line `to + 1`. */
  readonly before: string;
}

/** What is remembered of the chain of one log: plain data, updated by `advance`. */
export interface ChainState {
  /** Undefined until the log has shown a chained line. */
  head: ChainHead | undefined;
  /** In order of `from`, without overlap. */
  gaps: readonly ChainGap[];
}

export function emptyChain(): ChainState {
  return { head: undefined, gaps: [] };
}

export type ChainLine = Pick<Message, "version" | "id" | "log" | "seq" | "prev">;

/**
 * What a line is to its log. Spec 1.6.
 * - `first`: the first chained line; `startsAt` above 1 means that the log needs its archive or the
 *   operator's word.
 * - `next`: follows the head.
 * - `duplicate`: is known already.
 * - `gap`: lines `from` to `to` before it are missing.
 * - `filler`: fills one of the gaps and links to all neighbours that are known.
 * - `fork`: contradicts what the author wrote before. The chain does not move.
 * - `unchained`: is outside the chain; `afterChained` when the log has shown chained lines.
 */
export type ChainVerdict =
  | { readonly outcome: "first"; readonly startsAt: number }
  | { readonly outcome: "next" }
  | { readonly outcome: "duplicate" }
  | { readonly outcome: "gap"; readonly from: number; readonly to: number }
  | { readonly outcome: "filler"; readonly gap: ChainGap }
  | { readonly outcome: "fork"; readonly detail: string }
  | { readonly outcome: "unchained"; readonly afterChained: boolean };

/** Only v3.1 lines have the event id that the next one names, and `log` ties `seq` to its file. */
export function isChained(line: ChainLine): line is ChainLine & { seq: number; log: string } {
  return line.version === "v3.1" && line.seq !== undefined && line.log !== undefined;
}

/**
 * Judges an authentic line of a log, without changing anything. `known` says that a line with this
 * id has been taken in from this log before. Whether `log` and `wire` name this place is checked
 * before (2.4: `wrong_file`, `wrong_wire`).
 */
export function judgeLine(
  chain: Readonly<ChainState>,
  line: ChainLine,
  known: boolean,
): ChainVerdict {
  if (known) return { outcome: "duplicate" };
  const { head } = chain;
  if (!isChained(line)) return { outcome: "unchained", afterChained: head !== undefined };
  if (line.id === head?.id) return { outcome: "duplicate" };
  const { seq, prev } = line;
  if (seq === 1 && prev !== undefined) return fork("line 1 names a line before it");
  if (seq > 1 && prev === undefined) return fork(`line ${seq} names no line before it`);
  if (head === undefined) return { outcome: "first", startsAt: seq };
  if (seq === head.seq + 1) {
    return prev === head.id
      ? { outcome: "next" }
      : fork(`line ${seq} does not follow line ${head.seq}`);
  }
  if (seq <= head.seq) return judgeFiller(chain, line, seq);
  if (chain.gaps.length >= MAX_OPEN_GAPS) return fork(`more than ${MAX_OPEN_GAPS} gaps are open`);
  return { outcome: "gap", from: head.seq + 1, to: seq - 1 };
}

/** Lines of a chain by their numbers, both ends included. */
export interface ChainRange {
  readonly from: number;
  readonly to: number;
}

/** The lines that are missing right before one with that verdict. */
export function missingBefore(verdict: ChainVerdict): ChainRange | undefined {
  if (verdict.outcome === "gap") return verdict;
  if (verdict.outcome !== "first" || verdict.startsAt === 1) return undefined;
  return { from: 1, to: verdict.startsAt - 1 };
}

function fork(detail: string): ChainVerdict {
  return { outcome: "fork", detail };
}

/** Spec 1.6: a filler that arrives later must link on both sides. */
function judgeFiller(chain: Readonly<ChainState>, line: ChainLine, seq: number): ChainVerdict {
  const gap = chain.gaps.find(({ from, to }) => from <= seq && seq <= to);
  if (gap === undefined) return fork(`another line ${seq} is known`);
  if (seq === gap.from && line.prev !== gap.after) {
    return fork(`line ${seq} does not follow line ${seq - 1}`);
  }
  if (seq === gap.to && line.id !== gap.before) {
    return fork(`line ${seq + 1} does not follow line ${seq}`);
  }
  if (chain.gaps.length >= MAX_OPEN_GAPS && seq > gap.from && seq < gap.to) {
    return fork(`more than ${MAX_OPEN_GAPS} gaps are open`);
  }
  return { outcome: "filler", gap };
}

/** Moves the chain past a line, given the verdict on it. Forks and strays move nothing. */
export function advance(chain: ChainState, line: ChainLine, verdict: ChainVerdict): void {
  switch (verdict.outcome) {
    case "first":
      if (verdict.startsAt > 1) openGap(chain, line, 1, verdict.startsAt - 1);
      moveHead(chain, line);
      return;
    case "next":
      moveHead(chain, line);
      return;
    case "gap":
      openGap(chain, line, verdict.from, verdict.to);
      moveHead(chain, line);
      return;
    case "filler":
      chain.gaps = chain.gaps.flatMap((gap) => (gap === verdict.gap ? remains(gap, line) : [gap]));
      return;
    case "duplicate":
    case "fork":
    case "unchained":
  }
}

function moveHead(chain: ChainState, line: ChainLine): void {
  chain.head = { seq: line.seq as number, id: line.id };
}

function openGap(chain: ChainState, line: ChainLine, from: number, to: number): void {
  const gap = { from, to, after: chain.head?.id, before: line.prev as string };
  chain.gaps = [...chain.gaps, gap];
}

/** What is still missing of a gap once a line in it has come. */
function remains(gap: ChainGap, line: ChainLine): ChainGap[] {
  const seq = line.seq as number;
  const left = { from: gap.from, to: seq - 1, after: gap.after, before: line.prev as string };
  const right = { from: seq + 1, to: gap.to, after: line.id, before: gap.before };
  return [left, right].filter(({ from, to }) => from <= to);
}
