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
import { AGENT, PLACE } from "./columns.ts";
import { Rows } from "./database.ts";

/** A resume names no more. */
const MOST_RESUMED = 512;
const LINES = "from escalations join lines using (n) join agents on agents.a = escalations.a";

/** The escalations that are held, with what was judged of each once: whether it counts for us. Spec 3.5. */
export class EscalationRows extends Rows {
  /** Judges an escalation once, when its line is linked. Within a transaction. */
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
    const isCounted = this.database.has(
      `select 1 ${LINES} where name = ? and counts = 1 and received > ? and received <= ? limit 1`,
      place.author,
      receipt.atMs - BETWEEN_COUNTED_MS,
      receipt.atMs,
    );
    this.database.run(
      `insert or ignore into escalations (n, a, counts) values (?, ${AGENT}, ?)`,
      receipt.n,
      place.author,
      doesCount(escalation, reader, tierOf, isCounted),
    );
  }

  /** Those from which safe mode may follow, in the order in which they were taken in. */
  open(): readonly ChainPlace[] {
    const sql = `select ${PLACE} ${LINES} where counts = 1 and over is null order by n`;
    return this.database.all(sql);
  }

  /** Forgets those that are over: neither a member that comes back nor a lost line brings them back. */
  settle(history: History, reader: Pick<SafeModeReader, "self" | "members">): void {
    for (const place of this.open()) {
      const line = history.linked(place);
      const escalation = line && readEscalation(line);
      if (escalation === undefined || !isOver(history, escalation, reader)) continue;
      const n = history.receipt(place)?.n;
      this.database.run("update escalations set over = 1 where n = ?", n);
    }
  }

  /** What a resume names: all that are held of an author and not over. */
  resumable(author: string): readonly ChainPlace[] {
    const sql = `select ${PLACE} ${LINES} where name = ? and over is null order by counts desc, n desc limit ${MOST_RESUMED}`;
    return this.database.all(sql, author);
  }
}
