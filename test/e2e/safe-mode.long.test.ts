import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { until } from "../support/processes/real-processes.ts";
import { settableClock } from "../support/processes/settable-clock.ts";
import { makeWire, removeWires, type LiveWire } from "../support/processes/live-wire.ts";

interface SafeModeView {
  readonly author: string;
  readonly of: string;
  readonly incident_id: string;
}

interface Sent {
  readonly messages: readonly { readonly event_id: string }[];
}

interface SentRow {
  readonly event_id: string;
  readonly receipts: readonly { readonly state: string }[];
}

const BOTH = ["forge", "scribe"] as const;

afterEach(removeWires);

async function safeMode(wire: LiveWire, handle: string): Promise<SafeModeView | undefined> {
  const status = await wire.json<{ safe_mode: SafeModeView | null }>(handle, "status");
  return status.safe_mode ?? undefined;
}

const TEN_MINUTES_MS = 600_000;

/**
 * Both daemons run. Scribe's agent reads forge's incident and does nothing about it, for longer than
 * it has: ten minutes, by the clock of both.
 */
async function ignore(wire: LiveWire, severity: string): Promise<string> {
  const clock = settableClock(wire);
  for (const handle of BOTH) await wire.daemon(handle, clock.daemonOptions);
  await begun(wire);
  const incident = await raiseAnother(wire, "main is broken", severity);
  await readAll(wire, 1);
  await until("scribe's beat says that it has read it", () => isRead(wire, incident));
  clock.set(TEN_MINUTES_MS + 1);
  return incident;
}

async function isRead(wire: LiveWire, id: string): Promise<boolean> {
  const sent = await wire.json<SentRow[]>("forge", "sent");
  return sent.find(({ event_id }) => event_id === id)?.receipts[0]?.state === "read";
}

async function begun(wire: LiveWire): Promise<void> {
  await until("scribe has beaten", () => wire.lines("scribe_to_forge.jsonl").length > 0);
}

async function readAll(wire: LiveWire, count: number): Promise<void> {
  await until("they arrive", () => wire.privateLines("scribe", "inbox").length === count);
  const { code } = await wire.run("scribe", "inbox", "--unread", "--mark-read");
  expect(code).toBe(0);
}

async function raiseAnother(wire: LiveWire, subject: string, severity: string): Promise<string> {
  const args = ["incident", "raise", subject, "--severity", severity];
  const { messages } = await wire.json<Sent>("forge", ...args);
  return messages[0]?.event_id ?? "";
}

/** Some rounds of forge's daemon more. */
async function beatsMore(wire: LiveWire, count: number): Promise<void> {
  const beats = () => wire.lines("forge_to_scribe.jsonl").length;
  const before = beats();
  await until("beats go on", () => beats() >= before + count);
}

const escalations = (wire: LiveWire) =>
  wire.lines("forge_to_scribe.jsonl").filter(({ body }) => body["escalates"] !== undefined);

describe("an incident that its addressee does not ack", () => {
  it("of high severity: escalation, safe mode for both, only its types go, a late ack ends it", async () => {
    const wire = makeWire({ cadenceSeconds: 1 });
    const incident = await ignore(wire, "high");
    for (const handle of BOTH) {
      const mode = await until(`safe mode for ${handle}`, () => safeMode(wire, handle));
      expect(mode).toMatchObject({ author: "forge", of: "scribe", incident_id: incident });
    }
    expect(escalations(wire)).toHaveLength(1);
    await until("the sign is up", () => existsSync(join(wire.dir, "SAFE_MODE")));

    for (const handle of BOTH) {
      const refused = await wire.run(handle, "send", "how are you?");
      expect(refused.code).toBe(4);
      expect(refused.stderr).toContain("safe mode");
      expect(refused.stderr).toContain("scribe did not ack");
      expect(refused.stderr).toContain(handle === "forge" ? "incident resolve" : "incident ack");
      expect(refused.stderr).not.toContain("deaddrop incident resume");
    }
    expect((await wire.run("scribe", "incident", "raise", "and the docs")).code).toBe(0);
    await until("beats say paused", () => {
      const last = wire.lines("forge_to_scribe.jsonl").findLast(({ type }) => type === "heartbeat");
      return last?.body["state"] === "paused";
    });

    expect((await wire.run("forge", "resume", "--reason", "by phone")).code).toBe(1);
    expect(await safeMode(wire, "scribe")).toBeDefined();
    expect((await wire.run("scribe", "incident", "ack", incident)).code).toBe(0);
    for (const handle of BOTH) {
      await until(`${handle} goes on`, async () => (await safeMode(wire, handle)) === undefined);
      expect((await wire.run(handle, "send", "how are you?")).code).toBe(0);
    }
    await until("the sign is down", () => !existsSync(join(wire.dir, "SAFE_MODE")));
    expect(escalations(wire)).toHaveLength(1);
  });

  it("one agent alone may go on by its own operator's decision", async () => {
    const wire = makeWire({ cadenceSeconds: 1 });
    await ignore(wire, "critical");
    for (const handle of BOTH) await until("safe mode", () => safeMode(wire, handle));
    const resume = ["resume", "--reason", "night shift", "--yes"];
    expect((await wire.run("scribe", ...resume)).code).toBe(0);
    await until("scribe goes on", async () => (await safeMode(wire, "scribe")) === undefined);
    expect((await wire.run("scribe", "send", "on my way")).code).toBe(0);
    expect((await wire.run("forge", "send", "still here?")).code).toBe(4);
    expect((await wire.run("forge", ...resume)).code).toBe(0);
    expect((await wire.run("forge", "send", "still here?")).code).toBe(0);
  });

  it("of low severity: nothing escalates, and sending goes on", async () => {
    const wire = makeWire({ cadenceSeconds: 1 });
    await ignore(wire, "low");
    await beatsMore(wire, 4);
    for (const handle of BOTH) {
      expect(await safeMode(wire, handle)).toBeUndefined();
      expect((await wire.run(handle, "send", "how are you?")).code).toBe(0);
    }
    expect(escalations(wire)).toEqual([]);
    expect(existsSync(join(wire.dir, "SAFE_MODE"))).toBe(false);
  });

  it("acked in time: nothing escalates", async () => {
    const wire = makeWire({ deadlineSeconds: 600 });
    const clock = settableClock(wire);
    for (const handle of BOTH) await wire.daemon(handle, clock.daemonOptions);
    await begun(wire);
    const acked = await raiseAnother(wire, "main is broken", "high");
    await until("it has arrived", () => wire.privateLines("scribe", "inbox").length === 1);
    expect((await wire.run("scribe", "incident", "ack", acked)).code).toBe(0);
    const other = await raiseAnother(wire, "and the docs", "high");
    await readAll(wire, 2);
    expect((await wire.run("forge", "send", "what brings a beat forward")).code).toBe(0);
    await until("it is read", () => isRead(wire, other));
    await beatsMore(wire, 2);
    expect(escalations(wire)).toEqual([]);
    clock.set(700_000);
    await until("the other one is escalated", () => escalations(wire).length > 0);
    await beatsMore(wire, 4);
    const named = escalations(wire).map(({ body }) => body["escalates"] as readonly unknown[]);
    expect(named.map((place) => place[2])).toEqual([other]);
  });
});
