import { SECOND_MS } from "../wire/durations.ts";
import type { Database } from "./database.ts";

/** A clock that is adjusted slowly goes back by less. */
const TOLERANCE_MS = SECOND_MS;
/** Lines that waited were received before others that were held earlier: so many of the last are looked at. */
const MOST_LOOKED_AT = 64;
/** When something was received, or is counted from such a time. */
const RECEIPTS = [
  ["lines", "received"],
  ["waiting", "received"],
  ["lives", "received"],
  // A beat that is dated ahead of its receipt by now keeps no later one from being a sign of life.
  ["lives", "latest"],
  ["reading", "since"],
  ["wanted", "named"],
  ["wanted", "asked"],
  ["served", "at"],
  ["chains", "gap_since"],
  ["told", "at"],
] as const;
/** What ends so long after the receipt of its line. An ask is due by the clock of its asker. */
const ENDS = [
  ["claims", "ends", "true"],
  ["owed", "due", "kind <> 'ask'"],
] as const;

/** Receipts are never in the future. True: some were. */
export function setBack(database: Database, nowMs: number): boolean {
  const latest =
    "select max(received) from (select received from lives union all " +
    `select received from (select received from lines order by n desc limit ${MOST_LOOKED_AT}))`;
  if ((database.value(latest) ?? 0) <= nowMs + TOLERANCE_MS) return false;
  database.write(() => {
    for (const [table, column, which] of ENDS)
      database.run(
        `update ${table} set ${column} = ${column} + ?1 - ` +
          `(select received from lines where lines.n = ${table}.n) ` +
          `where ${which} and n in (select n from lines where received > ?1)`,
        nowMs,
      );
    for (const [table, column] of RECEIPTS)
      database.run(`update ${table} set ${column} = ?1 where ${column} > ?1`, nowMs);
  });
  return true;
}
