import type { ChainPlace } from "../wire/places.ts";
import { AGENT, idBytes } from "./columns.ts";
import type { Database } from "./database.ts";

/** A linked line, as rows refer to it. `a` is its author. */
export interface Tip {
  readonly a: number;
  readonly branch: number;
  readonly seq: number;
}

/** The position of a line on its branch; undefined when it is not held and linked. */
export function tipAt(database: Database, { author, seq, id }: ChainPlace): Tip | undefined {
  const sql = `select a, branch, seq from lines where a = ${AGENT} and seq = ? and id = ? and branch is not null`;
  return database.get(sql, author, seq, idBytes(id));
}

/** The parts of branches that lead to a line, up to which number each; the one that ends with it first. */
export function pathTo(database: Database, tip: Tip): readonly Tip[] {
  const { a } = tip;
  const path: Tip[] = [tip];
  const sql = "select parent, fork from branches where a = ? and branch = ?";
  for (let { branch, seq } = tip; ;) {
    const row = database.get<{ parent: number | null; fork: number }>(sql, a, branch);
    if (row === undefined || row.parent === null) return path;
    branch = row.parent;
    seq = Math.min(seq, row.fork);
    path.push({ a, branch, seq });
  }
}

/** The part of the path to a line on which the line with a number is. */
export function partWith(database: Database, tip: Tip, seq: number): Tip | undefined {
  return pathTo(database, tip).findLast((part) => seq >= 1 && seq <= part.seq);
}

/** The parts of branches that descend from a line, from which number on each; itself is not among them. */
export function partsBehind(database: Database, { a, branch, seq }: Tip): readonly Tip[] {
  const parts = new Map([[branch, seq + 1]]);
  // A branch is made after the one that it forks from.
  const sql =
    "select branch, parent, fork from branches where a = ? and branch > ? order by branch";
  for (const row of database.all<{ branch: number; parent: number; fork: number }>(
    sql,
    a,
    branch,
  )) {
    const from = parts.get(row.parent);
    if (from !== undefined && row.fork + 1 >= from) parts.set(row.branch, row.fork + 1);
  }
  return [...parts].map(([each, first]) => ({ a, branch: each, seq: first }));
}

/** For each branch that a linked line is on or came from, up to which number it shares it. */
export type Path = ReadonlyMap<number, number>;

/** The path from a linked line back to the first of its chain; empty when it is not linked. */
export function findPath(database: Database, place: ChainPlace): Path {
  const tip = tipAt(database, place);
  return tip === undefined ? new Map() : branchPath(database, tip);
}

/** The same from a number of a branch. */
export function branchPath(database: Database, tip: Tip): Path {
  return new Map(pathTo(database, tip).map(({ branch, seq }) => [branch, seq]));
}

export function isOnPath(path: Path, { seq, branch }: Pick<Tip, "seq" | "branch">): boolean {
  return seq <= (path.get(branch) ?? 0);
}

/** A path as `ON_PATH` binds it. */
export function pathJson(path: Path): string {
  return JSON.stringify(Object.fromEntries(path));
}

/** Whether a row of `lines` is on a path, which is bound as JSON. */
export const ON_PATH =
  "exists (select 1 from json_each(?) where key = cast(branch as text) and seq <= value)";
