import type { Store } from "../../../src/store/store.ts";
import { emptyStore, holdAll, TimedWriter, type TimedLine } from "../../support/timed-lines.ts";

export const MEMBERS = ["forge", "scribe", "ann"];

export function fill(store: Store, lines: readonly TimedLine[], members = MEMBERS): void {
  const facts = { self: "forge", members, proposalHours: 24, cadenceMsOf: () => 90_000 };
  holdAll(store, lines, (history, place) => {
    store.owed.take(history, place, facts);
  });
}

/** What forge is owed and what it owes, as `who number-of-the-line`. */
export function owed(lines: readonly TimedLine[], members = MEMBERS): readonly string[] {
  const store = emptyStore();
  fill(store, lines, members);
  store.write((into) => {
    for (const { n } of store.owed.owedTo("scribe", 0, 100)) into.deliver(n);
    for (const { n } of store.owed.owedTo("ann", 0, 100)) into.deliver(n);
  });
  const rows = [...store.owed.owedTo("forge", 0, 100), ...store.owed.owedBy("forge", 0, 100)];
  store.close();
  return rows.map(({ by, place }) => `${by} ${place.author} ${place.seq ?? "loose"}`);
}

export const agents = (): [TimedWriter, TimedWriter, TimedWriter] => [
  new TimedWriter("forge"),
  new TimedWriter("scribe"),
  new TimedWriter("ann"),
];
