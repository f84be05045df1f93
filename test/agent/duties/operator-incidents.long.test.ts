import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Ground } from "../../../src/agent/duties/duty.ts";
import { operatorIncidents } from "../../../src/agent/duties/operator-incidents.ts";
import { composeLine, nextTimestamp } from "../../../src/wire/compose.ts";
import { HOUR_MS, MINUTE_MS } from "../../../src/wire/durations.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { corePlace, CoreWire } from "../../support/core-wire.ts";

/** What the operator is told of a wire: each matter once. Spec 1.6, 1.9, 2.4, 3.1, 3.5. */

let root: string;
let wire: CoreWire;
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "deaddrop-told-"));
  wire = new CoreWire(root, ["forge", "scribe", "ann"], undefined, () => (ground) => [
    operatorIncidents(ground),
  ]);
  await wire.settle();
});
afterEach(() => {
  wire.close();
  rmSync(root, { recursive: true, force: true });
});

const carrierOf = (name: string): string => join(wire.dir, "outbox", `${name}.jsonl`);
const linesIn = (name: string): string[] =>
  readFileSync(carrierOf(name), "utf8").split("\n").filter(Boolean);
const putLines = (name: string, lines: readonly string[]): void => {
  writeFileSync(carrierOf(name), lines.map((line) => `${line}\n`).join(""));
};
const told = (name: string): string[] =>
  wire
    .agent(name)
    .core.store.told.list()
    .map(({ cause, peer }) => `${cause} ${peer ?? "-"}`);

/** Time passes in which only one agent reads. */
async function read(name: string, stepMs = 1_000, rounds = 2): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    wire.nowMs += stepMs;
    while (await wire.agent(name).core.round());
  }
}

/** Beats of all but one agent; and everybody else reads. */
async function beatWithout(silent: string, stepMs: number, times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    wire.nowMs += stepMs;
    for (const { name, core } of wire.agents.values()) {
      if (name === silent) continue;
      core.heart.beat();
      while (await core.round());
    }
  }
}

/** A second line with forge's number and signature. */
function forgeLine(subject: string, back: number): string {
  const { signer, wireId, version } = corePlace("forge", wire.names);
  const { chains } = wire.agent("forge").core.store;
  const { seq } = chains.whole("forge");
  const [before] = wire
    .agent("forge")
    .core.store.chain("forge", { after: seq - back - 1, limit: 1 });
  const head = before === undefined ? undefined : { seq: before.seq ?? 0, id: before.id };
  const timestamp = nextTimestamp(wire.nowMs, 0, undefined);
  const draft = { to: ["scribe"], type: "ship", subject, body: "" };
  const { line } = composeLine(draft, { timestamp, wireId, version, head }, signer);
  return Buffer.from(line).toString();
}

describe("carriers", () => {
  test("a gap is told after ten minutes, once", async () => {
    for (const each of ["one", "two", "three"]) wire.agent("forge").say(each);
    putLines(
      "forge",
      linesIn("forge").filter((line) => !line.includes('"two"')),
    );
    await read("scribe");
    expect(told("scribe")).toEqual([]);
    await read("scribe", 5 * MINUTE_MS, 3);
    expect(told("scribe").filter((each) => !each.startsWith("peer_silent"))).toEqual([
      "log_gap forge",
    ]);
  });

  test("a carrier that has become shorter is told, and nothing that is held is lost", async () => {
    for (const each of ["one", "two"]) wire.agent("forge").say(each);
    await read("scribe");
    putLines("forge", linesIn("forge").slice(0, -1));
    await read("scribe");
    expect(told("scribe")).toEqual(["log_behind forge"]);
    expect(wire.agent("scribe").mail).toEqual(["one", "two"]);
  });

  test("two lines with one number are told to the readers, and to their author as use of its key", async () => {
    wire.agent("forge").say("one");
    wire.agent("forge").say("two");
    await wire.settle();
    appendFileSync(carrierOf("forge"), `${forgeLine("not two", 1)}\n`);
    await wire.settle();
    expect(told("scribe")).toEqual(["log_forked forge"]);
    expect(told("ann")).toEqual(["log_forked forge"]);
    expect(told("forge")).toEqual(["identity_in_use -"]);
  });

  test("lines that their owner did not sign are told once an hour when they are many", async () => {
    const junk = (count: number): void => {
      appendFileSync(carrierOf("forge"), "no line of anybody\n".repeat(count));
    };
    junk(90);
    await read("scribe");
    expect(told("scribe")).toEqual([]);
    junk(20);
    await read("scribe", 1_000, 4);
    junk(200);
    await read("scribe", 1_000, 4);
    expect(told("scribe")).toEqual(["foreign_lines -"]);
  });

  test("a file of lines that belongs to nobody is told by its name", async () => {
    writeFileSync(join(wire.dir, "outbox", "mallory.jsonl"), "{}\n");
    await wire.settle();
    const { store } = wire.agent("scribe").core;
    expect(store.told.list()).toMatchObject([
      { cause: "unowned_log", detail: expect.stringContaining('"outbox/mallory.jsonl"') as string },
    ]);
  });
});

describe("peers", () => {
  test("each silence is told once", async () => {
    wire.beat();
    await wire.settle();
    await beatWithout("forge", 90_000, 8);
    expect(told("scribe")).toEqual(["peer_silent forge"]);
    wire.beat();
    await wire.settle();
    await beatWithout("forge", 90_000, 8);
    expect(told("scribe")).toEqual(["peer_silent forge", "peer_silent forge"]);
  });

  test("refused lines are told once for each reason and hour, historical ones never", async () => {
    const large = { body: "x".repeat(70_000) };
    for (const each of ["one", "two"]) wire.agent("forge").say(each, large);
    await wire.settle();
    expect(told("scribe")).toEqual(["body_too_large forge"]);
    wire.nowMs += HOUR_MS;
    wire.agent("forge").say("three", large);
    await read("scribe");
    expect(told("scribe").filter((each) => each === "body_too_large forge")).toHaveLength(2);
    wire.agent("ann").loseStore();
    await read("ann");
    expect(told("ann").filter((each) => each === "body_too_large forge")).toEqual([]);
  });
});

test("a fork of the roster is told once", async () => {
  const { core } = wire.agent("scribe");
  const forked: Ground = new Proxy(core, {
    get(target, name) {
      if (name === "roster") return { ...target.roster, isForked: true };
      const value = Reflect.get(target, name, target) as unknown;
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
  for (let round = 0; round < 2; round += 1) {
    await read("scribe");
    const duty = operatorIncidents(forked);
    core.store.write((into) => duty.decide?.(into));
  }
  expect(told("scribe")).toEqual(["roster_forked -"]);
});

describe("incidents", () => {
  const incident = {
    ...{ type: "incident", to: ["scribe"], priority: "high" as const },
    body: fromPlain({ severity: "high", text: "CI is red" }),
  };

  test("one that does not reach its addressee is told to its author alone", async () => {
    wire.agent("forge").say("red", incident);
    await beatWithout("scribe", 90_000, 6);
    expect(told("forge")).toContain("incident_not_covered scribe");
    expect(told("ann").some((each) => each.startsWith("incident"))).toBe(false);
  });

  test("one that is there and not read is told after one cadence, and safe mode to all but the author", async () => {
    const raised = wire.agent("forge").say("red", incident);
    for (let time = 0; time < 4; time += 1) {
      wire.beat();
      await wire.settle(2, 30_000);
    }
    expect(told("forge")).toEqual(["incident_unread scribe"]);
    wire.agent("scribe").core.markRead("all");
    for (let time = 0; time < 10; time += 1) {
      wire.beat();
      await wire.settle(2, 60_000);
    }
    expect(told("forge")).toEqual(["incident_unread scribe"]);
    for (const name of ["scribe", "ann"]) expect(told(name)).toEqual(["safe_mode -"]);
    const [notice] = wire.agent("scribe").core.store.told.list();
    expect(notice?.detail).toContain(`deaddrop incident ack ${raised.id.slice(0, 10)}`);
  });
});
