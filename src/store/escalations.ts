import type { Tier } from "../trust/tiers.ts";
import type { History } from "../protocol/asks/history.ts";
import { readEscalation } from "../protocol/escalations/incident-line.ts";
import {
  BETWEEN_COUNTED_MS,
  doesCount,
  isOver,
  type SafeModeReader,
} from "../protocol/escalations/safe-mode.ts";
import type { ChainPlace } from "../wire/places.ts";
import type { Database, SqlRow } from "./database.ts";
import { idText } from "./ids.ts";

/** A resume names no more. */
const MOST_RESUMED = 512;
const PLACE =
  "select n, seq, id, name from escalations join lines using (n) join agents on agents.a = escalations.a";

/**
 * The escalations that are held, with what was judged of each once: whether it counts for us. Spec 3.5.
 */
export class EscalationRows {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Of a line that is linked since: judges an escalation, once. Within a transaction. */
  take(
    history: History,
    place: ChainPlace,
    reader: SafeModeReader,
    tierOf: (handle: string) => Tier | undefined,
  ): void {
    const line = history.linked(place);
    const escalation = line && readEscalation(line);
    const receipt = escalation && history.receipt(place);
    if (escalation === undefined || receipt === undefined) return;
    const { author } = place;
    const counted = this.#database.get(
      "select n from escalations join lines using (n) where escalations.a = (select a from agents where name = ?) " +
        "and counts = 1 and received > ? and received <= ? limit 1",
      author,
      receipt.atMs - BETWEEN_COUNTED_MS,
      receipt.atMs,
    );
    const counts = doesCount(escalation, reader, tierOf, counted !== undefined);
    this.#database.run(
      "insert or ignore into escalations (n, a, counts) values (?, (select a from agents where name = ?), ?)",
      receipt.n,
      author,
      counts ? 1 : 0,
    );
  }

  /** Those from which safe mode may follow, in the order in which they were taken in. */
  open(): readonly ChainPlace[] {
    return this.#open().map(({ place }) => place);
  }

  /** Forgets those that are over: neither a member that comes back nor a lost line brings them back. */
  settle(history: History, reader: Pick<SafeModeReader, "self" | "members">): void {
    for (const { n, place } of this.#open()) {
      const line = history.linked(place);
      const escalation = line && readEscalation(line);
      if (escalation === undefined || !isOver(history, escalation, reader)) continue;
      this.#database.run("update escalations set over = 1 where n = ?", n);
    }
  }

  /** What a resume names: all that are held of an author and not over. */
  resumable(author: string): readonly ChainPlace[] {
    const sql = `${PLACE} where name = ? and over is null order by counts desc, n desc limit ${MOST_RESUMED}`;
    return this.#database.all(sql, author).map(placeIn);
  }

  #open(): readonly { readonly n: number; readonly place: ChainPlace }[] {
    return this.#database
      .all(`${PLACE} where counts = 1 and over is null order by n`)
      .map((row) => ({ n: Number(row["n"]), place: placeIn(row) }));
  }
}

function placeIn(row: SqlRow): ChainPlace {
  return { author: String(row["name"]), seq: Number(row["seq"]), id: idText(row["id"]) };
}
