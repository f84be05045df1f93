import { describe, expect, it } from "vitest";
import {
  claimsView,
  forecastClaim,
  type ClaimFacts,
} from "../../../src/protocol/claims/standing.ts";
import { checkPaths, type PathFacts } from "../../../src/protocol/claims/blocked-paths.ts";
import type { Domain } from "../../../src/trust/policy/config.ts";
import {
  atMinute,
  emptyStore,
  holdAll,
  TimedWriter,
  type TimedLine,
} from "../../support/timed-lines.ts";
import type { PlaceJson } from "../../../src/wire/places.ts";

const PARSER: ReadonlyMap<string, Domain> = new Map([
  ["parser", { owner: "ann", paths: ["src/parser/**"] }],
]);

type Facts = Partial<Omit<PathFacts, "history" | "live">> & { readonly minute?: number };

function ask<T>(lines: readonly TimedLine[], facts: Facts, judge: (facts: PathFacts) => T): T {
  const store = emptyStore();
  const history = holdAll(store, lines, (of, place) => {
    store.claims.take(of, place);
  });
  const found = judge({
    history,
    live: store.claims.live(history, atMinute(facts.minute ?? 5)),
    ...{ self: "ann", members: new Set(["forge", "scribe", "ann"]), domains: new Map() },
    ...{ tierOf: () => "ATTESTED", inForce: [], behind: [] },
    ...facts,
  });
  store.close();
  return found;
}

/** Status of each claim, by its author. */
function statuses(lines: readonly TimedLine[], facts: Facts = {}): unknown {
  return ask(lines, facts, (of: ClaimFacts) =>
    claimsView(of).map(({ from, status }) => `${from} ${status}`),
  );
}

/** Verdict of a path for an agent. */
function verdict(lines: readonly TimedLine[], path: string, facts: Facts = {}): unknown {
  return ask(lines, facts, (of) => checkPaths(of, [path]).paths[0]?.verdict);
}

function claim(
  by: TimedWriter,
  paths: readonly string[],
  { to = ["*"], minute = 0, thread = "t5", ...body }: Saying = {},
): PlaceJson {
  return by.say("claim", { paths, ...body }, { to, minute, thread });
}

interface Saying {
  readonly to?: readonly string[];
  readonly minute?: number;
  readonly thread?: string;
  readonly mode?: string;
  readonly ttl_seconds?: number;
  readonly reason?: string;
}

const agents = (): [TimedWriter, TimedWriter, TimedWriter] => [
  new TimedWriter("forge"),
  new TimedWriter("scribe"),
  new TimedWriter("ann"),
];

describe("a claim", () => {
  it("keeps others from its paths until its author releases it", () => {
    const [forge] = agents();
    claim(forge, ["src/a/**"], { reason: "parser" });
    expect(statuses(forge.lines)).toEqual(["forge held"]);
    expect(verdict(forge.lines, "src/a/x.ts")).toBe("blocked");
    expect(verdict(forge.lines, "src/b/x.ts")).toBe("free");
    expect(verdict(forge.lines, "src/a/x.ts", { self: "forge" })).toBe("free");
    const ours = ask(forge.lines, { self: "forge" }, (facts) => checkPaths(facts, ["src/a/x.ts"]));
    expect(ours.paths[0]?.claims).toEqual([]);
    const [blocked] = ask(forge.lines, {}, (facts) => checkPaths(facts, ["src/a/x.ts"]).paths);
    expect(blocked?.blocked_by).toEqual([
      {
        kind: "claim",
        from: "forge",
        event_id: forge.last[2],
        until: "2026-06-01T13:00:00.000Z",
        reason: "parser",
      },
    ]);
    forge.say("release", {}, { thread: "t5" });
    expect(statuses(forge.lines)).toEqual([]);
    expect(verdict(forge.lines, "src/a/x.ts")).toBe("free");
  });

  it("is ended by a release of its author alone, in its thread, that descends from it", () => {
    const [forge, scribe] = agents();
    const place = claim(forge, ["src/a/**"]);
    scribe.say("release", {}, { thread: "t5" });
    forge.say("release", {}, { thread: "t6" });
    forge.goBackTo(undefined);
    for (let times = 0; times < 3; times += 1) forge.say("release", {}, { thread: "t5" });
    const lines = [...forge.lines, ...scribe.lines];
    expect(statuses(lines)).toEqual(["forge held"]);
    forge.goBackTo(place);
    forge.say("release", {}, { thread: "t5" });
    expect(statuses([...forge.lines, ...scribe.lines].toReversed())).toEqual([]);
  });

  it("that was accepted later is ended by what was released meanwhile", () => {
    const [forge] = agents();
    claim(forge, ["src/a/**"]);
    forge.say("release", {}, { thread: "t5" });
    const store = emptyStore();
    const places: { readonly author: string; readonly seq: number | null; readonly id: string }[] =
      [];
    const history = holdAll(store, forge.lines, (_, place) => places.push(place));
    store.write(() => {
      for (const place of places.toReversed()) store.claims.take(history, place);
    });
    expect(store.claims.live(history, atMinute(1))).toEqual([]);
    store.close();
  });

  it("ends by its time after our receipt", () => {
    const [forge] = agents();
    forge.say("claim", { paths: ["a"], ttl_seconds: 60 }, { minute: 0, takenMinute: 3 });
    expect(statuses(forge.lines, { minute: 3.9 })).toEqual(["forge held"]);
    expect(statuses(forge.lines, { minute: 4 })).toEqual([]);
  });

  it("is ignored while eight earlier ones of its author are live", () => {
    const [forge, scribe] = agents();
    for (let at = 0; at < 9; at += 1)
      claim(forge, [`src/${at}/**`], { thread: `t${at}`, ttl_seconds: at === 2 ? 240 : 3_600 });
    claim(scribe, ["docs/**"]);
    const lines = [...forge.lines, ...scribe.lines];
    expect(verdict(lines, "src/7/x", { minute: 3 })).toBe("blocked");
    expect(verdict(lines, "src/8/x", { minute: 3 })).toBe("free");
    expect(verdict(lines, "docs/x", { minute: 3 })).toBe("blocked");
    expect(verdict(lines, "src/8/x", { minute: 4 })).toBe("blocked");
    forge.say("release", {}, { thread: "t1", minute: 1 });
    expect(verdict([...forge.lines], "src/8/x", { minute: 3 })).toBe("blocked");
  });

  it("needs an author that may claim and is a member, and what a claim says", () => {
    const [forge] = agents();
    claim(forge, ["src/a/**"]);
    expect(statuses(forge.lines, { tierOf: () => "VERIFIED" })).toEqual(["forge void"]);
    expect(statuses(forge.lines, { members: new Set(["ann"]) })).toEqual(["forge void"]);
    expect(verdict(forge.lines, "src/a/x", { tierOf: () => "VERIFIED" })).toBe("free");
    for (const body of [
      { paths: [] },
      { paths: ["/etc"] },
      { paths: ["../x"] },
      { paths: ["a"], mode: "mine" },
      { paths: ["a"], ttl_seconds: 86_401 },
      { paths: Array.from({ length: 33 }, (_, at) => `a${at}`) },
    ]) {
      const other = new TimedWriter("forge");
      other.say("claim", body);
      expect(statuses(other.lines)).toEqual([]);
    }
  });

  it("binds those to whom it is addressed, when it is exclusive", () => {
    const [forge] = agents();
    claim(forge, ["src/a/**"], { to: ["scribe"] });
    claim(forge, ["src/b/**"], { mode: "shared", thread: "t6" });
    expect(verdict(forge.lines, "src/a/x")).toBe("free");
    expect(verdict(forge.lines, "src/a/x", { self: "scribe" })).toBe("blocked");
    expect(verdict(forge.lines, "src/b/x")).toBe("free");
  });
});

describe("of two claims that overlap", () => {
  it("the one loses whose author knew of the other at it", () => {
    const [forge, scribe] = agents();
    const first = claim(forge, ["src/**"]);
    scribe.beat(1, [[first, 1]]);
    claim(scribe, ["src/a/**"], { minute: 2 });
    const lines = [...forge.lines, ...scribe.lines];
    expect(statuses(lines)).toEqual(["forge held", "scribe lost"]);
    expect(statuses(lines.toReversed())).toEqual(["forge held", "scribe lost"]);
    expect(verdict(lines, "src/a/x")).toBe("blocked");
  });

  it("also when only a line behind the other, or the claim itself, shows that", () => {
    for (const isInClaim of [false, true]) {
      const [forge, scribe] = agents();
      const first = claim(forge, ["src/**"]);
      const later = forge.say("ship", {});
      if (!isInClaim) scribe.say("ack", { about: later });
      scribe.say("claim", { paths: ["src/a/**"], ...(isInClaim ? { about: first } : {}) });
      const lines = [...forge.lines, ...scribe.lines];
      expect(statuses(lines)).toEqual(["forge held", "scribe lost"]);
    }
  });

  it("both are contested when neither author knew, and nobody holds before one ends", () => {
    const [forge, scribe] = agents();
    const first = claim(forge, ["src/**"]);
    const second = claim(scribe, ["src/a/**"], { minute: 1 });
    // What they learn afterwards changes nothing.
    forge.beat(2, [[second, 1]]);
    scribe.beat(2, [[first, 1]]);
    const lines = [...forge.lines, ...scribe.lines];
    expect(statuses(lines)).toEqual(["forge contested", "scribe contested"]);
    expect(verdict(lines, "src/a/x")).toBe("free");
    forge.say("release", {}, { thread: "t5" });
    expect(statuses([...forge.lines, ...scribe.lines])).toEqual(["scribe held"]);
  });

  it("a place of another branch, or one before the other, shows nothing", () => {
    const [forge, scribe] = agents();
    const before = forge.say("ship", {}, { minute: 0 });
    claim(forge, ["src/**"], { minute: 1 });
    forge.goBackTo(before);
    const elsewhere = forge.say("ship", { text: "other" });
    scribe.beat(2, [[before, 1]]);
    scribe.beat(2, [[elsewhere, 1]]);
    claim(scribe, ["src/a/**"], { minute: 3 });
    const lines = [...forge.lines, ...scribe.lines];
    expect(statuses(lines)).toEqual(["forge contested", "scribe contested"]);
  });

  it("neither loses when both are shared, or neither is addressed to the other's author", () => {
    const [forge, scribe] = agents();
    claim(forge, ["src/**"], { mode: "shared" });
    claim(scribe, ["src/a/**"], { mode: "shared" });
    expect(statuses([...forge.lines, ...scribe.lines])).toEqual(["forge held", "scribe held"]);
    const [forge2, scribe2] = agents();
    claim(forge2, ["src/**"], { to: ["ann"] });
    claim(scribe2, ["src/a/**"], { to: ["ann"] });
    expect(statuses([...forge2.lines, ...scribe2.lines])).toEqual(["forge held", "scribe held"]);
    claim(scribe2, ["src/b/**"], { to: ["forge"], mode: "shared", thread: "t6" });
    expect(statuses([...forge2.lines, ...scribe2.lines])).toEqual([
      "forge contested",
      "scribe held",
      "scribe contested",
    ]);
  });

  it("one that is in no chain loses to whose author it did not know of, never by knowing", () => {
    const [forge, , ann] = agents();
    const loose = ann.sayLoose("claim", { paths: ["src/**"] }, { minute: 0, thread: "t7" });
    claim(forge, ["src/a/**"], { minute: 1 });
    const facts = { self: "scribe" };
    const both = (): TimedLine[] => [...ann.lines, ...forge.lines];
    expect(statuses(both(), facts)).toEqual(["ann contested", "forge contested"]);
    forge.goBackTo(undefined);
    forge.lines.length = 0;
    forge.say("ack", { about: loose });
    claim(forge, ["src/a/**"], { minute: 1 });
    expect(statuses(both(), facts)).toEqual(["ann held", "forge lost"]);
    ann.sayLoose("release", {}, { thread: "t7" });
    expect(statuses(both(), facts)).toEqual(["forge held"]);
  });

  it("what a new one of ours would meet is said before", () => {
    const [forge] = agents();
    const scribe = new TimedWriter("scribe");
    const place = claim(forge, ["src/**"]);
    claim(scribe, ["src/**"]);
    const lines = [...forge.lines, ...scribe.lines];
    const found = ask(lines, { domains: PARSER, self: "scribe" }, (facts) =>
      forecastClaim(facts, { paths: ["src/**"], mode: "exclusive" }),
    );
    expect(found).toEqual({
      against: [
        { event_id: place[2], from: "forge", paths: ["src/**"], until: "2026-06-01T13:00:00.000Z" },
      ],
      owners: [{ domain: "parser", owner: "ann" }],
    });
  });
});

describe("in another's domain", () => {
  const facts = { domains: PARSER };

  it("the last ack of the owner about the claim decides", () => {
    const [forge, scribe, ann] = agents();
    const place = claim(forge, ["src/parser/**"]);
    const lines = (): TimedLine[] => [...forge.lines, ...scribe.lines, ...ann.lines];
    const forForge = { ...facts, self: "forge" };
    expect(statuses(lines(), facts)).toEqual(["forge waiting"]);
    expect(verdict(lines(), "src/parser/x", forForge)).toBe("blocked");
    scribe.say("ack", { about: place, approve: true });
    expect(statuses(lines(), facts)).toEqual(["forge waiting"]);
    ann.say("ack", { about: place, approve: true });
    ann.say("ack", { about: place });
    expect(statuses(lines(), facts)).toEqual(["forge held"]);
    expect(verdict(lines(), "src/parser/x", forForge)).toBe("covered");
    expect(verdict(lines(), "src/parser/x", { ...facts, self: "scribe" })).toBe("blocked");
    expect(verdict(lines(), "src/parser/x", facts)).toBe("own");
    ann.say("ack", { about: place, approve: false });
    expect(statuses(lines().toReversed(), facts)).toEqual(["forge denied"]);
    expect(verdict(lines(), "src/parser/x", forForge)).toBe("blocked");
  });

  it("the owner itself needs no grant", () => {
    const [, , ann] = agents();
    claim(ann, ["src/parser/**"]);
    expect(statuses(ann.lines, facts)).toEqual(["ann held"]);
    expect(verdict(ann.lines, "src/parser/x", { ...facts, self: "forge" })).toBe("blocked");
  });

  it("an owner that does not chain names the claim by its id", () => {
    const [forge, , ann] = agents();
    const place = claim(forge, ["src/parser/**"]);
    ann.sayLoose("ack", { acks: place[2], approve: true }, { thread: "t5" });
    expect(statuses([...forge.lines, ...ann.lines], facts)).toEqual(["forge held"]);
    ann.sayLoose("ack", { approve: false }, { thread: "t5" });
    expect(statuses([...forge.lines, ...ann.lines], facts)).toEqual(["forge held"]);
  });

  it("claims do not contest each other, and an owner that left owns nothing", () => {
    const [forge, scribe] = agents();
    claim(forge, ["src/parser/**"]);
    claim(scribe, ["src/parser/a"]);
    const lines = [...forge.lines, ...scribe.lines];
    expect(statuses(lines, facts)).toEqual(["forge waiting", "scribe waiting"]);
    const left = { ...facts, members: new Set(["forge", "scribe"]), self: "scribe" };
    expect(statuses(lines, left)).toEqual(["forge contested", "scribe contested"]);
  });

  it("a decision in force that both are party to covers the paths", () => {
    const decision = { decision_id: "d", affected_domains: ["parser"], acked_by: ["ann", "forge"] };
    const covered = (acked_by: readonly string[], self = "forge"): unknown =>
      verdict([], "src/parser/x", { ...facts, self, inForce: [{ ...decision, acked_by }] });
    expect(covered(["ann", "forge"])).toBe("covered");
    expect(covered(["ann", "scribe"])).toBe("blocked");
    expect(covered(["forge", "scribe"])).toBe("blocked");
    expect(covered([], "ann")).toBe("own");
  });
});
