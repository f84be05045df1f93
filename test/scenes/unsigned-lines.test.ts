import { Buffer } from "node:buffer";
import { expect, test } from "vitest";
import { acceptKey, deactivateKey, type StoreChange } from "../../src/trust/pins.ts";
import { parseTrustStore, serialiseTrustStore } from "../../src/trust/trust-file.ts";
import type { TrustStore } from "../../src/trust/store.ts";
import { MINUTE, propose, SECOND, statusOf, threadOf } from "../support/scripts/proposal-scene.ts";
import { SimulatedWire, type SceneOptions } from "../support/scenes/simulated-wire.ts";

// Lines that nobody has signed: where policy takes them, and what they prove. Spec 1.5, 3.4.5.

/** Policy lets scribe write unsigned lines. */
const signing = { enforce_signed: true, allow_unsigned_from: ["scribe"] };

function sceneOf(options: Omit<SceneOptions, "signing">): SimulatedWire {
  return new SimulatedWire(["forge", "scribe"], { signing, ...options });
}

/** A line in scribe's name that nobody has signed. */
async function unsigned(wire: SimulatedWire, fields: object): Promise<void> {
  const timestamp = new Date(wire.nowMs).toISOString();
  const line = { timestamp, from: "scribe", to: ["forge"], correlation_id: timestamp, ...fields };
  wire.append("scribe_to_forge.jsonl", `${JSON.stringify(line)}\n`);
  await wire.pass(SECOND);
}

const note = (subject: string) => ({ type: "feedback", subject, body: "x" });

async function inbox(wire: SimulatedWire): Promise<string[]> {
  return (await wire.agent("forge").view("inbox", {})).messages.map(({ subject }) => subject);
}

/** Forge's operator changes what he believes while the daemon is down. */
async function changePins(
  wire: SimulatedWire,
  change: (store: TrustStore) => StoreChange,
): Promise<void> {
  wire.kill("forge");
  const { trust } = wire.paths("forge");
  const read = parseTrustStore(Buffer.from(wire.read(trust), "utf8"), 0);
  const changed = read.ok ? change(read.store) : read;
  if (!changed.ok) throw new Error(changed.detail);
  const text = serialiseTrustStore(changed.store);
  wire.disk.process().replace(trust, Buffer.from(text), 0o600);
  await wire.start("forge");
}

test("they are refused where a key of their author is pinned, also when it was stopped", async () => {
  const wire = sceneOf({ unsignedPins: [] });
  await wire.start("forge");
  await unsigned(wire, note("one"));
  await changePins(wire, (store) => {
    const key = store.peers.get("scribe")?.keys[0];
    return deactivateKey(store, key?.keyId ?? "", new Date(wire.nowMs).toISOString());
  });
  await unsigned(wire, note("two"));
  expect(await inbox(wire)).toEqual([]);
});

test("what was taken before a key was pinned stays, and the next one is refused", async () => {
  const wire = sceneOf({ unsignedPins: [], keyless: ["scribe"] });
  await wire.start("forge");
  await unsigned(wire, note("one"));
  expect(await inbox(wire)).toEqual(["one"]);
  await changePins(wire, (store) =>
    acceptKey(store, "scribe", wire.publicKey("scribe"), new Date(wire.nowMs).toISOString()),
  );
  await unsigned(wire, note("two"));
  expect(await inbox(wire)).toEqual(["one"]);
});

test("the operator's exception takes them beside signed ones; they decide nothing", async () => {
  const wire = sceneOf({ unsignedPins: ["scribe"] });
  await wire.start();
  const id = await propose(wire, "forge", ["scribe"], "Use tabs");
  await wire.pass(5 * SECOND);
  const thread = { correlation_id: await threadOf(wire, "forge", id) };
  await unsigned(wire, { type: "ack", subject: "agreed", body: { acks: id }, ...thread });
  await wire.pass(MINUTE);
  expect(await inbox(wire)).toEqual(["agreed"]);
  expect(await statusOf(wire, "forge", id)).toBe("open");
});
