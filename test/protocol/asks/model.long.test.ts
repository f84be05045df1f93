import { expect, test } from "vitest";
import { readAsk } from "../../../src/protocol/asks/ask-line.ts";
import { outcomeOf } from "../../../src/protocol/asks/outcome.ts";
import { rosterInForce } from "../../../src/protocol/asks/roster.ts";
import { field } from "../../../src/protocol/body.ts";
import { placeJson } from "../../../src/wire/places.ts";
import {
  findingsOf,
  placeOf,
  type AskOutcome,
  type Findings,
  type ModelLine,
  type Pinned,
} from "../../model/model.ts";
import { randomWire } from "../../model/random-wire.ts";
import { visitSmallWires } from "../../model/small-wires.ts";
import { amount } from "../../support/amounts.ts";
import { storeOf } from "../../support/chain-lines.ts";
import { randomFrom } from "../../support/random.ts";

// The judges of the product say what the independent model of the specification says, whatever is on the
// wire and in whatever order its lines are taken in.

type Found = Omit<AskOutcome, "isUnproved" | "isUnprovedByName">;

/** What the product says of the asks that the model has found. */
function judge(pinned: Pinned, lines: readonly ModelLine[], asked: Findings): Findings {
  const store = storeOf(lines, pinned.wireId);
  const history = store.history(pinned.wireId);
  const asks = asked.asks.map(({ ask: [author, seq, id], of }): Found => {
    const place = { author, seq, id };
    const line = history.linked(place) ?? history.loose(place);
    const ask = line === undefined ? undefined : readAsk(line);
    const named = { ask: placeJson(place), ...(of === undefined ? {} : { of }) };
    if (ask === undefined) return { ...named, outcome: "pending" };
    const outcome = outcomeOf(history, ask, of);
    if (outcome.is === "pending") {
      const waits = outcome.waitsFor.map((each) => [each.author, each.seq] as const);
      return { ...named, outcome: "pending", ...(waits.length === 0 ? {} : { waitsFor: waits }) };
    }
    if (outcome.is === "disputed") return { ...named, outcome: "disputed" };
    return { ...named, outcome: outcome.is, close: placeJson(outcome.close) };
  });
  const roster = new Map(pinned.roster.map((name) => [name, !pinned.unchained.includes(name)]));
  const found = rosterInForce(history, { roster, epoch: pinned.epoch });
  store.close();
  const members = Object.fromEntries(found.roster);
  return { asks, roster: { members, isForked: found.isForked } };
}

/** Of places waited for only the last one of each author: the product names no more. */
function plain({ asks, roster }: Findings, changes: ReadonlySet<string>): object {
  const plainAsks = asks.map(({ isUnproved: _1, isUnprovedByName: _2, waitsFor, ...ask }) => {
    if (changes.has(ask.ask.join(" "))) return { ...ask, waits: waitsFor !== undefined };
    const last = new Map<string, number>();
    for (const [author, seq] of waitsFor ?? [])
      last.set(author, Math.max(last.get(author) ?? 0, seq ?? 0));
    return { ...ask, waitsFor: [...last].toSorted(([one], [other]) => (one < other ? -1 : 1)) };
  });
  const members = Object.entries(roster.members).toSorted(([one], [other]) =>
    one < other ? -1 : 1,
  );
  return { asks: plainAsks, roster: { ...roster, members } };
}

function expectSame(pinned: Pinned, lines: readonly ModelLine[], seed?: number): void {
  const expected = findingsOf(pinned, lines);
  const found = judge(pinned, lines, expected);
  const changes = new Set(
    lines
      .filter(({ body }) => field(body, "action") === "members")
      .map((line) => placeOf(line).join(" ")),
  );
  expect({ seed, ...plain(found, changes) }).toEqual({ seed, ...plain(expected, changes) });
}

test("on random wires, in any order, and on parts of them", () => {
  for (let seed = 1; seed <= amount(40, 100_000); seed += 1) {
    const { pinned, lines } = randomWire(seed, 60);
    const random = randomFrom(seed);
    const shuffled = lines
      .map((line) => ({ line, at: random() }))
      .toSorted((one, other) => one.at - other.at)
      .map(({ line }) => line);
    for (const order of [lines, lines.toReversed(), shuffled]) expectSame(pinned, order, seed);
    const part = shuffled.filter(() => random() < 0.8);
    expectSame(pinned, part, seed);
  }
});

test("on all small wires of two agents", () => {
  visitSmallWires(amount(3, 5), (pinned, lines) => {
    expectSame(pinned, lines);
  });
});
