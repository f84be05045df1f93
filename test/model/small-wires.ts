// Every wire of a few lines that two agents can write with a small alphabet of moves.
import type { JsonValue } from "../../src/wire/json/json.ts";
import { idOf, instant } from "./lines.ts";
import {
  fieldsOf,
  findingsOf,
  isLeave,
  placeOf,
  readWire,
  samePlace,
  threadOf,
  type Findings,
  type ModelLine,
  type Pinned,
  type Place,
} from "./model.ts";
import {
  findBoundAgainstPosition,
  findChangedOutcomes,
  findUnexplainedRosterForks,
} from "./properties.ts";

const PINNED: Pinned = { wireId: "w", roster: ["ann", "bob"], unchained: [], epoch: 0 };

type Moves = (lines: readonly ModelLine[]) => readonly ModelLine[];

interface Explored {
  readonly wires: number;
  readonly broken: readonly string[];
}

/** Calls `visit` with each wire of up to `depth` lines. */
function explore(
  moves: Moves,
  depth: number,
  visit: (lines: readonly ModelLine[]) => void,
  lines: readonly ModelLine[] = [],
): void {
  if (lines.length > 0) visit(lines);
  if (lines.length === depth) return;
  for (const line of moves(lines)) explore(moves, depth, visit, [...lines, line]);
}

const linesBy = (lines: readonly ModelLine[], author: string): readonly ModelLine[] =>
  lines.filter((line) => line.author === author);

function lineBy(
  lines: readonly ModelLine[],
  author: string,
  draft: { type: string; thread?: string; body: JsonValue },
  prev: ModelLine | undefined = linesBy(lines, author).at(-1),
): ModelLine {
  return {
    author,
    seq: (prev?.seq ?? 0) + 1,
    // An id says all that comes before, as a hash of real lines would.
    id: idOf(JSON.stringify([lines.map(({ id }) => id), author, draft, prev?.id])),
    prev: prev?.id ?? null,
    timestamp: instant(lines.length),
    thread: draft.thread,
    type: draft.type,
    to: ["*"],
    body: draft.body,
    isSigned: true,
  };
}

const asEntry = (place: Place): JsonValue => [place[1], place[2]];

/** Ann asks, ends, closes with each line of bob, and names them; bob answers, counters and forks. */
function askMoves(lines: readonly ModelLine[]): readonly ModelLine[] {
  const thread = "T";
  const found: ModelLine[] = [];
  const add = (author: string, type: string, body: JsonValue, prev?: ModelLine): void => {
    found.push(lineBy(lines, author, { type, thread, body }, prev));
  };
  const ofBob = linesBy(lines, "bob");
  const asked = linesBy(lines, "ann").findLast(({ type }) => type === "proposal");
  const counter = ofBob.findLast(({ type }) => type === "proposal");
  const required = (handle: string): JsonValue => [handle];
  add("ann", "proposal", { required: required("bob") });
  if (asked === undefined) return found;
  const ask = placeOf(asked);
  add("ann", "correction", { decides: ask, outcome: "ended", answers: [] });
  if (counter !== undefined) add("ann", "ack", { acks: placeOf(counter), approve: true });
  const ack = ofBob.findLast((line) => fieldsOf(line)["approve"] === true);
  for (const at of ofBob) {
    const answers = [{ by: "bob", ack: asEntry(placeOf(ack ?? at)), at: asEntry(placeOf(at)) }];
    if (ack !== undefined) add("ann", "correction", { decides: ask, outcome: "approved", answers });
  }
  const last = ofBob.at(-1);
  if (last !== undefined) {
    found.push(
      lineBy(lines, "ann", {
        type: "heartbeat",
        body: { heads: { bob: [last.seq, last.id, 0] } },
      }),
    );
    const earlier = ofBob.at(-2);
    if (earlier !== undefined) add("bob", "ack", { acks: ask, approve: false }, earlier);
  }
  add("bob", "ack", { acks: ask, approve: true });
  add("bob", "ack", { acks: ask, approve: false });
  add("bob", "proposal", { required: required("ann"), counters: ask });
  return found;
}

/** Either proposes a member, takes the other's change, ends or closes its own, or leaves. */
function memberMoves(lines: readonly ModelLine[]): readonly ModelLine[] {
  const thread = threadOf(PINNED.wireId, PINNED.epoch);
  const ends = lines
    .filter((line) => isLeave(line) || fieldsOf(line)["outcome"] === "ended")
    .map(placeOf);
  const listed: readonly { readonly ends?: readonly Place[] }[] =
    ends.length > 0 ? [{}, { ends }] : [{}];
  return ["ann", "bob"].flatMap((author) => {
    const other = author === "ann" ? "bob" : "ann";
    const found: ModelLine[] = [];
    const add = (type: string, body: JsonValue): void => {
      found.push(lineBy(lines, author, { type, thread, body }));
    };
    const isChange = ({ type }: ModelLine): boolean => type === "proposal";
    const own = linesBy(lines, author).findLast(isChange);
    const others = linesBy(lines, other).filter(isChange);
    const starts = { ann: true, bob: true };
    const makes = { ...starts, [`${author}s-friend`]: true };
    const change = { action: "members", after: 0, starts, leaves: [], makes, required: [other] };
    for (const more of listed) add("proposal", { ...change, ...more });
    for (const asked of others) {
      for (const more of listed) add("ack", { acks: placeOf(asked), approve: true, ...more });
    }
    if (lines.length > 0) add("shutdown", { leave: true, after: 0 });
    if (own === undefined) return found;
    add("correction", { decides: placeOf(own), outcome: "ended", answers: [] });
    const acks = linesBy(lines, other).filter((line) => {
      const acked = fieldsOf(line)["acks"];
      return Array.isArray(acked) && samePlace(acked as unknown as Place, placeOf(own));
    });
    const ack = acks.at(-1);
    if (ack === undefined) return found;
    const answers = [{ by: other, ack: asEntry(placeOf(ack)), at: asEntry(placeOf(ack)) }];
    add("correction", { decides: placeOf(own), outcome: "approved", answers });
    return found;
  });
}

/** Calls `visit` with each wire of up to so many lines, about asks and about members. */
export function visitSmallWires(
  depth: number,
  visit: (pinned: Pinned, lines: readonly ModelLine[]) => void,
): void {
  for (const moves of [askMoves, memberMoves])
    explore(moves, depth, (lines) => {
      visit(PINNED, lines);
    });
}

/** Each subset of each wire: one line more never changes what is final. */
export function findBrokenInSmallWires(depth: number): Explored {
  const broken: string[] = [];
  let wires = 0;
  explore(askMoves, depth, (lines) => {
    wires += 1;
    const wire = readWire(PINNED, lines);
    const found: Findings[] = [];
    for (let mask = 0; mask < 2 ** lines.length; mask += 1) {
      found.push(
        findingsOf(
          PINNED,
          lines.filter((_, bit) => (mask & (1 << bit)) !== 0),
        ),
      );
    }
    for (const [mask, fewer] of found.entries()) {
      for (let bit = 0; bit < lines.length; bit += 1) {
        const more = found[mask | (1 << bit)];
        if (more !== undefined) broken.push(...findChangedOutcomes(wire, fewer, more));
      }
    }
    const all = found.at(-1);
    if (all !== undefined) broken.push(...findBoundAgainstPosition(wire, all));
  });
  return { wires, broken };
}

/** Who does not fork its chain cannot take part in a fork of the roster, whatever it writes. */
export function findForkedRosters(depth: number): Explored & { readonly approved: number } {
  // Ann asks and bob takes it: whatever follows, nobody may get through with a second change.
  const asked: ModelLine[] = [];
  for (const [author, type] of [
    ["ann", "proposal"],
    ["bob", "ack"],
  ]) {
    const next = memberMoves(asked).find((line) => line.author === author && line.type === type);
    if (next !== undefined) asked.push(next);
  }
  const broken: string[] = [];
  let wires = 0;
  let approved = 0;
  explore(
    memberMoves,
    depth,
    (lines) => {
      if (lines.length < depth) return;
      wires += 1;
      const found = findingsOf(PINNED, lines);
      if (found.asks.some(({ outcome }) => outcome === "approved")) approved += 1;
      if (found.roster.isForked) broken.push(JSON.stringify(lines));
      broken.push(...findUnexplainedRosterForks(readWire(PINNED, lines), found));
    },
    asked,
  );
  return { wires, broken, approved };
}
