import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { amount } from "../../support/amounts.ts";
import { LIBRARY, start, until } from "../../support/processes/real-processes.ts";
import {
  jsonLines,
  makeWire,
  removeWires,
  type LiveWire,
} from "../../support/processes/live-wire.ts";
import { brokenPlaces } from "../../support/chain-check.ts";

const SENDER = fileURLToPath(new URL("../../support/processes/sender-process.js", import.meta.url));
const SENDERS = ["north", "east", "south", "west"];
const EACH = Number(process.env["DEADDROP_SENDS"] ?? amount(20, 1_000));

interface Answer {
  readonly outcome: string;
  readonly event_id: string;
  readonly seq: number;
}

/** Four processes that send at the same time; what each was told. */
async function sendTogether({ dir, env }: LiveWire): Promise<Answer[]> {
  const processes = SENDERS.map((name) => {
    const args = [SENDER, LIBRARY, dir, "forge", "scribe", name, String(EACH)];
    return start(process.execPath, args, { env });
  });
  const ends = await Promise.all(processes.map(({ ended }) => ended));
  for (const { code, stderr } of ends) expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return ends.flatMap(({ stdout }) => jsonLines(stdout) as Answer[]);
}

/** One chain, every answer in it, and of each sender its messages in their order. */
function expectOneChain(wire: LiveWire, answers: readonly Answer[]): void {
  const lines = wire.lines("forge_to_scribe.jsonl");
  expect(brokenPlaces(wire, "forge", "forge_to_scribe.jsonl")).toEqual([]);
  expect(answers).toHaveLength(SENDERS.length * EACH);
  const bySeq = new Map(lines.map((line) => [line.seq, line.event_id]));
  expect(answers.filter(({ seq, event_id }) => bySeq.get(seq) !== event_id)).toEqual([]);
  const numbers = Array.from({ length: EACH }, (_, index) => index + 1);
  for (const name of SENDERS) {
    const own = lines.filter(({ body }) => body["name"] === name);
    expect(own.map(({ body }) => body["at"])).toEqual(numbers);
  }
}

describe("four processes that send as one agent", () => {
  afterEach(removeWires);

  it("through its daemon: one chain, every answer in it, all of it delivered", async () => {
    const wire = makeWire({ cadenceSeconds: 2 });
    const [forge, scribe] = [await wire.daemon("forge"), await wire.daemon("scribe")];
    const answers = await sendTogether(wire);
    expect(answers.every(({ outcome }) => outcome === "sent")).toBe(true);
    const inbox = () => wire.privateLines("scribe", "inbox");
    await until("all is delivered", () => inbox().length >= answers.length);
    await Promise.all([forge.stop(), scribe.stop()]);
    expectOneChain(wire, answers);
    const sent = new Set(answers.map(({ event_id }) => event_id));
    expect(inbox().filter(({ event_id }) => sent.has(event_id))).toHaveLength(answers.length);
  });

  it("without a daemon, in turns: consecutive numbers, one chain, every answer in it", async () => {
    const wire = makeWire();
    const answers = await sendTogether(wire);
    expectOneChain(wire, answers);
    const seqs = wire.lines("forge_to_scribe.jsonl").map(({ seq }) => seq);
    expect(seqs).toEqual(Array.from({ length: SENDERS.length * EACH }, (_, at) => at + 1));
  });
});
