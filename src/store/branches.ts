import type { ChainPlace } from "../wire/places.ts";
import type { Database } from "./database.ts";
import { idBytes } from "./ids.ts";

/** A linked line, as rows refer to it. `a` is its author. */
export interface Tip {
  readonly a: number;
  readonly branch: number;
  readonly seq: number;
}

export function tipAt(database: Database, { author, seq, id }: ChainPlace): Tip | undefined {
  const sql =
    "select a, branch from lines where a = (select a from agents where name = ?) and seq = ? and id = ? " +
    "and branch is not null";
  const row = database.get(sql, author, seq, idBytes(id));
  return row === undefined
    ? undefined
    : { a: Number(row["a"]), branch: Number(row["branch"]), seq };
}

/** The parts of branches that lead to a line, up to which number each; the one that ends with it first. */
export function pathTo(database: Database, tip: Tip): readonly Tip[] {
  const { a } = tip;
  const path: Tip[] = [tip];
  for (let { branch, seq } = tip; ;) {
    const sql = "select parent, fork from branches where a = ? and branch = ?";
    const row = database.get(sql, a, branch);
    if (row === undefined || row["parent"] === null) return path;
    branch = Number(row["parent"]);
    seq = Math.min(seq, Number(row["fork"]));
    path.push({ a, branch, seq });
  }
}

/** The parts of branches that descend from a line, from which number on each; itself is not among them. */
export function partsBehind(database: Database, { a, branch, seq }: Tip): readonly Tip[] {
  const parts = new Map([[branch, seq + 1]]);
  // A branch is made after the one that it forks from.
  const sql =
    "select branch, parent, fork from branches where a = ? and branch > ? order by branch";
  for (const row of database.all(sql, a, branch)) {
    const from = parts.get(Number(row["parent"]));
    const fork = Number(row["fork"]);
    if (from !== undefined && fork + 1 >= from) parts.set(Number(row["branch"]), fork + 1);
  }
  return [...parts].map(([each, first]) => ({ a, branch: each, seq: first }));
}

/** For each branch that a linked line is on or came from, up to which number it shares it. */
export type Path = ReadonlyMap<number, number>;

/** The branch that a linked line is on; undefined when it is not held and linked. */
export function findBranch(database: Database, place: ChainPlace): number | undefined {
  return tipAt(database, place)?.branch;
}

/** The way from a linked line back to the first of its chain; empty when it is not linked. */
export function findPath(database: Database, place: ChainPlace): Path {
  const tip = tipAt(database, place);
  const path = tip === undefined ? [] : pathTo(database, tip);
  return new Map(path.map(({ branch, seq }) => [branch, seq]));
}

/** The same from a number of a branch. */
export function branchPath(database: Database, tip: Tip): Path {
  return new Map(pathTo(database, tip).map(({ branch, seq }) => [branch, seq]));
}

export function isOnPath(path: Path, seq: number, branch: number): boolean {
  return seq <= (path.get(branch) ?? 0);
}

/** A path as `ON_PATH` binds it. */
export function pathJson(path: Path): string {
  return JSON.stringify(Object.fromEntries(path));
}

/** Whether a row of `lines` is on a path, which is bound as JSON. */
export const ON_PATH =
  "exists (select 1 from json_each(?) where key = cast(branch as text) and seq <= value)";
