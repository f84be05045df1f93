import type { HeadShows } from "../protocol/asks/history.ts";
import type { ChainPlace } from "../wire/places.ts";
import { branchPath, findPath, tipAt, type Tip } from "./branches.ts";
import { AGENT } from "./columns.ts";
import type { Database } from "./database.ts";

/** Beside each branch of an author: all of them together, without an order. */
const ALL_BRANCHES = -1;
const KINDS: Readonly<Record<HeadShows, number>> = { taken_in: 0, read: 1 };
/** The branches on which a linked line is, or behind which they begin. */
const BRANCHES_WITH =
  "with recursive containing (branch) as (select ? union all select branches.branch from containing " +
  "join branches on branches.a = ? and branches.parent = containing.branch " +
  "where containing.branch <> ? or branches.fork >= ?) ";
const STAIR = "a = ? and branch = ? and of = ? and of_branch = ? and kind = ?";

/** A line that has just got its branch. */
interface LineLinked {
  readonly n: number;
  readonly a: number;
  readonly seq: number;
  readonly id: Uint8Array;
  /** It may name places. */
  readonly isNaming: boolean;
  /** Something may have named it before it was linked. */
  readonly isAwaited: boolean;
}

interface HeadRow extends Tip {
  readonly of: number;
  readonly of_branch: number;
  readonly takenIn: number;
  readonly read: number;
}

/**
 * Keeps what heads prove (spec 3.2.2) once both ends are linked: those of a beat, and
 * those that name a line. For each pair of branches only what rises is kept, so that one lookup answers.
 */
export function linkHeads(
  database: Database,
  { n, a, seq, id, isNaming, isAwaited }: LineLinked,
): void {
  const heads =
    "select beat.a as a, beat.branch as branch, beat.seq as seq, line.a as of, line.branch as of_branch, of_seq as takenIn, read " +
    "from names join lines as beat using (n) join agents on agents.name = names.of " +
    "join lines as line on line.a = agents.a and line.seq = of_seq and line.id = of_id " +
    "where read is not null and beat.type = 'heartbeat' and beat.branch is not null and line.branch is not null ";
  const named =
    "and names.of = (select name from agents where a = ?) and names.of_seq = ? and names.of_id = ?";
  const own = `${heads} and names.n = ? order by names.rowid`;
  const before = `${heads} ${named} order by names.rowid`;
  const rows = [
    ...(isNaming ? database.all<HeadRow>(own, n) : []),
    ...(isAwaited ? database.all<HeadRow>(before, a, seq, id) : []),
  ];
  for (const row of rows) {
    const upTo = { taken_in: row.takenIn, read: row.read };
    for (const kind of ["taken_in", "read"] as const) {
      if (upTo[kind] === 0) continue;
      const pair = [row.of, row.of_branch, KINDS[kind]] as const;
      raise(database, [row.a, row.branch, ...pair], upTo[kind], row.seq);
      raise(database, [row.a, ALL_BRANCHES, ...pair], upTo[kind], 0);
    }
  }
}

type Stair = readonly [a: number, branch: number, of: number, ofBranch: number, kind: number];

/** Higher numbers are reached later: a step that an earlier line takes at once is none. */
function raise(database: Database, stair: Stair, upTo: number, seq: number): void {
  const above = `select seq from heads where ${STAIR} and up_to >= ? order by up_to limit 1`;
  if ((database.value(above, ...stair, upTo) ?? Infinity) <= seq) return;
  const below = `select up_to, seq from heads where ${STAIR} and up_to <= ? order by up_to desc limit 1`;
  for (;;) {
    const row = database.get<{ up_to: number; seq: number }>(below, ...stair, upTo);
    if (row === undefined || row.seq < seq) break;
    database.run(`delete from heads where ${STAIR} and up_to = ?`, ...stair, row.up_to);
  }
  database.run(
    "insert into heads (a, branch, of, of_branch, kind, up_to, seq) values (?, ?, ?, ?, ?, ?, ?)",
    ...stair,
    upTo,
    seq,
  );
}

/** The first beat on the branch of a linked line that has taken in, or has read, a line. */
export function findHead(
  database: Database,
  tip: ChainPlace,
  line: ChainPlace,
  shows: HeadShows,
): ChainPlace | undefined {
  let first: readonly [branch: number, seq: number] | undefined;
  for (const [branch, last] of findPath(database, tip)) {
    const seq = findStep(database, tip.author, branch, line, shows);
    if (seq !== undefined && seq <= Math.min(last, first?.[1] ?? last)) first = [branch, seq];
  }
  if (first === undefined) return undefined;
  const [branch, seq] = first;
  const sql = `select lower(hex(id)) from lines where a = ${AGENT} and seq = ? and branch = ?`;
  const id = database.value<string>(sql, tip.author, seq, branch);
  return id === undefined ? undefined : { author: tip.author, seq, id };
}

/** Whether a beat on any branch of an author has taken in, or has read, a line. */
export function hasHead(
  database: Database,
  author: string,
  line: ChainPlace,
  shows: HeadShows,
): boolean {
  return findStep(database, author, ALL_BRANCHES, line, shows) !== undefined;
}

function findStep(
  database: Database,
  author: string,
  branch: number,
  line: ChainPlace,
  shows: HeadShows,
): number | undefined {
  const of = tipAt(database, line);
  if (of === undefined) return undefined;
  const step =
    `select seq from heads where a = ${AGENT} and branch = ? and of = ? ` +
    "and of_branch = containing.branch and kind = ? and up_to >= ? order by up_to limit 1";
  return database.value(
    `${BRANCHES_WITH} select min((${step})) from containing`,
    ...[of.branch, of.a, of.branch, line.seq],
    ...[author, branch, of.a, KINDS[shows], line.seq],
  );
}

/** The largest number of a linked line's branch that any beat of an author has taken in, or has read; 0: none. */
export function findStated(
  database: Database,
  author: string,
  line: ChainPlace,
  shows: HeadShows,
): number {
  const path = findPath(database, line);
  const stated = database.all<Tip>(
    `select of as a, of_branch as branch, max(up_to) as seq from heads where a = ${AGENT} and branch = ? ` +
      `and of = ${AGENT} and kind = ? group by of_branch order by of_branch`,
    ...[author, ALL_BRANCHES, line.author, KINDS[shows]],
  );
  const shared = stated.map((tip) => {
    const own = [...branchPath(database, tip)];
    return Math.max(0, ...own.map(([branch, to]) => Math.min(to, path.get(branch) ?? 0)));
  });
  return Math.max(0, ...shared);
}
