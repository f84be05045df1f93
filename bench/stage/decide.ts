// A process of its own: an agent takes in decisions of its peers, lists them, and records one more
// of its own. Prints what each took.
import { existsSync, statSync } from "node:fs";
import { parseArgs } from "node:util";
import { Agent } from "../../src/agent/agent.ts";
import { decisionsPath, keepDecidedWire } from "./decided-wire.ts";
import { openLogAuthor } from "./log-author.ts";
import { pause } from "./processes.ts";
import { timed } from "./took.ts";
import { PEER, READER } from "./wire.ts";

const LISTED = 5;
const LOOK_MS = 50;
const LIMIT_MS = 600_000;

const { values } = parseArgs({ options: { decisions: { type: "string" } } });
const wire = keepDecidedWire(Number(values.decisions));
wire.reset();
const agent = new Agent(wire.world, { wireDir: wire.dir, handle: READER });
try {
  agent.lockIdentity(1_000);
  await rounds();
  const fold = { wallMs: 0, cpuMs: 0 };
  for (let step = 0; step < wire.steps; step += 1) {
    wire.write(step);
    const { wallMs, cpuMs } = await timed(rounds);
    fold.wallMs += wallMs;
    fold.cpuMs += cpuMs;
  }
  const { in_force: inForce } = await agent.view("decisions", undefined);
  if (inForce.length !== wire.decisions) {
    throw new Error(`${inForce.length} of ${wire.decisions} decisions are in force`);
  }
  const list = await timed(async () => {
    for (let at = 0; at < LISTED; at += 1) await agent.view("decisions", undefined);
  });
  const one = await timed(record);
  const each = { wallMs: list.wallMs / LISTED, cpuMs: list.cpuMs / LISTED };
  process.stdout.write(`${JSON.stringify({ fold, list: each, record: one })}\n`);
} finally {
  agent.close();
}

async function rounds(): Promise<void> {
  while (await agent.tick());
}

/** We propose, the peer agrees, we close and record it. */
async function record(): Promise<void> {
  const body = { required: [PEER], decision: "one more" };
  const [answer] = await agent.send([
    [{ to: [PEER], type: "proposal", subject: "one more", body, ackRequired: true }],
  ]);
  const sent = answer?.messages[0];
  if (sent === undefined) throw new Error("nothing was proposed");
  await rounds();
  const author = openLogAuthor(wire, PEER);
  const before = sizeOf(decisionsPath(wire));
  const ack = {
    to: [READER],
    type: "ack",
    subject: "ack",
    body: { acks: sent.place, approve: true },
  };
  author.append([author.next(Date.now() * 1_000, { ...ack, correlationId: sent.correlation_id })]);
  const endMs = performance.now() + LIMIT_MS;
  while (sizeOf(decisionsPath(wire)) === before) {
    if (performance.now() > endMs) throw new Error("the decision is not recorded");
    await rounds();
    await pause(LOOK_MS);
  }
  await rounds();
}

function sizeOf(path: string): number {
  return existsSync(path) ? statSync(path).size : 0;
}
