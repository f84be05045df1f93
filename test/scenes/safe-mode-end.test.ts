import { InMemoryTransport } from "@modelcontextprotocol/server";
import { Client as McpClient } from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import { oneIdentity } from "../../src/agents/mcp/identity.ts";
import { makeServer } from "../../src/agents/mcp/server.ts";
import { ignored } from "../support/scenes/incident-scene.ts";
import { clientOf, commandIn, operatorIn } from "../support/scenes/scene-cli.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import type { SimulatedWire } from "../support/scenes/simulated-wire.ts";

// How safe mode ends, and who is told that: by commands and MCP.

const sceneOf = checkedScenes("replay and audit");

const MINUTE = 60_000;
const BOTH = ["forge", "scribe"] as const;
const RESUME = ["resume", "--yes", "--reason", "by phone"];

/** Scribe has read an incident of forge and did not ack it for half an hour. */
async function silence(): Promise<{ wire: SimulatedWire; id: string }> {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  const id = await ignored(wire);
  await wire.pass(30 * MINUTE);
  return { wire, id };
}

async function expectSilence(wire: SimulatedWire, ...handles: readonly string[]): Promise<void> {
  for (const handle of handles) {
    expect(await commandIn(wire, handle, "send", "hello")).toContain("(exit 4)");
  }
}

async function expectSpeech(wire: SimulatedWire, ...handles: readonly string[]): Promise<void> {
  await wire.pass(MINUTE);
  for (const handle of handles) {
    expect(await commandIn(wire, handle, "status")).not.toContain("SAFE MODE");
    expect(await commandIn(wire, handle, "send", "hello")).not.toContain("exit");
  }
}

test("a late ack of the silent one ends it for all, and the answer says so", async () => {
  const { wire, id } = await silence();
  await expectSilence(wire, ...BOTH);
  expect(await commandIn(wire, "scribe", "incident", "ack", id)).toContain(
    "Safe mode ends with this",
  );
  await expectSpeech(wire, ...BOTH);
  expect(await commandIn(wire, "forge", "incident", "list")).toContain("scribe: acked");
  expect(await commandIn(wire, "forge", "notices")).toContain("Safe mode has ended");
});

test("a resolution by the author ends it for all, and the answer says so", async () => {
  const { wire, id } = await silence();
  expect(await commandIn(wire, "forge", "incident", "resolve", id, "reverted")).toContain(
    "Safe mode ends with this",
  );
  await expectSpeech(wire, ...BOTH);
});

test("an operator's resume ends it: the author's for all, another's for its own agent", async () => {
  const { wire } = await silence();
  await commandIn(wire, "scribe", ...RESUME);
  await expectSpeech(wire, "scribe");
  await expectSilence(wire, "forge");
  await commandIn(wire, "forge", ...RESUME);
  await expectSpeech(wire, ...BOTH);
});

test("in any order, and what comes after the end changes nothing", async () => {
  for (const order of [
    ["ack", "resolve", "resume"],
    ["resume", "ack", "resolve"],
    ["resolve", "ack"],
  ]) {
    const { wire, id } = await silence();
    for (const what of order) {
      if (what === "ack") await commandIn(wire, "scribe", "incident", "ack", id);
      if (what === "resolve") await commandIn(wire, "forge", "incident", "resolve", id);
      if (what === "resume") await commandIn(wire, "forge", ...RESUME);
      await expectSpeech(wire, ...BOTH);
    }
  }
});

const AGENTS = {
  forge:
    "it ends when scribe acknowledges incident <id>, when you resolve it (deaddrop incident resolve <id>), or when your operator resumes sending",
  scribe:
    "it ends when you acknowledge incident <id> (deaddrop incident ack <id>), when forge resolves it, or, for scribe alone, when your operator resumes sending",
};

/** The same over MCP. */
const CALLS = {
  forge: 'when you resolve it (answer {"id":"<id>","answer":"withdraw"})',
  scribe: 'when you acknowledge incident <id> (send {"type":"ack","reply_to":"<id>"})',
};

test.each(BOTH)(
  "every screen of the agent %s says who ends it, and none gives it resume",
  async (handle) => {
    const { wire } = await silence();
    for (const args of [["status"], ["send", "hello"], ["catch-up"], ["notices"]]) {
      const text = await commandIn(wire, handle, ...args);
      expect(text, args.join(" ")).toContain(AGENTS[handle]);
      expect(text, args.join(" ")).not.toContain("deaddrop incident resume");
    }
    const own =
      handle === "forge" ? "deaddrop incident resolve <id>" : "deaddrop incident ack <id>";
    expect(await commandIn(wire, handle, "status")).toContain(`Next  ${own}`);
    const check = await commandIn(wire, handle, "status", "--check");
    expect(check).toContain(`→ ${own}`);
    expect(check).not.toContain("deaddrop incident resume");
    for (const [name, args] of [
      ["whoami", {}],
      ["send", { subject: "hello", body: "b" }],
    ] as const) {
      const text = await calling(wire, handle, name, args);
      expect(text.replaceAll("\\", ""), name).toContain(CALLS[handle]);
      expect(text, name).not.toContain("deaddrop incident resume");
    }
  },
);

test.each(BOTH)("at the terminal of the operator of %s, each gives the command", async (handle) => {
  const { wire } = await silence();
  for (const args of [["status"], ["send", "hello"], ["status", "--check"]]) {
    expect(await operatorIn(wire, handle, ...args), args.join(" ")).toContain(
      'deaddrop incident resume --reason "why it is safe to go on"',
    );
  }
});

async function calling(wire: SimulatedWire, handle: string, name: string, args: object) {
  const client = clientOf(wire, handle, "/");
  const server = makeServer({
    identity: oneIdentity(
      () => ({ by: "--as", place: { wireDir: "/", handle } }),
      () => Promise.resolve(client),
    ),
    version: "1.0.0",
    skill: { instructions: "short", body: "long" },
    nowMs: () => wire.nowMs,
  });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const caller = new McpClient({ name: "test", version: "1.0.0" });
  await Promise.all([server.connect(ours), caller.connect(theirs as never)]);
  const result = await caller.callTool({ name, arguments: { ...args } });
  await caller.close();
  const text = result.content.map((each) => ("text" in each ? each.text : "")).join();
  return text.replaceAll(/\b[0-9a-f]{10,64}\b/g, "<id>");
}
