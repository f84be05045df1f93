import { expect, test } from "vitest";
import { plainLine, type PlainSaying } from "../simulator/stage/plain-lines.ts";
import { SimulatedWire } from "../support/scenes/simulated-wire.ts";
import { makeSigner } from "../../src/wire/signature.ts";
import { WIRE_ID } from "../support/scenes/scene-folder.ts";

const ROSTER = ["forge", "scribe", "quill"] as const;
const OTHER_WIRE = "0123456789abcdef";

/** Forge's daemon reads; what scribe and quill write is made by hand, outside any chain. */
async function scene(): Promise<SimulatedWire> {
  const wire = new SimulatedWire(ROSTER);
  await wire.start("forge");
  return wire;
}

function say(
  wire: SimulatedWire,
  from: "scribe" | "quill",
  log: string,
  said: PlainSaying,
): string {
  const signer = makeSigner(from, new Uint8Array(32).fill(ROSTER.indexOf(from) + 1));
  const line = plainLine(said, "v3.1", signer, wire.nowMs);
  wire.append(`${log}.jsonl`, `${line}\n`);
  return (JSON.parse(line) as { event_id: string }).event_id;
}

/** Scribe proposes something to quill. */
async function proposed(wire: SimulatedWire): Promise<string> {
  const body = { required: ["quill"], decision: "all is scribe's" };
  const said = { to: ["quill"], type: "proposal", body, thread: "a thread" };
  const id = say(wire, "scribe", "scribe_to_quill", said);
  await wire.pass(1_000);
  return id;
}

function ack(wire: SimulatedWire, id: string, log: string, more: Partial<PlainSaying>): void {
  const body = { acks: id, approve: true };
  say(wire, "quill", log, { to: ["scribe"], type: "ack", body, thread: "a thread", ...more });
}

async function ratified(wire: SimulatedWire): Promise<string[]> {
  await wire.settle();
  return (await wire.outcome("forge")).ratified.map(({ id }) => id);
}

test("an unchained ack decides, live and in the audit", async () => {
  const wire = await scene();
  const id = await proposed(wire);
  ack(wire, id, "quill_to_scribe", { wire: WIRE_ID });
  expect(await ratified(wire)).toEqual([id]);
  await wire.expectReplayAndAuditEqualLive("forge");
});

test("an unchained ack that names another wire decides nothing, live and in the audit", async () => {
  const wire = await scene();
  ack(wire, await proposed(wire), "quill_to_scribe", { wire: OTHER_WIRE });
  expect(await ratified(wire)).toEqual([]);
  await wire.expectEveryReaderAgrees("forge");
});

test("a copy of an unchained line in a log that it was not written to counts nowhere", async () => {
  const wire = await scene();
  ack(wire, await proposed(wire), "quill_to_forge", {});
  expect(await ratified(wire)).toEqual([]);
  await wire.expectEveryReaderAgrees("forge");
});

test("after a fork and the operator's decision all readers go on from the same line", async () => {
  const wire = await scene();
  const log = "scribe_to_forge";
  const put = (line: Uint8Array) =>
    wire.append(`${log}.jsonl`, Buffer.concat([line, Buffer.from("\n")]));
  const first = wire.forge("scribe", log, { subject: "first" });
  put(first.line);
  const second = wire.forge("scribe", log, { subject: "second" });
  put(second.line);
  const other = wire.forge("scribe", log, { subject: "other", after: { seq: 1, id: first.id } });
  put(other.line);
  put(wire.forge("scribe", log, { subject: "on", after: { seq: 2, id: other.id } }).line);
  await wire.settle();
  await wire.agent("forge").resetPeer("scribe");
  await wire.pass(120_000);
  const inbox = await wire.agent("forge").view("inbox", {});
  expect(inbox.map(({ subject }) => subject)).toEqual(["first", "second", "on"]);
  await wire.expectEveryReaderAgrees("forge");
});
