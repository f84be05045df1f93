import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { tellAsks } from "../../../src/agent/duties/ask-notices.ts";
import { tellGrant } from "../../../src/agent/duties/claim-notices.ts";
import { PeerNotices, tellMembers } from "../../../src/agent/duties/standing-notices.ts";
import type { Store } from "../../../src/store/store.ts";
import { MINUTE_MS } from "../../../src/wire/durations.ts";
import { isChained, readPlace, type Place, type PlaceJson } from "../../../src/wire/places.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { newLine, storeOf, Writer } from "../../support/chain-lines.ts";
import { CoreWire, corePlace } from "../../support/core-wire.ts";

// What is told of forks, domains and peers, which a wire of honest agents does not have. Spec 3.12.

const root = mkdtempSync(join(tmpdir(), "deaddrop-notice-parts-"));
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

const NAMES = ["forge", "scribe", "ann"];

function factsOf(store: Store, self: string, writers: readonly Writer[]) {
  const whole = (author: string) => {
    const last = writers.find((each) => each.author === author)?.last;
    const place = last && readPlace(fromPlain(last));
    return place !== undefined && isChained(place) ? place : undefined;
  };
  const place = { ...corePlace(self, NAMES), markPath: "", inboxPath: "" };
  const situation = { whole, chains: () => true, isSilent: () => false };
  return { store, history: store.history("w"), place, situation, isLive: true };
}

function told(store: Store): string[] {
  return store.notices.after(0, 100).map(({ kind, text }) => `${kind}: ${text}`);
}

function placeAt([author, seq, id]: PlaceJson): Place {
  return { author, seq, id };
}

function pair([, seq, id]: PlaceJson): [number | null, string] {
  return [seq, id];
}

test("an ask is told as disputed when its asker's branches differ, and again when a party's chain decides", () => {
  const [forge, scribe] = [new Writer("forge"), new Writer("scribe")];
  const ask = forge.say("proposal", "T", { required: ["scribe"] }, ["scribe"]);
  const ack = scribe.say("ack", "T", { acks: ask, approve: true });
  const entry = { by: "scribe", ack: pair(ack), at: pair(ack) };
  const approved = forge.say("correction", "T", {
    ...{ decides: ask, outcome: "approved", answers: [entry], reason: "agreed by all" },
  });
  forge.goBackTo(ask);
  forge.say("correction", "T", { decides: ask, outcome: "ended", answers: [], reason: "no time" });
  const store = storeOf([...forge.lines, ...scribe.lines]);
  const facts = factsOf(store, "scribe", [forge, scribe]);
  const tell = (nowMs: number): void => {
    store.write((into) => {
      tellAsks(facts, into, nowMs);
    });
  };
  tell(0);
  tell(5 * MINUTE_MS);
  expect(told(store)).toEqual([
    'disputed: forge\'s proposal "", which needed your answer, is disputed: forge has forked its chain, and the ' +
      "branches differ about it. The operators have to decide.",
  ]);
  scribe.beat({ forge: approved });
  store.write((into) => {
    for (const line of scribe.lines.slice(-1)) into.hold(newLine(line));
  });
  tell(30 * MINUTE_MS);
  expect(told(store).slice(1)).toEqual([
    'approved: forge\'s proposal "", which needed your answer, is approved: every required party agreed.',
  ]);
});

test("many ends of one peer's asks are passed over once its hour is full", () => {
  const forge = new Writer("forge");
  for (let each = 0; each < 120; each += 1) {
    const ask = forge.say("proposal", `T${each}`, { required: ["scribe"] }, ["scribe"]);
    forge.say("correction", `T${each}`, { decides: ask, outcome: "ended", answers: [] });
  }
  const store = storeOf(forge.lines);
  let viewed = 0;
  const facts = factsOf(store, "scribe", [forge]);
  const { situation } = facts;
  const whole = (author: string) => {
    viewed += 1;
    return situation.whole(author);
  };
  for (let round = 0; round < 2; round += 1)
    store.write((into) => {
      tellAsks({ ...facts, situation: { ...situation, whole } }, into, 0);
    });
  expect(store.notices.last()).toBe(7);
  expect(viewed).toBeLessThan(100);
  expect(store.meta("notices asks")).toBe(
    String(store.asks.changed({ after: 0, limit: 5_000 }).at(-1)?.changed),
  );
});

test("the owner of a domain is told of, as it grants a claim and as it denies it", () => {
  const [forge, scribe, ann] = NAMES.map((name) => new Writer(name)) as [Writer, Writer, Writer];
  const claim = forge.say("claim", "T", { paths: ["src/parser/**", "docs"] });
  for (const approve of [true, false]) scribe.say("ack", "T", { about: claim, approve });
  ann.say("ack", "T", { about: claim, approve: false });
  const store = storeOf([forge, scribe, ann].flatMap(({ lines }) => lines));
  const base = factsOf(store, "forge", [forge, scribe, ann]);
  const domains = new Map([
    ["parser", { owner: "scribe", paths: ["src/parser/**"] }],
    ["other", { owner: "ann", paths: ["test/**"] }],
  ]);
  const members = new Map(NAMES.map((name) => [name, true]));
  const facts = { ...base, members, place: { ...base.place, domains } };
  store.write(() => {
    store.claims.take(facts.history, placeAt(claim));
    for (const line of store.lines({ after: 0, limit: 10 })) tellGrant(facts, line, 0);
  });
  expect(told(store)).toEqual([
    'claim_granted: scribe granted your claim of "src/parser/**" and 1 more.',
    'claim_denied: scribe denied your claim of "src/parser/**" and 1 more.',
  ]);
});

test("a peer that is held is told while something is owed, and that it is back", async () => {
  const wire = new CoreWire(root, ["forge", "scribe"]);
  await wire.settle(2);
  const { store, place, members } = wire.agent("forge").core;
  const peers = new PeerNotices();
  const tell = (isHeld: boolean): void => {
    const believed = (handle: string) => ({
      ...place.believed(handle),
      ...(isHeld ? { held: { cause: "key_revoked", detail: "", sinceMs: 0 } } : {}),
    });
    const facts = { store, members, place: { ...place, believed }, knownMs: () => 1 };
    wire.nowMs += 1_000;
    store.write((into) => {
      peers.tell(facts, into, wire.nowMs);
    });
  };
  for (const isHeld of [true, false]) tell(isHeld);
  expect(told(store)).toEqual([]);
  wire.agent("forge").propose("Use tabs", ["scribe"]);
  for (const isHeld of [true, true, false, false]) tell(isHeld);
  expect(told(store)).toEqual([
    "peer_held: scribe is held, so nothing more of it is delivered; deaddrop peers show scribe says why, and it owes you 1 answer.",
    "peer_back: scribe is back, and it owes you 1 answer.",
  ]);
});

test("a fork of the roster is told once for the change behind which it is, and nothing before reading has ended", () => {
  const store = storeOf([]);
  const { place } = factsOf(store, "forge", []);
  const tell = (names: readonly string[], isNews: boolean, isForked = false): void => {
    const roster = new Map(names.map((name) => [name, true]));
    const inForce = { roster, reached: roster, handles: names, leaves: [], after: 3, isForked };
    store.write((into) => {
      tellMembers({ store, place, roster: inForce }, into, { isNews, nowMs: 0 });
    });
  };
  tell(["forge"], false);
  tell(["forge", "scribe"], false, true);
  expect(told(store)).toEqual([]);
  tell(["forge", "scribe", "ann"], true);
  for (let time = 0; time < 2; time += 1) tell(["forge", "scribe", "ann"], true, true);
  // What our own agent did is no news.
  tell(["scribe", "ann"], true);
  expect(told(store)).toEqual([
    "members_changed: The members of this wire have changed: ann joined. `deaddrop members` lists them.",
    expect.stringMatching(/^roster_forked: two changes of members follow the same one/u),
  ]);
  expect(store.notices.after(0, 9).at(-1)?.about).toBe("epoch 3");
});
