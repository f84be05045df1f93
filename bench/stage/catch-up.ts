// A process of its own: an agent that was away takes in all that its peers wrote meanwhile. Prints
// how long that took, until all is acted on.
import { parseArgs } from "node:util";
import { Agent } from "../../src/agent/agent.ts";
import { silentLogger } from "../../src/agent/session/world.ts";
import { placesOf } from "../../src/cli/context.ts";
import { realWorld } from "../../src/client/direct-client.ts";
import { timed } from "./took.ts";

const { values } = parseArgs({
  options: { wire: { type: "string" }, as: { type: "string" }, lines: { type: "string" } },
});
const { wire: wireDir = "", as: handle = "", lines = "" } = values;
const world = realWorld(placesOf(process.env), wireDir, silentLogger);

const agent = new Agent(world, { wireDir, handle });
try {
  const took = await timed(async () => {
    agent.lockIdentity(1_000);
    while (await agent.tick());
  });
  const { unread } = await agent.view("status", undefined);
  if (unread !== Number(lines)) throw new Error(`${unread} of ${lines} lines were routed`);
  process.stdout.write(`${JSON.stringify(took)}\n`);
} finally {
  agent.close();
}
