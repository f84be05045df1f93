import { join } from "node:path";
import { expect, test } from "vitest";
import { signFields, type Composed } from "../../src/wire/compose.ts";
import { fromPlain, type JsonObject } from "../../src/wire/json/json.ts";
import { keyId, makeSigner, publicKeyOf } from "../../src/wire/signature.ts";
import { ack, MINUTE, propose, SECOND } from "../support/scripts/proposal-scene.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import type { SimulatedWire } from "../support/scenes/simulated-wire.ts";

const sceneOf = checkedScenes("replay");

// What anybody who can write in the wire's folder can put there, and what it may cost us.

const FILE = "scribe_to_forge.jsonl";

/** A folder stands where that file stood, as a link, a pipe or a device might. */
function block(wire: SimulatedWire, name: string): { free(text: string): void } {
  const path = join(wire.wirePath, name);
  const disk = wire.disk.process();
  disk.remove(path);
  disk.makeFolder(path, 0o700);
  return {
    free(text) {
      disk.remove(path);
      wire.replace(name, text);
    },
  };
}

function textOf({ line }: Composed): string {
  return Buffer.from(line).toString("utf8");
}

async function inbox(wire: SimulatedWire): Promise<string[]> {
  const { messages } = await wire.agent("forge").view("inbox", {});
  return messages.map(({ subject }) => subject);
}

async function causes(wire: SimulatedWire): Promise<string[]> {
  return (await wire.agent("forge").view("notices", undefined)).map(({ cause }) => cause);
}

test("something else in the place of one peer's file keeps nobody else waiting", async () => {
  const wire = sceneOf(["forge", "quill", "scribe"]);
  await wire.start();
  await wire.send("scribe", { to: ["forge"], type: "feedback", subject: "before", body: "x" });
  await wire.stop("scribe");
  const file = wire.carrier("scribe");
  const text = wire.read(file);
  const blocked = block(wire, file);
  await wire.send("quill", { to: ["forge"], type: "feedback", subject: "hello", body: "x" });
  await wire.pass(MINUTE);
  expect(await inbox(wire)).toEqual(["before", "hello"]);
  const peers = await wire.agent("forge").view("peers", undefined);
  expect(peers.find(({ handle }) => handle === "scribe")?.waits).toMatchObject([
    { code: "log_unreadable" },
  ]);
  // One that begins with nothing is no worse off.
  wire.kill("forge");
  wire.loseStore("forge");
  await wire.start("forge");
  await wire.send("quill", { to: ["forge"], type: "feedback", subject: "again", body: "x" });
  expect(await inbox(wire)).toContain("again");
  blocked.free(text);
  await wire.start("scribe");
  await wire.send("scribe", { to: ["forge"], type: "feedback", subject: "after", body: "x" });
  await wire.pass(MINUTE);
  expect((await inbox(wire)).toSorted()).toEqual(["after", "again", "before", "hello"]);
});

test("something else in the place of decisions.jsonl stops no delivery, and is told until it is recorded", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  const blocked = block(wire, "decisions.jsonl");
  const id = await propose(wire, "forge", ["scribe"], "Use tabs");
  await wire.pass(5 * SECOND);
  await ack(wire, "scribe", id);
  await wire.pass(MINUTE);
  expect(await inbox(wire)).toEqual(["ack"]);
  const storage = async () => (await wire.agent("forge").view("status", undefined)).troubles;
  expect(await storage()).toMatchObject([
    { code: "storage", detail: expect.stringContaining("wire files") as string },
  ]);
  blocked.free("");
  await wire.pass(MINUTE);
  expect(await storage()).toEqual([]);
  expect(wire.lines("decisions.jsonl")).toHaveLength(1);
});

test("a config.json that is broken on the wire stops nobody who has pinned it", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  await wire.stop("forge");
  wire.replace("config.json", '{"protocol_version":"v9');
  await wire.start("forge");
  expect(await causes(wire)).toEqual(["config_drift"]);
  await wire.agent("forge").reload();
  await wire.send("scribe", { to: ["forge"], type: "feedback", subject: "still here", body: "x" });
  expect(await inbox(wire)).toEqual(["still here"]);
});

test("a flood of blank lines hides nothing behind it", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start("forge");
  wire.append(FILE, "\n".repeat(300_000));
  wire.append(FILE, `${textOf(wire.forge("scribe", { subject: "behind it" }))}\n`);
  await wire.pass(2 * MINUTE);
  expect(await inbox(wire)).toEqual(["behind it"]);
});

test("decisions.jsonl that is rewritten again and again is read again, and nothing grows", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  const lines = Array.from({ length: 200 }, (_, at) => `{"decision":"no ${at}"}\n`).join("");
  wire.replace("decisions.jsonl", lines);
  await wire.settle();
  for (let round = 0; round < 10; round += 1) {
    wire.replace("decisions.jsonl", `${"\n".repeat(round + 1)}${lines}`);
    await wire.settle();
  }
  const { unproved } = await wire.agent("forge").view("decisions", undefined);
  expect(unproved).toHaveLength(64);
});

test("a flood of unsigned decisions does not push out a signed one that waits for its proof", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  const waiting = fromPlain({
    decision_id: "wait-00000000",
    proposal: ["forge", 99, "0".repeat(64)],
    recorded_by: "scribe",
    acked_by: ["forge", "scribe"],
  }) as JsonObject;
  const { line } = signFields(waiting, makeSigner("scribe", new Uint8Array(32).fill(2)));
  const signed = Buffer.from(line).toString();
  // The same words without a good signature come first, and must not stand in for them.
  wire.append("decisions.jsonl", `${signed.replace(/"signature":"..../, '"signature":"AAAA')}\n`);
  wire.append("decisions.jsonl", `${signed}\n`);
  const flood = Array.from({ length: 5_000 }, (_, at) => `{"decision":"no ${at}"}\n`).join("");
  wire.append("decisions.jsonl", flood);
  await wire.settle();
  const { pending, unproved } = await wire.agent("forge").view("decisions", undefined);
  expect(pending.map(({ decision_id: id }) => id)).toEqual(["wait-00000000"]);
  expect(unproved).toHaveLength(64);
});

test("strangers in the wire's trust.json are told within one limit, whatever their names", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  const key = publicKeyOf(new Uint8Array(32).fill(9));
  const strangers = (prefix: string): string => {
    const agents = Array.from({ length: 100 }, (_, at) => {
      const handle = `${prefix}${at}`;
      const text = Buffer.from(key).toString("base64");
      const keys = [
        { key_id: keyId(handle, key), key: text, added_at: "2026-06-01", active: true },
      ];
      return [handle, { tier: "UNTRUSTED", public_keys: keys }] as const;
    });
    const document = { schema_version: "v3.1", version: 9, agents: Object.fromEntries(agents) };
    return JSON.stringify(document);
  };
  wire.replace("trust.json", strangers("eve"));
  await wire.settle();
  wire.replace("trust.json", strangers("mallory"));
  await wire.settle();
  expect((await causes(wire)).length).toBeLessThanOrEqual(7);
  expect(await causes(wire)).toContain("trust_drift");
});
