import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { loadPlace } from "../../src/agent/config/agent-config.ts";
import { meetPeers, type Contact } from "../../src/setup/contact/first-contact.ts";
import type { SetupHost } from "../../src/setup/host.ts";
import { initWire } from "../../src/setup/wire/init-wire.ts";
import { readWhole } from "../../src/storage/disk/disk.ts";
import { placesFrom } from "../../src/storage/paths.ts";
import { verifyCard } from "../../src/trust/cards/card.ts";
import type { SasClaim } from "../../src/trust/pairing/pairing.ts";
import { sasCommitment } from "../../src/trust/pairing/sas.ts";
import { amount, nextPoint } from "../support/amounts.ts";
import { cardOf, keyFrom } from "../support/foreign-card.ts";
import { Crashed, MemoryDisk, type MemoryProcess } from "../support/disk/memory-disk.ts";
import { BEGIN_MS, WIRE } from "../support/scenes/scene-folder.ts";

/** Cards that one hostile writer puts in the place of a peer's. */
const CHANGES = amount(200, 1_000);

let world: MemoryDisk;
let drawn = 0;

function hostOn(disk: MemoryProcess): SetupHost {
  const places = placesFrom({ HOME: "/home/forge" }, "/home/forge");
  return { disk, places, nowMs: BEGIN_MS, random: (bytes) => numbered((drawn += 1), bytes) };
}

function numbered(number: number, bytes = 32): Uint8Array {
  const filled = new Uint8Array(bytes);
  new DataView(filled.buffer).setUint32(0, number);
  return filled;
}

beforeEach(beginHere);

const cardPath = (handle: string) => join(WIRE, "trust", `${handle}.card.json`);

/** What forge's card shows that peer now. */
function shownTo(peer: string): SasClaim | undefined {
  const bytes = readWhole(world.process(), cardPath("forge"));
  const verdict = verifyCard(bytes ?? new Uint8Array(0), BEGIN_MS);
  if (!verdict.ok) throw new Error(verdict.detail);
  return verdict.card.claims.get(peer);
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

/** Puts a card there that has seen what forge shows now; `change` is its nonce, `seed` its key. */
function putCard(peer: string, change: number, seed = 1): void {
  const commitment = sasCommitment(numbered(change), keyFrom(peer, seed).key);
  const claim = { commitment, seen: shownTo(peer)?.commitment };
  const card = cardOf(peer, seed, "", new Map([["forge", claim]]));
  world.process().replace(cardPath(peer), card, 0o644);
}

/** The daemon looks at all cards, as it does whenever one changes or it starts. */
function look(disk: MemoryProcess = world.process(), again?: string): Contact {
  const host = hostOn(disk);
  const place = loadPlace(disk, host.places, { wireDir: WIRE, handle: "forge" });
  return meetPeers(host, place, again === undefined ? {} : { again });
}

describe("a card that changes hundreds of times, with nobody at the keyboard", () => {
  it.each([
    ["other commitments of one key", 1],
    ["other keys", 250],
  ])("costs one nonce of ours: %s", (_what, keys) => {
    const shown = new Set<string>();
    let contact: Contact | undefined;
    for (let change = 0; change < CHANGES; change += 1) {
      putCard("scribe", change, 1 + (change % keys));
      contact = look();
      const { nonce } = shownTo("scribe") ?? {};
      if (nonce !== undefined) shown.add(hex(nonce));
    }
    expect(shown.size).toBe(1);
    expect(contact?.pairings.get("scribe")?.restarts).toBe(CHANGES - 1);
    // The other peer's nonce is its own, and nobody has asked for it.
    expect(shownTo("vane")?.nonce).toBeUndefined();
  });

  it("shows a claim that has seen our nonce the same one when it is back", () => {
    putCard("scribe", 1);
    look();
    const nonce = shownTo("scribe")?.nonce;
    expect(nonce).toBeDefined();
    for (let round = 0; round < 5; round += 1) {
      putCard("scribe", 2);
      expect(look().pairings.get("scribe")?.other).toBeDefined();
      world.process().remove(cardPath("scribe"));
      expect(look().pairings.get("scribe")?.other).toBeDefined();
      putCard("scribe", 1);
      expect(look().pairings.get("scribe")?.other).toBeUndefined();
      expect(shownTo("scribe")?.nonce).toEqual(nonce);
    }
  });

  it("gets one nonce more for one word of the operator, and none for a word too many", () => {
    putCard("scribe", 1);
    look();
    const first = shownTo("scribe");
    putCard("scribe", 2);
    look(world.process(), "scribe");
    const second = shownTo("scribe");
    expect(second?.commitment).not.toBe(first?.commitment);
    // The claim has yet to see our new commitment; another may still come in its place.
    expect(second?.nonce).toBeUndefined();
    putCard("scribe", 3);
    look();
    expect(shownTo("scribe")?.nonce).toBeDefined();
    putCard("scribe", 4);
    look();
    expect(shownTo("scribe")).toEqual({ ...shownTo("scribe"), commitment: second?.commitment });
    putCard("scribe", 3);
    look(world.process(), "scribe");
    expect(shownTo("scribe")?.commitment).toBe(second?.commitment);
  });

  it("remembers what it has shown wherever its process dies, and shows nothing else then", () => {
    putCard("scribe", 1);
    const clean = world.process();
    const before = clean.operations;
    look(clean);
    const operations = clean.operations - before;
    expect(operations).toBeGreaterThan(10);
    const nonce = shownTo("scribe")?.nonce;
    for (const how of ["drop", "keep", "tear"] as const) {
      for (let at = 1; at <= operations; at = nextPoint(at)) {
        beginHere();
        putCard("scribe", 1);
        const victim = world.process();
        victim.failAt(at, "crash");
        try {
          look(victim);
        } catch (error) {
          if (!(error instanceof Crashed)) throw error;
        }
        const shown = new Set(
          [shownTo("scribe")?.nonce].flatMap((each) => (each ? hex(each) : [])),
        );
        world.powerCut(how);
        for (const change of [2, 1, 3]) {
          putCard("scribe", change);
          look();
          const now = shownTo("scribe")?.nonce;
          if (now !== undefined) shown.add(hex(now));
        }
        expect(shown.size).toBe(1);
      }
    }
    expect(nonce).toBeDefined();
  });
});

function beginHere(): void {
  world = new MemoryDisk();
  drawn = 0;
  const request = { wireDir: WIRE, handles: ["forge"], peers: ["scribe", "vane"], track: true };
  initWire(hostOn(world.process()), request);
}
