import { InMemoryTransport } from "@modelcontextprotocol/server";
import { Client as McpClient } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { oneIdentity } from "../../src/agents/mcp/identity.ts";
import { jsonRpcFrames } from "../../src/agents/mcp/frames.ts";
import { makeServer } from "../../src/agents/mcp/server.ts";
import { CALLS } from "./mcp.ts";
import { makeScene, named, type Scene } from "./scene.ts";

// A call is what a client or model would guess: it does what its author meant, or nothing.

let scene: Scene;
let caller: McpClient;
beforeAll(async () => {
  scene = await makeScene();
  const place = { wireDir: scene.client.wireDir, handle: "ann" };
  const identity = oneIdentity(
    () => ({ by: "--as", place }),
    async () => scene.client,
  );
  const skill = { instructions: "short", body: "long" };
  const server = makeServer({ identity, version: "1.0.0", skill, nowMs: () => scene.nowMs });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  caller = new McpClient({ name: "test", version: "1.0.0" });
  await Promise.all([server.connect(ours), caller.connect(theirs as never)]);
});
afterAll(async () => {
  await caller.close();
  scene.close();
});

interface Said {
  readonly text: string;
  readonly isRefused: boolean;
  readonly acts: readonly unknown[];
}

/** Arguments as the server's input passes them on: the SDK takes an object alone. */
function asSent(args: unknown): Record<string, unknown> {
  const frames = jsonRpcFrames(() => undefined);
  const request = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { arguments: args } };
  frames.write(`${JSON.stringify(request)}\n`);
  const passed = JSON.parse(String(frames.read())) as { params: { arguments: object } };
  return { ...passed.params.arguments };
}

async function call(tool: string, args: unknown): Promise<Said> {
  const given = asSent(JSON.parse(named(scene.ids, JSON.stringify(args))));
  scene.takeActs();
  const { content, isError } = await caller.callTool({ name: tool, arguments: given });
  const text = content.map((each) => ("text" in each ? each.text : "")).join("\n");
  // Each answer frames words of peers by a mark of its own.
  const plain = text.replaceAll(/peer-words \w+/g, "peer-words");
  return { text: plain, isRefused: isError === true, acts: scene.takeActs() };
}

async function outcomeOf(tool: string, given: unknown, means: unknown, meantTool: string) {
  const said = await call(tool, given);
  const wanted = await call(meantTool, means);
  expect(wanted, wanted.text).toMatchObject({ isRefused: false });
  const same = (a: Said) => JSON.stringify(a) === JSON.stringify(wanted);
  if (same(said)) return "works";
  if (!said.isRefused) return `misleads: ${JSON.stringify(said)}`;
  const [, better = "", json = ""] =
    /^ *(?:what to do: )?.*?\b(\w+) (\{.*\})$/m.exec(said.text) ?? [];
  return json !== "" && same(await call(better, JSON.parse(json))) ? "corrected" : said.text;
}

describe.each(Object.entries(CALLS))("%s", (_kind, guesses) => {
  it.each(guesses.map((guess) => ({ guess, name: JSON.stringify(guess.slice(1, 3)) })))(
    "$guess.0: $name",
    async ({ guess: [outcome, tool, given, means, meantTool = tool] }) => {
      const found = await outcomeOf(tool, given, means, meantTool);
      if (found !== outcome) throw new Error(found);
    },
  );
});
