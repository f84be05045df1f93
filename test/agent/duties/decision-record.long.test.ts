import { existsSync, mkdtempSync, renameSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { decisionsInForce, decisionsView } from "../../../src/agent/answers/decisions.ts";
import type { HeldLine } from "../../../src/store/store.ts";
import { signFields } from "../../../src/wire/compose.ts";
import { fromPlain, type JsonObject } from "../../../src/wire/json/json.ts";
import { placeJson } from "../../../src/wire/places.ts";
import type { Signer } from "../../../src/wire/signature.ts";
import {
  corePlace,
  recordingWire,
  type CoreAgent,
  type CoreWire,
} from "../../support/core-wire.ts";

let root = "";
let wire: CoreWire;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "decisions-"));
});
afterEach(() => {
  wire.close();
});
afterAll(() => {
  rmSync(root, { recursive: true });
});

const MINUTE = 60_000;

/** `recorders`: whose daemons keep the record. */
async function start(
  names: readonly string[],
  recorders: readonly string[] = names,
): Promise<void> {
  wire = recordingWire(root, names, recorders);
  await wire.settle(1);
}

const file = (): string => join(wire.dir, "decisions.jsonl");

function entries(): JsonObject[] {
  if (!existsSync(file())) return [];
  const lines = readFileSync(file(), "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as JsonObject);
}

function shown(agent: CoreAgent) {
  const view = decisionsView(agent.core);
  const named = (list: readonly { readonly decision?: string }[]) =>
    list.map(({ decision }) => decision);
  return {
    in_force: named(view.in_force),
    pending: named(view.pending),
    unproved: view.unproved.map(({ detail }) => detail),
    superseded: named(view.superseded),
  };
}

/** Forge proposes, and scribe agrees: the rounds that follow close and record it. */
async function agree(decision = "Frozen until May.", more: object = {}): Promise<HeldLine> {
  const [forge, scribe] = [wire.agent("forge"), wire.agent("scribe")];
  const body = fromPlain({ required: ["scribe"], decision, ...more });
  const said = { type: "proposal", to: ["scribe"], ackRequired: true, body };
  const ask = forge.say(decision, said);
  await wire.settle();
  scribe.answer(ask, true);
  await wire.settle();
  return ask;
}

const signers = new Map<string, Signer>();
function signedBy(name: string, fields: object): string {
  const signer = signers.get(name) ?? corePlace(name, [name]).signer;
  signers.set(name, signer);
  return Buffer.from(signFields(fromPlain(fields) as JsonObject, signer).line).toString();
}

const unsigned = (entry: JsonObject | undefined): object => {
  const { event_id: _id, public_key_id: _key, signature: _signature, ...fields } = entry ?? {};
  return fields;
};

describe("the record of decisions (spec 3.4.7)", () => {
  test("the closer records a decision at once, and both sides show it", async () => {
    await start(["forge", "scribe"]);
    const ask = await agree();
    expect(entries()).toMatchObject([
      { decision: "Frozen until May.", proposal: placeJson(ask), recorded_by: "forge" },
    ]);
    await wire.settle();
    wire.nowMs += 11 * MINUTE;
    await wire.settle();
    expect(entries()).toHaveLength(1);
    for (const agent of wire.agents.values()) {
      expect(shown(agent).in_force).toEqual(["Frozen until May."]);
      expect(decisionsView(agent.core).in_force).toMatchObject([
        { place: placeJson(ask), beside: [], proposer_tier: expect.any(String) as string },
      ]);
    }
  });

  test("a required party records it ten minutes after it took the close in, if nobody has", async () => {
    await start(["forge", "scribe", "ann"], ["scribe", "ann"]);
    await agree();
    wire.nowMs += 9 * MINUTE;
    await wire.settle();
    expect(entries()).toEqual([]);
    expect(wire.agent("scribe").core.nextDueMs).toBeLessThan(wire.nowMs + 2 * MINUTE);
    wire.nowMs += MINUTE;
    await wire.settle();
    // Ann is no party of it.
    expect(entries()).toMatchObject([{ recorded_by: "scribe", proposer: "forge" }]);
    expect(shown(wire.agent("ann")).in_force).toEqual(["Frozen until May."]);
  });

  test("of two that record at the same moment one finds the other's entry", async () => {
    await start(["forge", "scribe"]);
    writeFileSync(file(), "");
    const holder = wire.agent("forge").disk.open(file(), "append");
    holder.lock(0);
    await agree();
    wire.nowMs += 11 * MINUTE;
    await wire.settle();
    expect(entries()).toEqual([]);
    expect(wire.agent("forge").core.troubles.map(({ code }) => code)).toEqual(["locked"]);
    holder.close();
    await wire.settle();
    expect(entries()).toHaveLength(1);
    expect(wire.agent("forge").core.troubles).toEqual([]);
  });

  test("an unterminated line of another writer is ended, and junk is passed over", async () => {
    await start(["forge", "scribe"]);
    writeFileSync(file(), 'junk\n{"decision":"torn');
    await agree();
    const lines = readFileSync(file(), "utf8").split("\n");
    expect(lines.slice(0, 2)).toEqual(["junk", '{"decision":"torn']);
    expect(JSON.parse(lines[2] ?? "")).toMatchObject({ decision: "Frozen until May." });
    expect(shown(wire.agent("scribe"))).toMatchObject({ unproved: [] });
  });

  test("an entry that says anything but what the lines say is no decision, and the real one is recorded", async () => {
    await start(["forge", "scribe"], ["scribe"]);
    const { core } = wire.agent("scribe");
    const ask = await agree();
    wire.nowMs += 10 * MINUTE;
    await wire.settle();
    const [real] = entries();
    const other = { ...unsigned(real), decision: "Frozen for good." };
    const lines = [
      signedBy("forge", { ...other, recorded_by: "forge" }),
      signedBy("forge", unsigned(real)),
      JSON.stringify({ ...real, signature: "x" }),
      signedBy("mallory", { ...unsigned(real), recorded_by: "mallory" }),
    ];
    writeFileSync(file(), `${lines.join("\n")}\n`);
    await wire.settle();
    expect(shown(wire.agent("scribe"))).toMatchObject({
      in_force: ["Frozen until May."],
      unproved: [
        "decision is not what the lines say",
        "its recorder has not signed it",
        "its recorder has not signed it",
        "its recorder is no party of it",
      ].toSorted(),
    });
    expect(entries().at(-1)).toMatchObject({ recorded_by: "scribe", proposal: placeJson(ask) });
    expect(core.store.decisions.proved(ask.id)).toHaveLength(1);
    expect(core.store.told.list().map(({ cause, peer }) => [cause, peer])).toEqual([
      ["decision_unproved", "forge"],
      ["decision_unproved", "forge"],
      ["decision_unproved", "mallory"],
    ]);
  });

  test("a close whose answers do not prove it is told to the operator once, and records nothing", async () => {
    await start(["forge", "scribe"]);
    const [forge, scribe] = [wire.agent("forge"), wire.agent("scribe")];
    const ask = forge.propose("Not agreed.", ["scribe"]);
    const note = scribe.say("unrelated");
    await wire.settle();
    const pair = [note.seq, note.id];
    const answers = [{ by: "scribe", ack: pair, at: pair }];
    const close = { decides: placeJson(ask), outcome: "approved", answers, reason: "agreed" };
    const body = fromPlain(close);
    forge.say("closed", { type: "correction", correlationId: ask.thread, body });
    await wire.settle();
    await wire.settle();
    expect(entries()).toEqual([]);
    expect(scribe.core.store.told.list()).toMatchObject([
      { cause: "decision_unproved", peer: "forge" },
    ]);
  });

  test("an entry whose lines are not held waits for them", async () => {
    await start(["forge", "scribe", "ann"]);
    await agree();
    const ann = wire.agent("ann");
    const outbox = join(wire.dir, "outbox", "forge.jsonl");
    renameSync(outbox, `${outbox}.away`);
    ann.loseStore();
    while (await ann.core.round());
    expect(shown(ann)).toMatchObject({ in_force: [], pending: ["Frozen until May."] });
    renameSync(`${outbox}.away`, outbox);
    while (await ann.core.round());
    expect(shown(ann)).toMatchObject({ in_force: ["Frozen until May."], pending: [] });
  });

  test("what the file loses is recorded again, also after a restart", async () => {
    await start(["forge", "scribe"]);
    await agree();
    const before = entries();
    writeFileSync(file(), "");
    await wire.settle();
    expect(entries().map(unsigned)).toEqual(before.map(unsigned));
    rmSync(file());
    wire.agent("forge").restart();
    await wire.settle();
    expect(entries().map(unsigned)).toEqual(before.map(unsigned));
  });

  test("a later decision with everybody of the earlier one supersedes it; another of its thread stands beside", async () => {
    await start(["forge", "scribe"]);
    const ask = await agree("Until May.", { decision_id: "freeze" });
    const id = `freeze-${ask.id.slice(0, 8)}`;
    await agree("Until June.", { supersedes: id });
    expect(shown(wire.agent("scribe"))).toMatchObject({
      in_force: ["Until June."],
      superseded: ["Until May."],
    });
  });

  test("which domains a decision covers follows from our own pins", async () => {
    await start(["forge", "scribe"]);
    await agree("Ours.", { domains: ["parser"], paths: ["src/a.ts"] });
    expect(decisionsInForce(wire.agent("scribe").core)).toMatchObject([
      { affected_domains: ["parser"], acked_by: ["forge", "scribe"] },
    ]);
  });
});
