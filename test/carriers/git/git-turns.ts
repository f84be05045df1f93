// One machine's daemon for the length of a few turns, as a process that can be killed. Arguments: a JSON object
// {machine, handle, remote, say}: what it says before its turns.
import { GitAgent } from "./git-scene.ts";

const { machine, handle, remote, say } = JSON.parse(process.argv[2] ?? "") as {
  machine: string;
  handle: string;
  remote: string;
  say: string[];
};
const agent = new GitAgent(machine, handle, remote, {});
agent.say(...say);
for (let turn = 0; turn < 2; turn += 1) await agent.turn();
await agent.transport.stop();
