import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { pause, until } from "../support/real-processes.ts";
import { makeWire, removeWires, type LiveWire } from "../support/live-wire.ts";

interface SafeModeView {
  readonly author: string;
  readonly of: string;
  readonly incident_id: string;
}

interface Sent {
  readonly messages: readonly { readonly event_id: string }[];
}

const BOTH = ["forge", "scribe"] as const;

afterEach(removeWires);

async function safeMode(wire: LiveWire, handle: string): Promise<SafeModeView | undefined> {
  const status = await wire.json<{ safe_mode: SafeModeView | null }>(handle, "status");
  return status.safe_mode ?? undefined;
}

/** Both daemons run, and scribe's agent does nothing about forge's incident. */
async function raise(wire: LiveWire, severity: string): Promise<string> {
  for (const handle of BOTH) await wire.daemon(handle);
  const { messages } = await wire.json<Sent>(
    "forge",
    ...["incident", "raise", "main is broken", "--severity", severity],
  );
  return messages[0]?.event_id ?? "";
}

const escalations = (wire: LiveWire) =>
  wire.lines("forge_to_scribe.jsonl").filter(({ body }) => body["escalates"] !== undefined);

describe("an incident that its addressee does not ack", () => {
  it("of high severity: escalation, safe mode for both, only its types go, resume ends it", async () => {
    const wire = makeWire({ cadenceSeconds: 1 });
    const incident = await raise(wire, "high");
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
      expect(refused.stderr).toContain("scribe has not acked");
    }
    expect((await wire.run("scribe", "incident", "ack", incident)).code).toBe(0);
    expect((await wire.run("scribe", "incident", "raise", "and the docs")).code).toBe(0);
    await until("beats say paused", () => {
      const last = wire.lines("forge_to_scribe.jsonl").findLast(({ type }) => type === "heartbeat");
      return last?.body["state"] === "paused";
    });

    expect((await wire.run("forge", "resume", "--reason", "by phone")).code).toBe(1);
    expect((await wire.run("scribe", "resume", "--reason", "by phone", "--yes")).code).toBe(1);
    expect(await safeMode(wire, "scribe")).toBeDefined();
    expect((await wire.run("forge", "resume", "--reason", "by phone", "--yes")).code).toBe(0);
    for (const handle of BOTH) {
      await until(`${handle} goes on`, async () => (await safeMode(wire, handle)) === undefined);
      expect((await wire.run(handle, "send", "how are you?")).code).toBe(0);
    }
    await until("the sign is down", () => !existsSync(join(wire.dir, "SAFE_MODE")));
    expect(escalations(wire)).toHaveLength(1);
  }, 90_000);

  it("one agent alone may go on by its own operator's word", async () => {
    const wire = makeWire({ cadenceSeconds: 1 });
    await raise(wire, "critical");
    for (const handle of BOTH) await until("safe mode", () => safeMode(wire, handle));
    const here = ["resume", "--here", "--reason", "night shift", "--yes"];
    expect((await wire.run("scribe", ...here)).code).toBe(0);
    await until("scribe goes on", async () => (await safeMode(wire, "scribe")) === undefined);
    expect((await wire.run("scribe", "send", "on my way")).code).toBe(0);
    expect((await wire.run("forge", "send", "still here?")).code).toBe(4);
  }, 60_000);

  it("of low severity: escalated, and sending goes on", async () => {
    const wire = makeWire({ cadenceSeconds: 1 });
    await raise(wire, "low");
    await until("it is escalated", () => escalations(wire).length === 1);
    await pause(4_000);
    for (const handle of BOTH) {
      expect(await safeMode(wire, handle)).toBeUndefined();
      expect((await wire.run(handle, "send", "how are you?")).code).toBe(0);
    }
    expect(escalations(wire)).toHaveLength(1);
    expect(existsSync(join(wire.dir, "SAFE_MODE"))).toBe(false);
  }, 60_000);

  it("acked in time: nothing escalates", async () => {
    const wire = makeWire({ cadenceSeconds: 3 });
    const incident = await raise(wire, "high");
    await until("it has arrived", () => wire.privateLines("scribe", "inbox").length === 1);
    expect((await wire.run("scribe", "incident", "ack", incident)).code).toBe(0);
    await pause(5_000);
    expect(escalations(wire)).toEqual([]);
    for (const handle of BOTH) expect(await safeMode(wire, handle)).toBeUndefined();
  }, 60_000);
});
