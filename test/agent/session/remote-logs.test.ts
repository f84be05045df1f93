import { beforeEach, describe, expect, it } from "vitest";
import { envOf } from "../../../src/agent/session/environment.ts";
import type { RemoteLogs } from "../../../src/agent/session/world.ts";
import { emptyMemory, intakeOf, type Memory } from "../../../src/agent/state/agent-state.ts";
import type { ReadingProgress } from "../../../src/protocol/env.ts";
import { SimulatedWire } from "../../support/scenes/simulated-wire.ts";

const LOG = "scribe_to_forge";

let memory: Memory;
let asked: number;
let reading: ReadingProgress;
let local: ReadingProgress;
let remoteHandles: Set<string>;

beforeEach(async () => {
  const wire = new SimulatedWire(["forge", "scribe"]);
  await wire.start();
  const { place } = wire.agent("forge");
  memory = emptyMemory(place, 0);
  for (const intake of memory.intakes.values()) {
    intake.status = { kind: "reading", isAll: true, dueMs: 0 };
  }
  asked = 0;
  remoteHandles = new Set(["scribe"]);
  const remote: RemoteLogs = {
    isRemote: (handle) => remoteHandles.has(handle),
    fetchedMs: () => undefined,
    fetchSoon: () => {
      asked += 1;
    },
  };
  const clock = {
    wallMs: () => 1_000,
    micros: () => 0,
    monoMs: () => 0,
    nextTurn: () => Promise.resolve(),
  };
  reading = envOf(place, memory, { clock, remote }).reading;
  local = envOf(place, memory, { clock }).reading;
});

describe("a log is read to its end as of a moment", () => {
  it("at once, when it is written on this machine", () => {
    remoteHandles.clear();
    expect(reading.caughtUp(LOG, 500)).toBe(true);
    expect(local.caughtUp(LOG, 500)).toBe(true);
    expect(asked).toBe(0);
  });

  it("not before any fetch has ended, when it comes from another one; a fetch is asked for", () => {
    expect(reading.caughtUp(LOG, 500)).toBe(false);
    expect(reading.caughtUp(LOG, -Infinity)).toBe(false);
    expect(asked).toBe(2);
  });

  it("only by a fetch that began no earlier", () => {
    memory.fetchedMs = 499;
    expect(reading.caughtUp(LOG, 500)).toBe(false);
    expect(asked).toBe(1);
    memory.fetchedMs = 500;
    expect(reading.caughtUp(LOG, 500)).toBe(true);
    expect(reading.caughtUp(LOG, -Infinity)).toBe(true);
    expect(asked).toBe(1);
  });

  it("and only when what was fetched is read", () => {
    memory.fetchedMs = 500;
    intakeOf(memory, LOG).status = { kind: "reading", isAll: false, dueMs: 0 };
    expect(reading.caughtUp(LOG, 400)).toBe(false);
    expect(asked).toBe(0);
  });

  it("our own log needs no fetch", () => {
    expect(reading.caughtUp("forge_to_scribe", 500)).toBe(true);
    expect(asked).toBe(0);
  });
});
