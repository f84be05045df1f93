import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import type { Agent } from "../../../src/agent/agent.ts";
import { auditTonight } from "../../../src/daemon/calendar/nightly-audit.ts";
import type { OperatorIncident } from "../../../src/store/told.ts";
import { makeWire, removeWires, type LiveWire } from "../../support/processes/live-wire.ts";
import { BIN } from "../../support/processes/real-processes.ts";

afterEach(removeWires);

/** The audit of a real wire by the real program, as forge's daemon has it done. */
async function audited(
  wire: LiveWire,
  options: { program?: string[]; isOn?: boolean; isEnding?: boolean } = {},
) {
  const told: OperatorIncident[] = [];
  const log = { info: vi.fn(), warn: vi.fn(), error: vi.fn(), debug: vi.fn() };
  const place = {
    settings: { "audit.nightly": options.isOn ?? true },
    paths: { wireDir: wire.dir },
    handle: "forge",
  };
  const agent = {
    place,
    tell: async (incident: OperatorIncident) => {
      told.push(incident);
    },
  } as unknown as Agent;
  const variables = ["HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"].flatMap(
    (name) => (wire.env[name] === undefined ? [] : [`${name}=${wire.env[name]}`]),
  );
  const program = options.program ?? ["env", ...variables, process.execPath, BIN];
  const ended = new AbortController();
  const done = auditTonight({
    agent,
    queue: (work) => work(),
    log,
    program,
    signal: ended.signal,
  });
  if (options.isEnding === true) ended.abort();
  await done;
  return { told, log };
}

test("a night without a violation tells nothing", async () => {
  const wire = makeWire({});
  await wire.json("forge", "send", "hello", "x");
  const { told, log } = await audited(wire);
  expect(told).toEqual([]);
  expect(log.info).toHaveBeenCalledWith({ violations: 0 }, "audited");
});

test("what it finds is one incident, with the same key as long as it is the same", async () => {
  const wire = makeWire({});
  await wire.json("forge", "send", "hello", "x");
  const path = join(wire.dir, "decisions.jsonl");
  appendFileSync(path, "rubbish\n");
  const [first] = (await audited(wire)).told;
  expect(first).toMatchObject({
    cause: "audit_violations",
    subject: "the nightly audit found violations: 1",
    detail: "malformed; deaddrop audit",
  });
  expect((await audited(wire)).told).toEqual([first]);
  appendFileSync(path, "rubbish\n".repeat(4));
  const [next] = (await audited(wire)).told;
  expect(next?.key).not.toBe(first?.key);
  expect(next?.detail).toContain("and 2 more");
});

test("an audit that cannot be done is told in the log, and is no incident", async () => {
  const wire = makeWire({});
  for (const program of [["/no/such/program"], ["sh", "-c", "echo no report"], ["false"]]) {
    const { told, log } = await audited(wire, { program });
    expect(told).toEqual([]);
    expect(log.warn).toHaveBeenCalledOnce();
  }
});

test("it is not done when the operator does not want it, and a daemon that ends waits for none", async () => {
  const wire = makeWire({});
  expect(
    (await audited(wire, { program: ["false"], isOn: false })).log.warn,
  ).not.toHaveBeenCalled();
  const { told, log } = await audited(wire, { program: ["sleep", "3600"], isEnding: true });
  expect([told, log.warn.mock.calls]).toEqual([[], []]);
});
