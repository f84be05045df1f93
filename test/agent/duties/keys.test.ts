import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { keysView } from "../../../src/agent/answers/keys.ts";
import { KeyDuty } from "../../../src/agent/duties/keys.ts";
import { nodeDisk } from "../../../src/storage/disk/node-disk.ts";
import {
  prepareNextIdentity,
  prepareUrgentIdentity,
} from "../../../src/storage/private/signing-key.ts";
import { acceptKey, follow, noteRevoked, revokeKey } from "../../../src/trust/pins.ts";
import { HOUR_MS } from "../../../src/wire/durations.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import type { HeldLine } from "../../../src/store/store.ts";
import { composeLine } from "../../../src/wire/compose.ts";
import { makeSigner } from "../../../src/wire/signature.ts";
import { secretOf, WIRE_ID } from "../../support/core-wire.ts";
import { TrustWire } from "../../support/trust-wire.ts";

// Keys of agents change by lines of their chains. Spec 2.5.

const root = mkdtempSync(join(tmpdir(), "deaddrop-keys-"));
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});
const disk = nodeDisk();
const SEED = new Uint8Array(32).fill(9);
const GRACE_HOURS = 24;

function makeWire(...names: string[]): TrustWire {
  return new TrustWire(root, names, {
    duties: ({ ground, trust }) => [new KeyDuty(ground, trust, GRACE_HOURS)],
  });
}

/** What `deaddrop key rotate` does. */
function rotate(wire: TrustWire, name: string, required: readonly string[]): HeldLine {
  const next = prepareNextIdentity(disk, wire.paths(name), SEED);
  wire.trust(name).reread();
  const { key_id, key } = next.publicIdentity;
  return wire.agent(name).say("a new key", {
    ...{ type: "proposal", to: required, ackRequired: true },
    body: fromPlain({ action: "add_key", key_id, key, required, decision: "new key" }),
  });
}

function keyOf(line: HeldLine): unknown {
  return (JSON.parse(Buffer.from(line.bytes).toString()) as { public_key_id: unknown })
    .public_key_id;
}

function states(wire: TrustWire, at: string, of: string) {
  const keys = wire.trust(at).store.peers.get(of)?.keys ?? [];
  return keys.map(({ keyId, active }) => `${keyId.slice(-8)} ${active ? "active" : "ended"}`);
}

describe("a rotation", () => {
  test("brings the new key in once all have acked it, and ends the old one a day later", async () => {
    const wire = makeWire("forge", "scribe", "ann");
    await wire.settle();
    const old = wire.trust("forge").identity.signer.keyId;
    const ask = rotate(wire, "forge", ["scribe", "ann"]);
    await wire.settle();
    wire.agent("scribe").answer(ask, true);
    await wire.settle();
    expect(states(wire, "scribe", "forge")).toHaveLength(2);
    expect(states(wire, "ann", "forge")).toHaveLength(1);
    const next = wire.trust("forge").nextIdentity?.signer.keyId ?? "";
    const asked = { place: ["forge", ask.seq, ask.id], event_id: ask.id, action: "add_key" };
    expect(keysView(wire.agent("forge").core, wire.trust("forge"))).toEqual({
      ...{ current: old, since: null, next, earlier: [] },
      asked: [{ ...asked, key_id: next, required: ["scribe", "ann"], status: "open" }],
    });
    expect(keyOf(wire.agent("forge").say("still the old key"))).toBe(old);
    wire.agent("ann").answer(ask, true);
    await wire.settle();
    const { keyId: current } = wire.trust("forge").identity.signer;
    expect(current).not.toBe(old);
    expect(keyOf(wire.agent("forge").say("the new key"))).toBe(current);
    await wire.settle();
    const said = ["a new key", "still the old key", "closed", "the new key"];
    expect(wire.agent("ann").mail).toEqual(said);
    expect(wire.trust("forge").nextIdentity).toBeUndefined();
    expect(keysView(wire.agent("forge").core, wire.trust("forge"))).toMatchObject({
      ...{ current, next: null, earlier: [old], asked: [{ status: "ratified" }] },
    });

    wire.nowMs += GRACE_HOURS * HOUR_MS;
    await wire.settle();
    expect(wire.agent("scribe").mail.at(-1)).toBe(`believe ${old} no longer`);
    const end = wire.agent("scribe").core.store.mail.after({}, 0, 100).at(-1) ?? 0;
    const proposal = wire.agent("scribe").core.store.line(end);
    if (proposal === undefined) throw new Error("no proposal");
    for (const name of ["scribe", "ann"]) wire.agent(name).answer(proposal, true);
    await wire.settle();
    const ends = [`${old.slice(-8)} ended`, `${current.slice(-8)} active`];
    expect(states(wire, "scribe", "forge")).toEqual(ends);
    expect(states(wire, "ann", "forge")).toEqual(ends);
    expect(states(wire, "forge", "forge")).toContain(`${old.slice(-8)} ended`);
    // It is asked for once.
    wire.nowMs += GRACE_HOURS * HOUR_MS;
    await wire.settle();
    expect(wire.agent("scribe").mail.filter((each) => each.startsWith("believe"))).toHaveLength(1);
    // What the old key has signed is believed by who reads it later.
    wire.agent("ann").loseStore();
    await wire.settle();
    expect(wire.agent("ann").mail.slice(0, 4)).toEqual(said);
    wire.close();
  });

  test("a peer that rejects the key keeps the old one in use, and pins nothing", async () => {
    const wire = makeWire("forge", "scribe");
    await wire.settle();
    const ask = rotate(wire, "forge", ["scribe"]);
    await wire.settle();
    wire.agent("scribe").answer(ask, false);
    await wire.settle();
    expect(states(wire, "scribe", "forge")).toHaveLength(1);
    expect(keyOf(wire.agent("forge").say("the old key"))).toBe(
      makeSigner("forge", secretOf("forge")).keyId,
    );
    wire.close();
  });

  test.each(["the ack is committed", "the file is written"])(
    "a process that dies after %s carries the change out all the same",
    async (when) => {
      const wire = makeWire("forge", "scribe");
      await wire.settle();
      const ask = rotate(wire, "forge", ["scribe"]);
      await wire.settle();
      const { trust } = wire.paths("scribe");
      const before = readFileSync(trust);
      wire.agent("scribe").answer(ask, true);
      if (when === "the file is written") {
        wire.agent("scribe").core.writeFiles();
        expect(readFileSync(trust).equals(before)).toBe(false);
      }
      wire.agent("scribe").die();
      await wire.settle();
      expect(states(wire, "scribe", "forge")).toHaveLength(2);
      wire.close();
    },
  );

  test("a proposal about the key of another agent, or with a wrong key id, has no effect", async () => {
    const wire = makeWire("forge", "scribe", "ann");
    await wire.settle();
    const { key_id, key } = prepareNextIdentity(disk, wire.paths("ann"), SEED).publicIdentity;
    const bodies = [
      { action: "add_key", key_id, key },
      { action: "add_key", key_id: "forge:00000000", key },
      { action: "deactivate_key", key_id: makeSigner("ann", secretOf("ann")).keyId },
    ];
    for (const each of bodies) {
      const body = fromPlain({ ...each, required: ["scribe"], decision: "a key" });
      const about = { type: "proposal", to: ["scribe"], ackRequired: true, body };
      const ask = wire.agent("forge").say("a key", about);
      await wire.settle();
      wire.agent("scribe").answer(ask, true);
      await wire.settle();
    }
    expect(states(wire, "scribe", "forge")).toHaveLength(1);
    expect(states(wire, "scribe", "ann")).toEqual([expect.stringContaining("active")]);
    wire.close();
  });
});

describe("a compromised key", () => {
  test("what it signed behind the last good line is struck where the operator revokes it", async () => {
    const wire = makeWire("forge", "scribe");
    await wire.settle();
    const good = wire.agent("forge").say("good");
    wire.agent("forge").say("of a thief");
    await wire.settle();
    expect(wire.agent("scribe").mail).toEqual(["good", "of a thief"]);
    const { keyId } = wire.trust("forge").identity.signer;
    const last = { seq: good.seq ?? 0, id: good.id };
    wire.trust("scribe").change((store) => {
      const revoked = revokeKey(store, keyId, wire.nowMs);
      return revoked.ok ? noteRevoked(revoked.store, keyId, "2026-06-01T12:00:00Z", last) : revoked;
    });
    wire.agent("forge").say("of a thief too");
    await wire.settle();
    const { core } = wire.agent("scribe");
    expect(core.store.chains.whole("forge")).toMatchObject(last);
    expect(wire.agent("scribe").mail).toEqual(["good", "of a thief"]);
    expect(
      core.store.chain("forge", { after: last.seq, limit: 9 }).map((line) => line.aside),
    ).toEqual([...["struck", "struck"]]);
    // The same when the store is lost: the private file says it.
    wire.agent("scribe").loseStore();
    await wire.settle();
    expect(wire.agent("scribe").core.store.chains.whole("forge")).toMatchObject(last);
    wire.close();
  });

  test("its owner goes on at once with another key, and says in its chain what the old one has not signed", async () => {
    const wire = makeWire("forge", "scribe");
    await wire.settle();
    const good = wire.agent("forge").say("good");
    await wire.settle();
    const thief = makeSigner("forge", secretOf("forge"));
    const head = { seq: good.seq ?? 0, id: good.id };
    const draft = { to: ["scribe"], type: "ship", subject: "of a thief", body: "" };
    const at = { timestamp: "2026-06-01T13:00:00.000000Z", wireId: WIRE_ID, head };
    const { line } = composeLine(draft, at, thief);
    const carrier = join(wire.dir, "forge_to_scribe.jsonl");
    writeFileSync(carrier, `${readFileSync(carrier, "utf8")}${Buffer.from(line).toString()}\n`);
    await wire.settle();
    const { core } = wire.agent("forge");
    expect(core.readiness.is).toBe("in use");
    prepareUrgentIdentity(disk, wire.paths("forge"), SEED);
    wire.trust("forge").reread();
    await wire.settle();
    expect(core.readiness.is).toBe("ready");
    const { store } = core;
    const [n = 0] = store.keyChanges.ownOf("revokes", thief.keyId);
    const revoking = store.line(n);
    expect(revoking).toMatchObject({ type: "correction", prev: good.id });
    expect(revoking && keyOf(revoking)).toBe(wire.trust("forge").identity.signer.keyId);
    expect(JSON.parse(Buffer.from(revoking?.bytes ?? []).toString())).toMatchObject({
      body: { revokes: thief.keyId, last: [good.seq, good.id] },
    });
    // A reader that compared the new key strikes the thief's line, without a fork.
    const { publicKey } = wire.trust("forge").identity;
    wire
      .trust("scribe")
      .change((store) => acceptKey(store, "forge", publicKey, "2026-06-01T12:00:00Z"));
    wire.agent("forge").say("of its owner");
    await wire.settle();
    const scribe = wire.agent("scribe").core.store;
    expect(scribe.chains.whole("forge")).toMatchObject({ fork: null });
    expect(wire.agent("scribe").mail.at(-1)).toBe("of its owner");
    // The thief's line is in our carrier, and is read again: it is not ours.
    wire.agent("forge").loseStore();
    await wire.settle();
    expect(wire.agent("forge").core.readiness.is).toBe("ready");
    wire.close();
  });
});

test("the branch that the operator follows is followed again when the store is lost", async () => {
  const wire = makeWire("forge", "scribe");
  await wire.settle();
  const one = wire.agent("forge").say("one");
  await wire.settle();
  const kept = wire.agent("forge").keepStore();
  const two = wire.agent("forge").say("two");
  wire.agent("forge").core.publish();
  await wire.settle();
  wire.agent("forge").putBackStore(kept);
  rmSync(join(wire.dir, "forge_to_scribe.jsonl"));
  writeFileSync(wire.agent("forge").markPath, JSON.stringify([one.seq, one.id]));
  wire.agent("forge").restart();
  const other = wire.agent("forge").say("other");
  await wire.settle();
  expect(wire.agent("scribe").core.store.chains.whole("forge").fork).toBe(two.seq);
  const place = { seq: other.seq ?? 0, id: other.id };
  wire.trust("scribe").change((store) => follow(store, "forge", place));
  await wire.settle();
  expect(wire.agent("scribe").core.store.chains.whole("forge")).toMatchObject({
    ...place,
    fork: null,
  });
  expect(wire.agent("scribe").mail).toEqual(["one", "two", "other"]);
  wire.agent("scribe").loseStore();
  await wire.settle();
  expect(wire.agent("scribe").core.store.chains.whole("forge").id).toBe(other.id);
  wire.close();
});
