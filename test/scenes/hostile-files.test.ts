import { join } from "node:path";
import { expect, test } from "vitest";
import { signFields, type Composed } from "../../src/wire/compose.ts";
import { fromPlain, type JsonObject } from "../../src/wire/json/json.ts";
import { keyId, makeSigner, publicKeyOf } from "../../src/wire/signature.ts";
import type { MemoryProcess } from "../support/disk/memory-disk.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import type { SimulatedWire } from "../support/scenes/simulated-wire.ts";

const sceneOf = checkedScenes("replay");

// What anybody who can write in the wire's folder can put there, and what it may cost us.

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const LOG = "scribe_to_forge";
const FILE = `${LOG}.jsonl`;

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
  const messages = await wire.agent("forge").view("inbox", {});
  return messages.map(({ subject }) => subject);
}

async function causes(wire: SimulatedWire): Promise<string[]> {
  return (await wire.agent("forge").view("notices", undefined)).map(({ cause }) => cause);
}

function journalBytes(wire: SimulatedWire): number {
  const { disk, place } = wire.agent("forge");
  return disk.stat(place.paths.journal)?.size ?? 0;
}

/** Storage operations of forge's process while `work` is done. */
async function operations(wire: SimulatedWire, work: () => Promise<void>): Promise<number> {
  const disk = wire.agent("forge").disk as MemoryProcess;
  const before = disk.operations;
  await work();
  return disk.operations - before;
}

test("something else in the place of one peer's log keeps nobody else waiting", async () => {
  const wire = sceneOf(["forge", "quill", "scribe"]);
  await wire.start();
  await wire.send("scribe", { to: ["forge"], type: "feedback", subject: "before", body: "x" });
  await wire.stop("scribe");
  const text = wire.read(FILE);
  const blocked = block(wire, FILE);
  await wire.send("quill", { to: ["forge"], type: "feedback", subject: "hello", body: "x" });
  await wire.pass(MINUTE);
  expect(await inbox(wire)).toEqual(["before", "hello"]);
  expect(await causes(wire)).toContain("log_unreadable");
  // A start that has to replay everything is no worse off.
  wire.kill("forge");
  wire.disk.process().remove(wire.agent("quill").place.paths.checkpoint.replace("quill", "forge"));
  await wire.start("forge");
  await wire.send("quill", { to: ["forge"], type: "feedback", subject: "again", body: "x" });
  expect(await inbox(wire)).toContain("again");
  blocked.free(text);
  await wire.start("scribe");
  await wire.send("scribe", { to: ["forge"], type: "feedback", subject: "after", body: "x" });
  await wire.pass(MINUTE);
  expect(await inbox(wire)).toEqual(["before", "hello", "again", "after"]);
});

test("something else in the place of decisions.jsonl stops no delivery", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  block(wire, "decisions.jsonl");
  await wire.send("scribe", { to: ["forge"], type: "feedback", subject: "hello", body: "x" });
  expect(await inbox(wire)).toEqual(["hello"]);
  expect(await causes(wire)).toContain("decisions_changed");
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

test("a flood of blank lines costs next to nothing, and every line is counted", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start("forge");
  const before = journalBytes(wire);
  wire.append(FILE, "\n".repeat(300_000));
  await wire.settle();
  expect(journalBytes(wire) - before).toBeLessThan(64 * 1_024);
  wire.append(FILE, `${textOf(wire.forge("scribe", LOG, {}))}\n`);
  await wire.pass(2 * MINUTE);
  const [beat] = wire.lines("forge_to_scribe.jsonl").slice(-1);
  const { body } = JSON.parse(beat as string) as { body: { heads: Record<string, object> } };
  expect(body.heads[LOG]).toMatchObject({ lines: 300_001, seq: 1 });
});

test("decisions.jsonl that is rewritten again and again is read again, and nothing grows", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  const lines = Array.from({ length: 200 }, (_, at) => `{"decision":"no ${at}"}\n`).join("");
  wire.replace("decisions.jsonl", lines);
  await wire.settle();
  const before = journalBytes(wire);
  for (let round = 0; round < 10; round += 1) {
    wire.replace("decisions.jsonl", `${"\n".repeat(round + 1)}${lines}`);
    await wire.settle();
  }
  expect(journalBytes(wire) - before).toBeLessThan(8 * 1_024);
  const { unproved } = await wire.agent("forge").view("decisions", {});
  expect(unproved).toHaveLength(200);
});

test("a flood of unsigned decisions does not push out a signed one that waits for its proof", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  const waiting = fromPlain({
    decision_id: "wait-00000000",
    proposal_id: "0".repeat(64),
    recorded_by: "scribe",
  }) as JsonObject;
  const { line } = signFields(waiting, makeSigner("scribe", new Uint8Array(32).fill(2)));
  const signed = Buffer.from(line).toString();
  // The same words without a good signature come first, and must not stand in for them.
  wire.append("decisions.jsonl", `${signed.replace(/"signature":"..../, '"signature":"AAAA')}\n`);
  wire.append("decisions.jsonl", `${signed}\n`);
  const flood = Array.from({ length: 5_000 }, (_, at) => `{"decision":"no ${at}"}\n`).join("");
  wire.append("decisions.jsonl", flood);
  await wire.settle();
  const { pending, unproved } = await wire.agent("forge").view("decisions", {});
  expect(pending.map(({ decision_id: id }) => id)).toEqual(["wait-00000000"]);
  expect(unproved).toHaveLength(4_096);
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

test("a log that stays behind is compared with our journal once, not at every look", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  for (let at = 0; at < 5; at += 1) {
    await wire.send("scribe", { to: ["forge"], type: "feedback", subject: `${at}`, body: "x" });
  }
  await wire.stop("scribe");
  const whole = wire.read(FILE);
  wire.replace(FILE, whole.slice(0, whole.indexOf("\n") + 1));
  await wire.settle();
  const { disk, place } = wire.agent("forge");
  let scans = 0;
  const open = disk.open.bind(disk);
  disk.open = (path, how, mode) => {
    if (path === join(place.wire.folder, FILE)) scans += 1;
    return open(path, how, mode);
  };
  await wire.pass(MINUTE);
  // One look a second; a comparison would open it three times.
  expect(scans).toBeLessThan(65);
  await wire.pass(11 * MINUTE);
  expect(await causes(wire)).toContain("log_behind");
  wire.replace(FILE, whole);
  await wire.pass(MINUTE);
  wire.append(FILE, `${textOf(wire.forge("scribe", LOG, { subject: "new" }))}\n`);
  await wire.pass(MINUTE);
  expect((await inbox(wire)).at(-1)).toBe("new");
});

test("while no beat has room to name more refusals, the log is not read at all", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start("forge");
  const quiet = await operations(wire, async () => {
    for (let tick = 0; tick < 20; tick += 1) await wire.agent("forge").tick();
  });
  // Lines that scribe has signed and that are refused, each behind one that is not.
  const refs = Array.from({ length: 65 }, (_, at) => `file-${at}`);
  for (let at = 0; at < 40; at += 1) {
    wire.append(FILE, `${textOf(wire.forge("scribe", LOG, { subject: `${at}` }))}\n`);
    wire.append(FILE, `${textOf(wire.forge("scribe", LOG, { refs }))}\n`);
  }
  await wire.settle();
  expect(await inbox(wire)).toHaveLength(32);
  const flooded = await operations(wire, async () => {
    for (let tick = 0; tick < 20; tick += 1) await wire.agent("forge").tick();
  });
  expect(flooded).toBe(quiet);
});
