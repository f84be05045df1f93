import { expect, test } from "vitest";
import { checkPaths } from "../../../src/protocol/claims/blocked-paths.ts";
import { claimsView } from "../../../src/protocol/claims/standing.ts";
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
import type { PlaceJson } from "../../../src/wire/places.ts";
import { claimStatuses, isBlocked, OWNED, OWNER, PATHS, PATTERNS } from "./naive-claims.ts";

const MEMBERS = ["forge", "scribe", "ann"];

interface Found {
  readonly statuses: Readonly<Record<string, string>>;
  readonly blocked: readonly string[];
}

function judge(lines: readonly TimedLine[], nowMs: number): Found {
  const store = emptyStore();
  const history = holdAll(store, lines, (of, place) => {
    store.claims.take(of, place);
  });
  const facts = {
    ...{ history, live: store.claims.live(history, nowMs), members: new Set(MEMBERS) },
    ...{ tierOf: () => "ATTESTED" as const, inForce: [], behind: [] },
    domains: new Map([["parser", { owner: OWNER, paths: [OWNED.pattern] }]]),
  };
  const views = claimsView({ ...facts, self: "forge" });
  const blocked = MEMBERS.flatMap((self) =>
    checkPaths({ ...facts, self }, PATHS)
      .paths.filter(({ verdict }) => verdict === "blocked")
      .map(({ path }) => `${self} ${path}`),
  );
  store.close();
  return {
    statuses: Object.fromEntries(views.map((view) => [view.event_id, view.status])),
    blocked,
  };
}

function model(lines: readonly TimedLine[], nowMs: number): Found {
  const blocked = MEMBERS.flatMap((self) =>
    PATHS.filter((path) => isBlocked(lines, nowMs, self, path)).map((path) => `${self} ${path}`),
  );
  return { statuses: claimStatuses(lines, nowMs), blocked };
}

function randomLines(seed: number): readonly TimedLine[] {
  const random = randomFrom(seed);
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  const writers = MEMBERS.map((handle) => new TimedWriter(handle));
  const placesOf = (writer: TimedWriter, type?: string): readonly PlaceJson[] =>
    writer.lines
      .filter((line) => type === undefined || line.type === type)
      .map(({ author, seq, id }) => [author, seq, id]);
  const isCrowded = seed % 6 === 0;
  for (let minute = 0; minute < 18; minute += 1) {
    const writer = isCrowded && random() < 0.8 ? (writers[0] as TimedWriter) : pick(writers);
    const other = pick(writers.filter((each) => each !== writer));
    const saying = {
      minute,
      thread: pick(["t1", "t2", "t3"]),
      to: pick([["*"], ["*"], ["scribe"], ["forge"]]),
    };
    const drawn = random();
    const heads = placesOf(other);
    if (drawn < (isCrowded ? 0.8 : 0.4)) {
      const paths = [pick([...PATTERNS.keys()]), pick([...PATTERNS.keys()])].slice(
        random() < 0.7 ? 1 : 0,
      );
      const mode = random() < 0.2 ? { mode: "shared" } : {};
      const ttl = random() < 0.3 ? { ttl_seconds: 600 } : {};
      writer.say("claim", { paths, ...mode, ...ttl }, saying);
    } else if (drawn < (isCrowded ? 0.84 : 0.5)) writer.say("release", {}, saying);
    else if (drawn < 0.75 && heads.length > 0) writer.beat(minute, [[pick(heads.slice(-3)), 0]]);
    else if (drawn < 0.92) {
      const about = pick([...placesOf(other, "claim"), ...heads]);
      const approve = pick([{ approve: true }, { approve: true }, { approve: false }, {}]);
      (random() < 0.7 ? (writers[2] as TimedWriter) : writer).say(
        "ack",
        { about, ...approve },
        saying,
      );
    } else if (writer.lines.length > 0) {
      writer.goBackTo(pick(placesOf(writer)));
      writer.say("ship", { text: "elsewhere" }, saying);
    }
  }
  return writers.flatMap(({ lines }) => lines);
}

test("who holds what is what the text says, in any order, with copies and without some lines", () => {
  const seen = new Set<string>();
  for (let seed = 1; seed <= amount(40, 4_000); seed += 1) {
    const lines = randomLines(seed);
    const random = randomFrom(seed);
    const shuffled = shuffle(lines, random);
    const part = shuffled.filter(() => random() < 0.92);
    for (const order of [lines, shuffled, [...part, ...part]]) {
      const nowMs = atMinute(15);
      const expected = model(order, nowMs);
      for (const status of Object.values(expected.statuses)) seen.add(status);
      expect({ seed, ...judge(order, nowMs) }).toEqual({ seed, ...expected });
    }
  }
  expect([...seen].toSorted()).toEqual(["contested", "denied", "held", "lost", "waiting"]);
});
