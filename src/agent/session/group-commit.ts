import { setImmediate } from "node:timers/promises";
import type { Draft } from "../../wire/compose.ts";
import type { SendAnswer } from "../../api/client.ts";
import { DeaddropError } from "../../api/errors.ts";
import { field } from "../../protocol/body.ts";
import type { Service } from "../../api/service.ts";
import type { Agent } from "../agent.ts";
import type { Queue } from "./queue.ts";

/** Groups beyond this many messages go out in turns. */
const MAX_GROUP = 256;

interface Waiting {
  readonly drafts: readonly Draft[];
  resolve(answer: SendAnswer): void;
  reject(error: unknown): void;
}

/** Without a daemon: there are no rounds to wait for. */
const askOnce: Service["until"] = (ask) => ask();

/**
 * Operations in turn. Group commit: what waits to be sent when the agent is free is signed, written
 * and synced as one group. `until` is the daemon's.
 */
export function makeService(
  agent: Agent,
  queue: Queue,
  {
    until = askOnce,
    sessions,
    rounds,
    transport,
  }: Partial<Pick<Service, "until" | "sessions" | "rounds" | "transport">> = {},
): Service {
  const waiting: Waiting[] = [];

  async function sendWaiting(): Promise<void> {
    // What other clients have asked for meanwhile is in the kernel: one turn of the loop fetches all of it.
    await setImmediate();
    const group = takeGroup();
    if (group.length === 0) return;
    try {
      const answers = await agent.send(group.map(({ drafts }) => drafts));
      for (const [at, each] of group.entries()) each.resolve(answers[at] as SendAnswer);
    } catch (error) {
      if (group.length === 1 || !(error instanceof DeaddropError) || error.code === "storage") {
        for (const each of group) each.reject(error);
        return;
      }
      // One of them is refused: that is no reason to refuse the others.
      for (const each of group) {
        await agent
          .send([each.drafts])
          .then(([answer]) => each.resolve(answer as SendAnswer), each.reject);
      }
    }
  }

  function takeGroup(): Waiting[] {
    const group: Waiting[] = [];
    let size = 0;
    for (let [next] = waiting; next !== undefined; [next] = waiting) {
      const isAlone = next.drafts.some(answersRequest);
      if (group.length > 0 && (isAlone || size >= MAX_GROUP)) break;
      waiting.shift();
      group.push(next);
      size += next.drafts.length;
      if (isAlone) break;
    }
    return group;
  }

  return {
    inTurn: (work) => queue(() => work(agent)),
    until,
    sessions,
    rounds,
    transport,
    send: (drafts) =>
      new Promise((resolve, reject) => {
        waiting.push({ drafts, resolve, reject });
        queue(sendWaiting).catch(reject);
      }),
  };
}

/** An answer to a request goes out alone: it may park us, and what is sent after it must see that. */
function answersRequest({ type, body }: Draft): boolean {
  return type === "ack" && field(body, "answers") !== undefined;
}
