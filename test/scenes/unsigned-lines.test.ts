import { Buffer } from "node:buffer";
import { expect, test } from "vitest";
import { runAudit } from "../../src/audit/audit.ts";
import { wirePlan } from "../../src/audit/plan.ts";
import { loadPlace } from "../../src/agent/config/agent-config.ts";
import { parseTrustStore, serialiseTrustStore } from "../../src/trust/trust-file.ts";
import { acceptKey, deactivateKey } from "../../src/trust/pins.ts";
import type { TrustStore } from "../../src/trust/store.ts";
import { MINUTE, propose, SECOND, statusOf, threadOf } from "../support/scripts/proposal-scene.ts";
import { SimulatedWire, type SceneOptions } from "../support/scenes/simulated-wire.ts";
import { verifyHere } from "../support/verify-here.ts";

const LOG = "scribe_to_forge.jsonl";
/** Policy lets scribe write unsigned lines. */
const signing = { enforce_signed: true, allow_unsigned_from: ["scribe"] };

function sceneOf(options: Omit<SceneOptions, "signing">): SimulatedWire {
  return new SimulatedWire(["forge", "scribe"], { signing, ...options });
}

/** An ack in scribe's name that nobody has signed. */
async function unsignedAck(
  wire: SimulatedWire,
  proposal: string,
  atMs = wire.nowMs,
): Promise<void> {
  const ack = {
    timestamp: new Date(atMs).toISOString(),
    from: "scribe",
    to: ["forge"],
    type: "ack",
    subject: "agreed",
    correlation_id: await threadOf(wire, "forge", proposal),
    body: { acks: proposal },
  };
  wire.append(LOG, `${JSON.stringify(ack)}\n`);
  await wire.settle();
}

async function restart(wire: SimulatedWire, lost: "checkpoint" | "journal"): Promise<void> {
  wire.kill("forge");
  const process = wire.disk.process();
  process.remove(wire.paths("forge").checkpoint);
  if (lost === "journal") process.remove(wire.paths("forge").journal);
  await wire.start("forge");
}

/** What an audit by forge's pins finds: decisions, and refusals by their reason. */
async function audited(wire: SimulatedWire, by: "journal" | "logs alone") {
  const disk = wire.disk.process();
  const place = loadPlace(disk, wire.placesOf("forge"), {
    wireDir: wire.wirePath,
    handle: "forge",
  });
  const { config, tiers, layout, store, paths } = place;
  const journal = by === "journal" ? paths.journal : undefined;
  const plan = { config, tiers, roster: layout.roster, journal };
  const keys = { from: "pinned" as const, store };
  const { decisions, violations } = await runAudit(
    wirePlan(disk, place.wire.folder, keys, plan),
    verifyHere,
  );
  return {
    ratified: decisions.map(({ proposal_id: id }) => id),
    refused: violations.map(({ rule }) => rule),
  };
}

/** Changes what forge's operator believes; its daemon reads it when it starts again. */
function changePins(wire: SimulatedWire, change: (store: TrustStore) => TrustStore): void {
  const process = wire.disk.process();
  const { trust } = wire.paths("forge");
  const file = process.open(trust, "read");
  const read = parseTrustStore(file.read(file.stat().size, 0), 0);
  file.close();
  if (!read.ok) throw new Error(read.detail);
  process.replace(trust, Buffer.from(serialiseTrustStore(change(read.store))), 0o600);
}

/** The same now, replayed, without the journal, and in audits. */
async function expectEverywhere(
  wire: SimulatedWire,
  proposal: string,
  expected: { readonly ratified: boolean; readonly refused: readonly string[] },
): Promise<void> {
  const ratified = expected.ratified ? [proposal] : [];
  const found = { ratified, refused: expected.refused };
  for (const lost of [undefined, "checkpoint", "journal"] as const) {
    if (lost !== undefined) await restart(wire, lost);
    expect([lost, (await wire.outcome("forge")).ratified.map(({ id }) => id)]).toEqual([
      lost,
      ratified,
    ]);
    expect([lost, await audited(wire, "journal")]).toEqual([lost, found]);
    expect([lost, await audited(wire, "logs alone")]).toEqual([lost, found]);
  }
}

test("an unsigned ack after signed lines of its author is refused everywhere", async () => {
  const wire = sceneOf({ unsignedPins: [] });
  await wire.start();
  const id = await propose(wire, "forge", ["scribe"], "Use tabs");
  await wire.pass(5 * SECOND);
  await unsignedAck(wire, id);
  await wire.pass(MINUTE);
  expect(await statusOf(wire, "forge", id)).toBe("open");
  await expectEverywhere(wire, id, { ratified: false, refused: ["unsigned"] });
});

test("an unsigned ack before the first signed line of an agent with a pinned key is refused everywhere", async () => {
  const wire = sceneOf({ unsignedPins: [] });
  await wire.start("forge");
  const id = await propose(wire, "forge", ["scribe"], "Use tabs");
  await unsignedAck(wire, id);
  expect(await statusOf(wire, "forge", id)).toBe("open");
  await wire.start("scribe");
  await wire.pass(MINUTE);
  await expectEverywhere(wire, id, { ratified: false, refused: ["unsigned"] });
});

test("a stopped key goes on to forbid unsigned lines", async () => {
  const wire = sceneOf({ unsignedPins: [] });
  await wire.start("forge");
  const id = await propose(wire, "forge", ["scribe"], "Use tabs");
  wire.kill("forge");
  changePins(wire, (store) => {
    const key = store.peers.get("scribe")?.keys[0];
    const at = new Date(wire.nowMs).toISOString();
    const stopped = deactivateKey(store, key?.keyId ?? "", at, new Map());
    return stopped.ok ? stopped.store : store;
  });
  await wire.start("forge");
  await unsignedAck(wire, id);
  await expectEverywhere(wire, id, { ratified: false, refused: ["unsigned"] });
});

test("what policy admitted before a key was pinned stays admitted, and the next unsigned line is refused", async () => {
  const wire = sceneOf({ unsignedPins: [], keyless: ["scribe"] });
  await wire.start("forge");
  const id = await propose(wire, "forge", ["scribe"], "Use tabs");
  await wire.pass(5 * SECOND);
  await unsignedAck(wire, id);
  await wire.pass(5 * SECOND);
  expect(await statusOf(wire, "forge", id)).toBe("ratified");
  wire.kill("forge");
  changePins(wire, (store) => {
    const at = new Date(wire.nowMs).toISOString();
    const pinned = acceptKey(store, "scribe", wire.publicKey("scribe"), at);
    return pinned.ok ? pinned.store : store;
  });
  await wire.start();
  await wire.pass(5 * SECOND);
  const second = await propose(wire, "forge", ["scribe"], "Use spaces");
  await wire.pass(5 * SECOND);
  await unsignedAck(wire, second);
  await wire.pass(5 * SECOND);
  await expectEverywhere(wire, id, { ratified: true, refused: ["unsigned"] });
});

test("the operator's exception takes unsigned lines beside signed ones", async () => {
  const wire = sceneOf({ unsignedPins: ["scribe"] });
  await wire.start();
  const id = await propose(wire, "forge", ["scribe"], "Use tabs");
  await wire.pass(5 * SECOND);
  await unsignedAck(wire, id);
  await wire.pass(MINUTE);
  await expectEverywhere(wire, id, { ratified: true, refused: [] });
});
