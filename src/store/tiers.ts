import { Rows } from "./database.ts";

/** What was announced of the tier of an agent. */
interface Announced {
  readonly name: string;
  /** The tier that we announced last; null: it waits for the first. */
  readonly said: string | null;
}

/** Tiers that agents announce to each other, and what raises them. Spec 2.3. */
export class TierRows extends Rows {
  /** A line of this agent for us waits, or was refused, for its tier. */
  await(name: string): void {
    this.database.run(
      "insert into announced (name, asked) values (?1, 1) on conflict (name) do update set asked = 1",
      name,
    );
  }

  /** We have announced the tier of an agent. */
  noteSaid(name: string, tier: string): void {
    const sql =
      "insert into announced (name, asked, said) values (?1, 1, ?2) on conflict (name) do update set said = ?2, asked = 1";
    this.database.run(sql, name, tier);
  }

  /** An agent has announced our tier. */
  noteGiven(name: string, tier: string): void {
    const sql =
      "insert into announced (name, given) values (?1, ?2) on conflict (name) do update set given = ?2";
    this.database.run(sql, name, tier);
  }

  /** The tier that an agent gives us, as it has announced last; undefined: it has said nothing. */
  given(name: string): string | undefined {
    return this.database.value<string>("select given from announced where name = ?", name);
  }

  /** Agents that wait for an announcement, or have had one. */
  awaiting(): Announced[] {
    return this.database.all("select name, said from announced where asked = 1 order by name");
  }

  /** A proposal of ours that required this agent was approved; `n` is the proposal's. */
  reciprocate(name: string, n: number, atMs: number): void {
    const sql = "insert or ignore into reciprocations (name, n, at) values (?, ?, ?)";
    this.database.run(sql, name, n, atMs);
  }

  /** How many such proposals were approved since then. */
  reciprocations(name: string, sinceMs: number): number {
    const sql = "select count(*) from reciprocations where name = ? and at >= ?";
    return this.database.value(sql, name, sinceMs) ?? 0;
  }
}
