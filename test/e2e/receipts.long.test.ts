import { readFileSync, writeFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { until } from "../support/processes/real-processes.ts";
import { makeWire, removeWires, type LiveWire } from "../support/processes/live-wire.ts";

interface Receipt {
  readonly to: string;
  readonly state: string;
  readonly reason?: string;
}

interface Sent {
  readonly messages: readonly { readonly event_id: string }[];
  readonly receipts?: readonly Receipt[];
}

async function stateOf(wire: LiveWire, eventId: string): Promise<Receipt | undefined> {
  const sent = await wire.json<{ event_id: string; receipts: Receipt[] }[]>("forge", "sent");
  return sent.find((each) => each.event_id === eventId)?.receipts[0];
}

/** What the operator of one side thinks of the other, changed while no daemon of it runs. */
function setTier(wire: LiveWire, handle: string, peer: string, tier: string): void {
  const path = wire.paths(handle).trust;
  const store = JSON.parse(readFileSync(path, "utf8")) as {
    version: number;
    agents: Record<string, { tier: string; attested_since?: string }>;
  };
  store.version += 1;
  const agent = store.agents[peer];
  if (agent === undefined) throw new Error(`${handle} has not pinned ${peer}`);
  agent.tier = tier;
  delete agent.attested_since;
  writeFileSync(path, JSON.stringify(store));
}

describe("receipts", () => {
  afterEach(removeWires);

  it("a sent message is delivered, then read, then answered, and each is proved by a beat", async () => {
    const wire = makeWire();
    await wire.daemon("forge");
    await wire.daemon("scribe");
    const sent = await wire.json<Sent>(
      "forge",
      "send",
      "hello",
      "--wait",
      "delivered",
      "--timeout",
      "600",
    );
    const id = sent.messages[0]?.event_id ?? "";
    expect(sent.receipts).toMatchObject([{ to: "scribe", state: "delivered" }]);
    expect((await stateOf(wire, id))?.state).toBe("delivered");

    expect((await wire.run("scribe", "inbox", "--unread", "--mark-read")).stdout).toContain(
      "hello",
    );
    await until("it is read", async () => (await stateOf(wire, id))?.state === "read");

    expect((await wire.run("scribe", "ack", id)).code).toBe(0);
    await until("it is answered", async () => (await stateOf(wire, id))?.state === "answered");
  });

  it("--wait ends with 3 when the peer's daemon is down, and claims no more than published", async () => {
    const wire = makeWire();
    await wire.daemon("forge");
    const ended = await wire.run(
      "forge",
      "send",
      "anybody?",
      "--wait",
      "delivered",
      "--timeout",
      "1",
    );
    expect(ended.code).toBe(3);
    expect(ended.stdout).toContain("scribe: published");
    expect(ended.stderr).toContain("no delivery receipt within 1 s: scribe (published)");
    expect(ended.stderr).toContain("do not send it again");
  });

  it("nobody has to be up to send, and the answer is on disk", async () => {
    const wire = makeWire();
    const { messages } = await wire.json<Sent>("forge", "send", "hello");
    expect(wire.lines("forge_to_scribe.jsonl").map(({ event_id }) => event_id)).toEqual(
      messages.map(({ event_id }) => event_id),
    );
  });

  it("a handle outside the roster is refused at once, by the daemon and without it", async () => {
    const wire = makeWire();
    const send = () => wire.run("forge", "send", "--to", "stranger", "hello");
    const without = await send();
    await wire.daemon("forge");
    for (const { code, stderr } of [without, await send()]) {
      expect(code).toBe(1);
      expect(stderr).toContain("stranger");
      expect(stderr).toContain("scribe");
    }
    const types = wire.lines("forge_to_scribe.jsonl").map(({ type }) => type);
    expect(types.filter((type) => type !== "heartbeat")).toEqual([]);
  });

  it("a peer whose tier for us is too low refuses the line, and its reason reaches the sender", async () => {
    const wire = makeWire();
    setTier(wire, "scribe", "forge", "VERIFIED");
    await wire.daemon("forge");
    await wire.daemon("scribe");
    const ended = await wire.run(
      "forge",
      "claim",
      "src",
      "--wait",
      "delivered",
      "--timeout",
      "600",
    );
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain("scribe refused it: tier_refused");
    expect(wire.privateLines("scribe", "inbox")).toEqual([]);
    expect(wire.privateLines("scribe", "quarantine")).toMatchObject([{ reason: "tier_refused" }]);
    const [line] = wire.lines("forge_to_scribe.jsonl").filter(({ type }) => type === "claim");
    expect(await stateOf(wire, line?.event_id ?? "")).toMatchObject({
      state: "refused",
      reason: "tier_refused",
    });
  });
});
