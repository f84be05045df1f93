import { MAX_OPEN_GAPS } from "./limits.ts";
import {
  isChained,
  type ChainGap,
  type ChainLine,
  type ChainRange,
  type ChainState,
  type ChainVerdict,
} from "./chain.ts";

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
  if (seq === gap.to && gap.before !== undefined && line.id !== gap.before) {
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
