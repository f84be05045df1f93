import { InMemoryTransport } from "@modelcontextprotocol/server";
import { Client as McpClient } from "@modelcontextprotocol/client";
import { oneIdentity } from "../../../src/agents/mcp/identity.ts";
import { makeServer } from "../../../src/agents/mcp/server.ts";
import { clientOf } from "./scene-cli.ts";
import type { SimulatedWire } from "./simulated-wire.ts";

/** The text that a model gets from a tool of the MCP server, which speaks for the agent of a scene. */
export async function toolIn(
  wire: SimulatedWire,
  handle: string,
  name: string,
  args: Record<string, unknown> = {},
): Promise<string> {
  const identity = oneIdentity(
    () => ({ by: "--as", place: { wireDir: "/", handle } }),
    async () => clientOf(wire, handle, "/"),
  );
  const skill = { instructions: "short", body: "long" };
  const server = makeServer({ identity, version: "1.0.0", skill, nowMs: () => wire.nowMs });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const caller = new McpClient({ name: "test", version: "1.0.0" });
  await Promise.all([server.connect(ours), caller.connect(theirs as never)]);
  const { content } = await caller.callTool({ name, arguments: args });
  await caller.close();
  await wire.settle();
  return content.map((each) => ("text" in each ? each.text : "")).join("\n");
}
