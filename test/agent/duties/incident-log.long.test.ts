import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { incidentLog } from "../../../src/agent/duties/incident-log.ts";
import { safeModeFile } from "../../../src/agent/duties/wire-files.ts";
import type { HeldLine } from "../../../src/store/store.ts";
import { fromPlain, parseObject } from "../../../src/wire/json/json.ts";
import { MINUTE_MS } from "../../../src/wire/durations.ts";
import { placeJson } from "../../../src/wire/places.ts";
import { amount } from "../../support/amounts.ts";
import { CoreWire } from "../../support/core-wire.ts";
import { randomFrom } from "../../support/random.ts";

/** What agents write into a wire for people: `incident_log.jsonl` and `SAFE_MODE`. Spec 3.5. */

let root: string;
let wire: CoreWire;
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "deaddrop-incident-log-"));
  wire = new CoreWire(root, ["forge", "scribe"], undefined, ({ home }) => (ground) => {
    const wireDir = join(home, "..", "files");
    return [incidentLog(ground, wireDir), safeModeFile(ground, wireDir)];
  });
  await wire.settle(1);
});
afterEach(() => {
  wire.close();
  rmSync(root, { recursive: true, force: true });
});

const logPath = (): string => join(wire.dir, "incident_log.jsonl");
const linesOf = (): string[] =>
  existsSync(logPath()) ? readFileSync(logPath(), "utf8").split("\n").filter(Boolean) : [];
const textOf = ({ bytes }: HeldLine): string => Buffer.from(bytes).toString();

async function raise(severity = "low"): Promise<HeldLine> {
  const body = fromPlain({ severity, text: "CI is red" });
  const incident = wire.agent("forge").say("red", { type: "incident", body });
  await wire.settle(2);
  return incident;
}

async function ack(incident: HeldLine): Promise<HeldLine> {
  const said = wire.agent("scribe").say("ok", {
    ...{ type: "ack", to: ["forge"], correlationId: incident.thread },
    body: fromPlain({ about: placeJson(incident) }),
  });
  await wire.settle(2);
  return said;
}

function tellOf(key: string): void {
  const { store } = wire.agent("forge").core;
  const said = { cause: "log_gap", peer: "scribe", subject: "lines are missing", detail: "why" };
  store.write(() => store.told.add({ key, ...said, concernsWire: true }, wire.nowMs));
}

describe("incident_log.jsonl", () => {
  test("it has an incident and what is said about it, byte for byte, each once", async () => {
    const incident = await raise();
    const answer = await ack(incident);
    wire.agent("scribe").say("by the way", { correlationId: incident.thread });
    const resolved = wire.agent("forge").say("fixed", {
      ...{ type: "incident", correlationId: incident.thread },
      body: fromPlain({ resolves: placeJson(incident) }),
    });
    await wire.settle(2);
    expect(linesOf()).toEqual([incident, answer, resolved].map(textOf));
    for (const agent of wire.agents.values()) agent.restart();
    await wire.settle(2);
    expect(linesOf()).toHaveLength(3);
  });

  test("an automatic incident that concerns the wire is signed, in no chain, and asks nobody", async () => {
    tellOf("log_gap:scribe:1");
    await wire.settle(1);
    const [line = "{}"] = linesOf();
    const { event_id, signature, ...fields } = JSON.parse(line) as Record<string, unknown>;
    const timestamp = new Date(wire.nowMs - 1_000).toISOString();
    expect({ event_id, signature }).toEqual({
      event_id: expect.stringMatching(/^[0-9a-f]{64}$/u) as string,
      signature: expect.any(String) as string,
    });
    expect(fields).toEqual({
      ...{ timestamp, from: "forge", to: ["*"], type: "incident", kind: 1400 },
      ...{ subject: "lines are missing", refs: [], priority: "medium" },
      ...{ correlation_id: timestamp, ack_required: false },
      body: { cause: "log_gap", detail: "why", peer: "scribe", severity: "low" },
      public_key_id: expect.stringMatching(/^forge:/u) as string,
    });
    await wire.settle(2);
    expect(linesOf()).toHaveLength(1);
  });

  test("what a process wrote before it died is not written again, whatever others wrote since", async () => {
    const { core } = wire.agent("forge");
    tellOf("a");
    const incident = await raise();
    const before = linesOf();
    expect(before).toHaveLength(2);
    // As the store is when the process dies before it notes that.
    core.store.write(() => core.store.told.copyLine(incident.n));
    appendFileSync(logPath(), "junk\n".repeat(2_000));
    writeFileSync(logPath(), `${"junk\n".repeat(2_000)}${readFileSync(logPath(), "utf8")}torn`);
    wire.agent("forge").restart();
    await wire.settle(10);
    expect(wire.agent("forge").core.store.told.linesToCopy(1)).toEqual([]);
    expect(linesOf().filter((line) => line === textOf(incident))).toHaveLength(1);
    tellOf("b");
    await wire.settle(10);
    // The torn end of another writer is ended and stays.
    expect(readFileSync(logPath(), "utf8")).toContain("\ntorn\n{");
  });

  test("a process that dies at any change of a file, and a full disk, leave each line once", async () => {
    const random = randomFrom(11);
    const expected: string[] = [];
    const forge = wire.agent("forge");
    for (let life = 0; life < amount(12, 200); life += 1) {
      const incident = forge.say(`red ${life}`, { type: "incident", body: "" });
      expected.push(textOf(incident));
      tellOf(`log_gap:scribe:${life}`);
      const steps = 1 + Math.floor(random() * 12);
      if (random() < 0.3) forge.fillDiskIn(steps, 2);
      else forge.dieIn(steps);
      // What the disk does not take is one of the troubles of the round; a dead process throws.
      await wire.settle(1).catch(() => undefined);
      forge.die();
      forge.heal();
      await wire.settle(2, 20 * MINUTE_MS);
    }
    await wire.settle(4);
    // What a process had begun to write when it died is ended by the next one, and is no line of anybody.
    const lines = linesOf().filter((line) => parseObject(Buffer.from(line)).ok);
    expect(new Set(lines).size).toBe(lines.length);
    for (const line of expected) expect(lines.filter((each) => each === line)).toHaveLength(1);
    const notices = lines.filter((line) => line.includes('"cause":"log_gap"'));
    expect(notices).toHaveLength(amount(12, 200));
  });

  test("it takes from one agent no more than a few answers to one incident", async () => {
    const incident = await raise();
    for (let each = 0; each < 30; each += 1)
      wire.agent("scribe").say(`ok ${each}`, {
        ...{ type: "ack", to: ["forge"], correlationId: incident.thread },
        body: fromPlain({ about: placeJson(incident) }),
      });
    await wire.settle(2);
    expect(linesOf()).toHaveLength(17);
  });
});

describe("SAFE_MODE", () => {
  const signPath = (): string => join(wire.dir, "SAFE_MODE");

  test("it is there while safe mode holds, and says who ends it", async () => {
    const incident = await raise("high");
    wire.agent("scribe").core.markRead("all");
    for (let time = 0; time < 8; time += 1) {
      wire.beat();
      await wire.settle(2, 90_000);
    }
    expect(readFileSync(signPath(), "utf8")).toContain(
      `scribe: deaddrop incident ack ${incident.id.slice(0, 10)}`,
    );
    wire.agent("scribe").restart();
    await ack(incident);
    expect(existsSync(signPath())).toBe(false);
    for (const { core } of wire.agents.values()) expect(core.store.told.list()).toEqual([]);
  });

  test("one that another program put there starts nothing, stays, and is told once", async () => {
    writeFileSync(signPath(), "stop!\n");
    await wire.settle(4);
    expect(readFileSync(signPath(), "utf8")).toBe("stop!\n");
    expect(wire.agent("scribe").core.safeMode).toBeUndefined();
    expect(wire.agent("scribe").core.store.told.list()).toMatchObject([
      { cause: "safe_mode_sign" },
    ]);
  });
});
