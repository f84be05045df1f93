import type { ChainPlace } from "../wire/places.ts";
import type { Database } from "./database.ts";
import { idBytes } from "./ids.ts";

/** For each branch that a linked line is on or came from, up to which number it shares it. */
export type Path = ReadonlyMap<number, number>;

/** The branch that a linked line is on; undefined when it is not held and linked. */
export function findBranch(
  database: Database,
  { author, seq, id }: ChainPlace,
): number | undefined {
  const sql =
    "select branch from lines where a = (select a from agents where name = ?) and seq = ? and id = ? " +
    "and branch is not null";
  const row = database.get(sql, author, seq, idBytes(id));
  return row === undefined ? undefined : Number(row["branch"]);
}

/** The way from a linked line back to the first of its chain; empty when it is not linked. */
export function findPath(database: Database, tip: ChainPlace): Path {
  const path = new Map<number, number>();
  let branch = findBranch(database, tip);
  let { seq } = tip;
  while (branch !== undefined) {
    path.set(branch, seq);
    const row = database.get(
      "select parent, fork from branches where a = (select a from agents where name = ?) and branch = ?",
      tip.author,
      branch,
    );
    if (row === undefined || row["parent"] === null) break;
    branch = Number(row["parent"]);
    seq = Math.min(seq, Number(row["fork"]));
  }
  return path;
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
