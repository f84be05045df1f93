import { appendFileSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { composeLine } from "../../src/wire/compose.ts";
import { makeSigner } from "../../src/wire/signature.ts";
import { BY_FLAGS } from "../cli/on-machine.ts";
import { until } from "../support/processes/real-processes.ts";
import { makeWire, removeWires, WIRE_ID, type LiveWire } from "../support/processes/live-wire.ts";

afterEach(removeWires);

interface Keys {
  readonly current: string;
  readonly next: string | null;
  readonly earlier: readonly string[];
  readonly asked: readonly { event_id: string; action: string; status: string }[];
}

interface Audit {
  readonly messages: number;
  readonly violations: readonly unknown[];
}

const LOG = "forge_to_scribe.jsonl";

const keysOf = (wire: LiveWire) => wire.json<Keys>("forge", "key", "show");
const inbox = (wire: LiveWire) => wire.privateLines("scribe", "inbox");

/** Sends one line after the other until it is stopped; gives the subjects that were promised. */
function traffic(wire: LiveWire): { stop(): Promise<readonly string[]> } {
  const sent: string[] = [];
  let isOver = false;
  const loop = (async () => {
    for (let count = 0; !isOver; count += 1) {
      await wire.json("forge", "send", `line ${count}`);
      sent.push(`line ${count}`);
    }
  })();
  return {
    async stop() {
      isOver = true;
      await loop;
      return sent;
    },
  };
}

async function answer(wire: LiveWire, action: string): Promise<void> {
  let id: string | undefined;
  await until(`scribe is asked to ${action}`, () => {
    id = inbox(wire).find(({ body }) => body["action"] === action)?.event_id;
    return id !== undefined;
  });
  await wire.json("scribe", "ack", id ?? "");
}

async function keysUntil(wire: LiveWire, is: (keys: Keys) => boolean): Promise<Keys> {
  for (let tries = 0; tries < 100; tries += 1) {
    const keys = await keysOf(wire);
    if (is(keys)) return keys;
  }
  throw new Error(`the keys did not change: ${JSON.stringify(await keysOf(wire))}`);
}

it("a key is changed while lines are in flight: none is lost, and the old one ends", async () => {
  const wire = makeWire();
  await wire.json("forge", "config", "set", "keys.grace_hours", "0.0005");
  const forge = await wire.daemon("forge");
  const scribe = await wire.daemon("scribe");
  const flow = traffic(wire);
  const { current: old } = await keysOf(wire);

  const asked = await wire.json<Keys>("forge", "key", "rotate", ...BY_FLAGS);
  expect([asked.current, asked.asked.map(({ status }) => status)]).toEqual([old, ["open"]]);
  // Asked again, it asks nobody twice.
  const again = await wire.json<Keys>("forge", "key", "rotate", ...BY_FLAGS);
  expect([again.next, again.asked.length]).toEqual([asked.next, 1]);
  await answer(wire, "add_key");
  const changed = await keysUntil(wire, ({ current }) => current !== old);
  expect([changed.current, changed.next, changed.earlier]).toEqual([asked.next, null, [old]]);

  // The card and what old peers read name the new key, beside the one that is still believed.
  await until("the new key is shown", () =>
    ["trust/forge.card.json", "trust.json"].every((name) =>
      wire.text(name).includes(changed.current),
    ),
  );

  // After the grace period the peers are asked by themselves.
  await answer(wire, "deactivate_key");
  await keysUntil(wire, ({ earlier }) => earlier.length === 0);
  const sent = await flow.stop();
  const lines = () => {
    const subjects = inbox(wire).map(({ subject }) => subject);
    return subjects.filter((subject) => subject.startsWith("line "));
  };
  await until("everything has arrived", () => lines().length >= sent.length);
  expect(lines()).toEqual(sent);
  expect(wire.privateLines("scribe", "quarantine")).toEqual([]);
  const keyIds = new Set(wire.lines(LOG).map((line) => line["public_key_id"]));
  expect(keyIds).toEqual(new Set([old, changed.current]));

  // Whoever has the old key says nothing any more.
  expect((await forge.stop()).code).toBe(0);
  const last = wire.lines(LOG).findLast(({ seq }) => seq !== undefined);
  const seed = readFileSync(wire.paths("forge").identity.key);
  const forged = composeLine(
    { to: ["scribe"], type: "feedback", subject: "by the old key", body: {}, correlationId: "x" },
    {
      timestamp: new Date().toISOString().replace("Z", "000Z"),
      wireId: WIRE_ID,
      head: { seq: last?.seq ?? 0, id: last?.event_id ?? "" },
    },
    makeSigner("forge", seed),
  );
  appendFileSync(join(wire.dir, LOG), Buffer.concat([Buffer.from(forged.line), Buffer.from("\n")]));
  await until("the forged line is refused", () =>
    wire.privateLines("scribe", "quarantine").some((line) => line["reason"] === "untrusted_key"),
  );
  expect(inbox(wire).map(({ subject }) => subject)).not.toContain("by the old key");

  // It is on our chain, so our own daemon signs nothing more before its operator decides.
  await wire.daemon("forge");
  const refused = await wire.run("forge", "send", "after all that", "--json");
  expect(refused.code).not.toBe(0);
  expect(JSON.parse(refused.stderr)).toMatchObject({
    error: { code: "refused", hint: "deaddrop key reclaim" },
  });
  const audit = await wire.run("scribe", "audit", "--json");
  const report = JSON.parse(audit.stdout) as Audit;
  expect([report.messages > sent.length, audit.code]).toEqual([true, 1]);
  // What the old key signed before its end verifies; only the line that was forged does not.
  expect(report.violations).toMatchObject([{ rule: "untrusted_key" }]);

  // History that is read again, after the store was lost, is believed as before.
  expect((await scribe.stop()).code).toBe(0);
  rmSync(dirname(wire.paths("scribe").store), { recursive: true });
  await wire.daemon("scribe");
  await until("all is there again", () => lines().length >= sent.length);
  expect(lines()).toEqual(sent);
});
