// What next 3.4 and 3.11 promise, checked on one wire.
import {
  changesAfter,
  fieldsOf,
  findingsOf,
  followRoster,
  isChange,
  knownAt,
  linkedLinesOf,
  partiesOf,
  placeOf,
  positionAt,
  readChange,
  readWire,
  samePlace,
  takersOf,
  typeOf,
  type AskOutcome,
  type Findings,
  type ModelLine,
  type Pinned,
  type RosterPath,
  type Wire,
} from "./model.ts";
import type { RandomWire } from "./random-wire.ts";

const nameOf = ({ ask, of }: AskOutcome): string => `${ask.join(" ")} of ${of ?? "-"}`;

/** `rejected` is a way to show an `ended`, and what it shows may be taken in later. */
const finalOf = ({ outcome }: AskOutcome): string | undefined => {
  if (outcome === "pending" || outcome === "disputed") return undefined;
  return outcome === "rejected" ? "ended" : outcome;
};

function hasForked(wire: Wire, author: string): boolean {
  const seqs = wire.lines.filter((line) => line.author === author && line.seq !== null);
  return new Set(seqs.map(({ seq }) => seq)).size < seqs.length;
}

/** Whose chain closes an ask: the asker, of an unchained one the party. */
function closersOf(wire: Wire, found: AskOutcome): readonly string[] {
  const line = wire.lines.find((other) => samePlace(placeOf(other), found.ask));
  if (line === undefined) return [];
  if (line.seq !== null) return [line.author];
  return [...partiesOf(line), ...(found.of === undefined ? [] : [found.of])];
}

/** Whatever is final with fewer lines is the same with more, unless the closer has forked. */
export function findChangedOutcomes(
  wire: Wire,
  fewer: Findings,
  more: Findings,
): readonly string[] {
  const later = new Map(more.asks.map((found) => [nameOf(found), found]));
  return fewer.asks.flatMap((found) => {
    const before = finalOf(found);
    if (before === undefined) return [];
    if (closersOf(wire, found).some((closer) => hasForked(wire, closer))) return [];
    const after = later.get(nameOf(found));
    const isSame =
      after !== undefined && finalOf(after) === before && samePlace(after.close, found.close);
    return isSame ? [] : [`${nameOf(found)}: ${found.outcome} became ${after?.outcome}`];
  });
}

/** A party is bound only where its position is the ask at the last line of it that the asker named. */
export function findBoundAgainstPosition(wire: Wire, findings: Findings): readonly string[] {
  return findings.asks.flatMap((found) => {
    const asked = wire.lines.find((line) => samePlace(placeOf(line), found.ask));
    const close = wire.lines.find(
      (line) => found.close !== undefined && samePlace(placeOf(line), found.close),
    );
    if (found.outcome !== "approved" || asked?.seq === null || asked === undefined) return [];
    if (close === undefined || typeOf(asked) !== "proposal") return [];
    return partiesOf(asked).flatMap((party) => {
      if (hasForked(wire, party)) return [];
      const known = knownAt(wire, close, party).map(([, seq]) => seq ?? 0);
      const last = linkedLinesOf(wire, party).find(({ seq }) => seq === Math.max(...known));
      if (last === undefined) return [];
      const position = positionAt(wire, last, asked.thread ?? "");
      return samePlace(position, found.ask) ? [] : [`${nameOf(found)} binds ${party}`];
    });
  });
}

/** Two changes with one `after` that share a taker need a fork of the taker or of an asker. */
export function findUnexplainedRosterForks(wire: Wire, findings: Findings): readonly string[] {
  const { afters, reached } = followRoster(wire, findings.asks);
  const changes = changesAfter(wire, findings.asks, afters, reached);
  return changes.flatMap((first, index) =>
    changes.slice(index + 1).flatMap((second) => {
      const takers = takersOf(second.change.starts, second.change.makes);
      const shared = takersOf(first.change.starts, first.change.makes).filter((handle) =>
        takers.includes(handle),
      );
      if ([first.ask.author, second.ask.author].some((asker) => hasForked(wire, asker))) return [];
      const faithful = shared.filter((handle) => !hasForked(wire, handle));
      return faithful.length === 0 ? [] : [`${faithful.join()} took two changes`];
    }),
  );
}

/** A change that is applied with fewer lines is applied with more, unless somebody has forked. */
function findLostChanges(wire: Wire, smaller: Wire): readonly string[] {
  const pathOf = (held: Wire): RosterPath =>
    followRoster(held, findingsOf(held.pinned, held.lines).asks);
  const all = pathOf(wire);
  const authors = new Set(wire.lines.map(({ author }) => author));
  if (all.isForked || [...authors].some((author) => hasForked(wire, author))) return [];
  const applied = all.applied.map(String);
  return pathOf(smaller)
    .applied.map(String)
    .filter((after) => !applied.includes(after))
    .map((after) => `the change that ${after} closed is not applied any more`);
}

/** What an honest asker closed is what everybody finds. */
function findUnbelievedCloses(
  random: RandomWire,
  wire: Wire,
  findings: Findings,
): readonly string[] {
  const honest = random.agents.filter(({ kind }) => kind === "honest").map(({ handle }) => handle);
  return wire.lines.flatMap((line) => {
    const { decides, outcome, of } = fieldsOf(line);
    if (line.type !== "correction" || !honest.includes(line.author)) return [];
    const isOfAsk = (found: AskOutcome): boolean =>
      Array.isArray(decides) && decides.join(" ") === found.ask.join(" ");
    const found = findings.asks.find(
      (other) => isOfAsk(other) && (of === undefined || other.of === of),
    );
    const isBelieved =
      found !== undefined && finalOf(found) === outcome && samePlace(found.close, placeOf(line));
    return isBelieved ? [] : [`${line.author} closed ${JSON.stringify(decides)} in vain`];
  });
}

/** Some subset of the lines, each line with the same chance. */
function someOf<Item>(items: readonly Item[], random: () => number): readonly Item[] {
  const share = random();
  return items.filter(() => random() < share);
}

function shuffled<Item>(items: readonly Item[], random: () => number): readonly Item[] {
  return items
    .map((item) => ({ item, key: random() }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ item }) => item);
}

/** Everything that is promised and does not hold on this wire; `samples` smaller sets are compared. */
export function findBrokenPromises(
  random: RandomWire,
  draw: () => number,
  samples: number,
): readonly string[] {
  const { pinned, lines, agents } = random;
  const wire = readWire(pinned, lines);
  const all = findingsOf(pinned, lines);
  const broken: string[] = [];

  const another = findingsOf(pinned, shuffled([...lines, ...lines.slice(0, 5)], draw));
  if (JSON.stringify(another) !== JSON.stringify(all)) broken.push("the order of lines matters");

  const views: (readonly ModelLine[])[] = agents.map(({ held }) => [...held.values()]);
  for (let sample = 0; sample < samples; sample += 1) {
    const larger = sample % 2 === 0 ? lines : lines.slice(0, Math.floor(draw() * lines.length));
    views.push(larger);
    const smaller = someOf(larger, draw);
    const found = findingsOf(pinned, smaller);
    broken.push(...findChangedOutcomes(wire, found, findingsOf(pinned, larger)));
    views.push(smaller);
  }
  for (const view of views) {
    broken.push(...findChangedOutcomes(wire, findingsOf(pinned, view), all));
  }
  for (const view of views) broken.push(...findLostChanges(wire, readWire(pinned, view)));
  broken.push(...findBoundAgainstPosition(wire, all));
  broken.push(...findUnexplainedRosterForks(wire, all));
  broken.push(...findUnbelievedCloses(random, wire, all));
  if (agents.every(({ kind }) => kind !== "hostile") && all.roster.isForked) {
    broken.push("honest agents forked the roster");
  }
  return [...new Set(broken)];
}

export interface Tally {
  [key: string]: number;
}

/** What a wire shows, so that a test can say that its wires show everything. */
export function addToTally(tally: Tally, pinned: Pinned, lines: readonly ModelLine[]): void {
  const wire = readWire(pinned, lines);
  const { asks, roster } = findingsOf(pinned, lines);
  const count = (key: string): void => {
    tally[key] = (tally[key] ?? 0) + 1;
  };
  for (const found of asks) {
    const asked = wire.lines.find((line) => samePlace(placeOf(line), found.ask));
    if (asked === undefined) continue;
    const kind = isChange(asked) ? "change" : typeOf(asked);
    count(`${asked.seq === null ? "unchained " : ""}${kind} ${found.outcome}`);
    if (found.waitsFor !== undefined) count("waits");
    if (found.isUnprovedByName === true) count("unproved by name");
    const change = readChange(asked);
    if (found.outcome !== "approved" || change === undefined) continue;
    if (change.leaves.length > 0) count("leave counted");
    if ("ends" in fieldsOf(asked)) count("end listed");
    if (typeof change.after !== "number") count("change after a change");
  }
  if (roster.isForked) count("roster forked");
}
