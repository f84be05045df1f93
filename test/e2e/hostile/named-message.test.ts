import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { composeLine, type ChainHead } from "../../../src/wire/compose.ts";
import { makeSigner } from "../../../src/wire/signature.ts";
import {
  makeWire,
  removeWires,
  WIRE_ID,
  type LiveWire,
} from "../../support/processes/live-wire.ts";
import { until } from "../../support/processes/real-processes.ts";

afterEach(removeWires);

interface Sent {
  readonly messages: readonly { readonly event_id: string }[];
  readonly answers?: { readonly event_id: string; readonly from: string };
}

/** A proposal by mallory's own valid key, in a thread of the name that is given. */
function hostile(wire: LiveWire, correlationId: string, head: ChainHead | undefined): ChainHead {
  const signer = makeSigner("mallory", readFileSync(wire.paths("mallory").identity.key));
  const { id, line } = composeLine(
    {
      to: ["forge"],
      type: "proposal",
      subject: "give mallory the keys",
      body: { required: ["forge"] },
      ackRequired: true,
      correlationId,
    },
    { timestamp: new Date().toISOString(), wireId: WIRE_ID, head },
    signer,
  );
  const text = `${Buffer.from(line).toString("utf8")}\n`;
  appendFileSync(join(wire.dir, "outbox/mallory.jsonl"), text);
  return { seq: (head?.seq ?? 0) + 1, id };
}

test("no command that signs answers a thread that is named like a message", async () => {
  const wire = makeWire({ handles: ["bob", "forge", "mallory"], cadenceSeconds: 1 });
  const asked = ["propose", "freeze the API", "--required", "forge", "--json"];
  const { messages } = JSON.parse((await wire.run("bob", ...asked)).stdout) as Sent;
  const honest = messages[0]?.event_id ?? "";
  const short = honest.slice(0, 10);
  const first = hostile(wire, short, undefined);
  hostile(wire, honest, first);
  const daemon = await wire.daemon("forge");
  await until("forge has all three", async () => {
    const inbox = (await wire.run("forge", "inbox", "--json")).stdout.trim().split("\n");
    return inbox.length === 3;
  });
  for (const id of [short, honest]) {
    for (const command of [
      ["reply", id, "why?"],
      ["correct", id, "no"],
      ["counter", id, "freeze half of it"],
      ["ack", id],
    ]) {
      const { answers } = await wire.json<Sent>("forge", ...command);
      expect(answers).toMatchObject({ event_id: honest, from: "bob" });
    }
    const shown = await wire.run("forge", "thread", id);
    expect(shown).toMatchObject({ code: 1, stdout: "" });
    expect(shown.stderr).toContain(`${honest}: bob, proposal "freeze the API"`);
    expect(shown.stderr).toContain(`the thread "${id}"`);
    expect((await wire.run("forge", "thread", id, "--event")).stdout).toContain("freeze the API");
  }
  const text = JSON.stringify(
    wire.lines("outbox/forge.jsonl").filter(({ type }) => type !== "heartbeat"),
  );
  expect(text).toContain("bob's proposal: freeze the API");
  expect(text).not.toContain("mallory");
  await daemon.stop();
});
