import { expect, test } from "vitest";
import { escalationVerdict, isInForce } from "../../../src/protocol/escalations/safe-mode.ts";
import { readEscalation } from "../../../src/protocol/escalations/incident-line.ts";
import { isChained, type PlaceJson } from "../../../src/wire/places.ts";
import { amount } from "../../support/amounts.ts";
import { randomFrom } from "../../support/random.ts";
import {
  atMinute,
  emptyStore,
  holdAll,
  shuffle,
  TimedWriter,
  type TimedLine,
} from "../../support/timed-lines.ts";
import { escalationsInForce, type NaiveReader } from "./naive-escalations.ts";

const READER: NaiveReader = {
  self: "ann",
  members: new Set(["forge", "scribe", "ann"]),
  trusted: new Set(["forge"]),
  cadences: { T1_active: 90_000, T3_long_idle: 1_200_000 },
};

function judge(lines: readonly TimedLine[]): ReadonlySet<string> {
  const store = emptyStore();
  const history = holdAll(store, lines, (of, place) => {
    if (!isChained(place)) return;
    const tierOf = (handle: string) => (READER.trusted.has(handle) ? "ATTESTED" : "VERIFIED");
    store.escalations.take(of, place, READER, tierOf);
    store.escalations.settle(of, READER);
  });
  const inForce = store.escalations.open().filter((place) => {
    const line = history.linked(place);
    const escalation = line && readEscalation(line);
    return escalation !== undefined && isInForce(history, escalation, READER);
  });
  store.close();
  return new Set(inForce.map(({ id }) => id));
}

const pair = ([, seq, id]: PlaceJson): unknown => [seq, id];

/** An incident that is read and not acked is escalated; by chance steps are left out, wrong, or amid others. */
function randomLines(seed: number): readonly TimedLine[] {
  const random = randomFrom(seed);
  const chance = (share: number): boolean => random() < share;
  const pick = <T>(all: readonly T[]): T | undefined => all[Math.floor(random() * all.length)];
  const writers = [new TimedWriter("forge"), new TimedWriter("scribe"), new TimedWriter("ann")];
  const [forge, scribe, ann] = writers as [TimedWriter, TimedWriter, TimedWriter];
  const placesOf = (writer: TimedWriter, type?: string): readonly PlaceJson[] =>
    writer.lines
      .filter((line) => type === undefined || line.type === type)
      .map(({ author, seq, id }) => [author, seq, id]);
  let minute = 0;
  for (const writer of writers) writer.beat(minute, []);

  function disturb(author: TimedWriter, of: TimedWriter): void {
    const incident = pick(placesOf(author, "incident")) ?? author.last;
    minute += 0.5;
    const drawn = random();
    if (drawn < 0.2) of.say("ack", { about: incident }, { minute });
    else if (drawn < 0.3) author.say("incident", { resolves: incident }, { minute });
    else if (drawn < 0.45) {
      const resumes = placesOf(author, "incident");
      pick(writers)?.say("incident", { resumes }, { minute });
    } else if (drawn < 0.6) {
      const [, seq, id] = incident;
      of.beat(minute, [], { refused: [[author.author, seq, seq, id, "schema"]] });
    } else {
      const writer = pick(writers) ?? author;
      writer.goBackTo(pick(placesOf(writer)));
      writer.say("ship", { text: "elsewhere" }, { minute });
    }
  }

  for (let round = 0; round < 2; round += 1) {
    const author = chance(0.85) ? forge : scribe;
    const of = pick([scribe, scribe, ann, forge]) ?? scribe;
    const beat = (heads: Parameters<TimedWriter["beat"]>[1], more: object): PlaceJson =>
      of.beat(minute, heads, more, { takenMinute: chance(0.03) ? minute - 1 : minute });
    const disturbSometimes = (): void => {
      if (chance(0.15)) disturb(author, of);
    };
    minute += pick([1, 1_500]) ?? 1;
    const severity = chance(0.9) ? "high" : "low";
    const to = pick([[of.author], ["*"], ["scribe"]]) ?? [];
    const incident = author.say("incident", { severity }, { minute, to });
    disturbSometimes();
    if (chance(0.3)) author.say("ship", {}, { minute });
    minute += 1;
    const read = chance(0.93) ? (author.last[1] ?? 0) : 1;
    const head = chance(0.95) ? author.last : incident;
    if (chance(0.2)) beat([[head, read]], {});
    const eta = new Date(atMinute(minute + 15)).toISOString();
    const first = beat(
      [[head, read]],
      pick([{}, {}, {}, { state: "busy" }, { next_eta: eta }]) ?? {},
    );
    disturbSometimes();
    minute += pick([9, 10, 14, 15, 25]) ?? 1;
    const second = beat([], {});
    disturbSometimes();
    const beats = [chance(0.95) ? first : second, chance(0.95) ? second : first].map(pair);
    const body = { escalates: incident, of: of.author, beats };
    for (let times = 0; times < (chance(0.1) ? 2 : 1); times += 1)
      author.say("incident", body, { minute });
    disturbSometimes();
  }
  const lines = writers.flatMap((writer) => writer.lines);
  return lines.toSorted((one, other) => one.receivedMs - other.receivedMs);
}

test("safe mode is what the text says, in any order, with copies and without some lines", () => {
  let held = 0;
  for (let seed = 1; seed <= amount(60, 3_000); seed += 1) {
    const lines = randomLines(seed);
    const random = randomFrom(seed);
    const shuffled = shuffle(lines, random);
    const copied = [...lines, ...shuffled].filter(() => random() < 0.9);
    for (const order of [lines, shuffled, copied]) {
      const expected = escalationsInForce(order, READER);
      held += expected.size;
      expect({ seed, inForce: judge(order) }).toEqual({ seed, inForce: expected });
    }
  }
  expect(held).toBeGreaterThan(0);
});

test("of one escalation the order of the lines never matters", () => {
  for (let seed = 1; seed <= amount(25, 1_000); seed += 1) {
    const lines = randomLines(seed);
    const [first] = lines.filter(({ body }) => JSON.stringify(body).includes("escalates"));
    const author = lines.filter((line) => line === first || line.author !== first?.author);
    const earlier = lines.filter(
      (line) => line.author === first?.author && (line.seq ?? 0) < (first.seq ?? 0),
    );
    const one = [...earlier, ...author];
    const found = judge(one);
    for (let turn = 1; turn <= 3; turn += 1)
      expect({ seed, found: judge(shuffle(one, randomFrom(seed * 10 + turn))) }).toEqual({
        seed,
        found,
      });
  }
});

test("who acks within ten minutes of reading is never stopped, whatever the author names and who holds what", () => {
  let right = 0;
  for (let seed = 1; seed <= amount(4, 200); seed += 1) {
    const random = randomFrom(seed);
    const forge = new TimedWriter("forge");
    const scribe = new TimedWriter("scribe");
    const incident = forge.say("incident", { severity: "high" }, { minute: 0, to: ["*"] });
    forge.say("ship", {}, { minute: 0 });
    let minute = 1;
    let readAt: number | undefined;
    let hasAcked = false;
    for (let step = 0; step < 8; step += 1) {
      minute += 0.5 + random() * 9;
      if (readAt !== undefined && !hasAcked && minute >= readAt + 9) {
        scribe.say("ack", { about: incident }, { minute: readAt + 9 });
        hasAcked = true;
      }
      readAt ??= random() < 0.6 ? minute : undefined;
      const state = random() < 0.2 ? { state: "busy" } : {};
      scribe.beat(minute, [[forge.last, readAt === undefined ? 0 : 2]], state);
    }
    const beats = scribe.lines.filter(({ type }) => type === "heartbeat");
    for (const first of beats) {
      for (const second of beats) {
        // Each on a branch of its own, where it is the first.
        forge.goBackTo(incident);
        const named = [first, second].map(({ seq, id }) => [seq, id]);
        const body = { escalates: incident, of: "scribe", beats: named };
        forge.say("incident", body, { minute: minute + 1 });
      }
    }
    const lines = [...forge.lines, ...scribe.lines];
    for (const held of [lines, lines.filter(() => random() < 0.9)]) {
      const store = emptyStore();
      const history = holdAll(store, shuffle(held, random));
      for (const { author, seq, id } of forge.lines) {
        const line = history.linked({ author, seq, id });
        const escalation = line && readEscalation(line);
        if (escalation === undefined) continue;
        expect({ seed, holds: isInForce(history, escalation, READER) }).toEqual({
          seed,
          holds: false,
        });
        if (escalationVerdict(history, escalation, READER.cadences) === "yes") right += 1;
      }
      store.close();
    }
  }
  expect(right).toBeGreaterThan(0);
});

test("each of the three ends ends safe mode, whenever it comes", () => {
  let ended = 0;
  for (let seed = 1; seed <= amount(40, 1_000); seed += 1) {
    const lines = randomLines(seed);
    for (const id of judge(lines)) {
      const line = lines.find((each) => each.id === id);
      const { escalates, of } = (line?.body ?? {}) as { escalates: PlaceJson; of: string };
      if (line === undefined) throw new Error("no such line");
      const place: PlaceJson = [line.author, line.seq, line.id];
      const ends: readonly [string, string, object][] = [
        [of, "ack", { about: escalates }],
        [line.author, "incident", { resolves: escalates }],
        [line.author, "incident", { resumes: [place] }],
        [READER.self, "incident", { resumes: [place] }],
      ];
      for (const [author, type, body] of ends) {
        const random = randomFrom(seed);
        const own = lines.filter((each) => each.author === author);
        const tip = own.toSorted((one, other) => (one.seq ?? 0) - (other.seq ?? 0)).at(-1);
        const writer = new TimedWriter(author);
        if (tip !== undefined) writer.goBackTo([author, tip.seq, tip.id]);
        writer.say(type, body, { minute: 9_999 });
        expect(judge(shuffle([...lines, ...writer.lines], random)).has(id)).toBe(false);
        ended += 1;
      }
    }
  }
  expect(ended).toBeGreaterThan(0);
});
