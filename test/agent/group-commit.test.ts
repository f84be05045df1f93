import { expect, test } from "vitest";
import type { Agent } from "../../src/agent/agent.ts";
import { makeQueue } from "../../src/agent/session/queue.ts";
import { makeService } from "../../src/agent/session/group-commit.ts";
import type { SendAnswer } from "../../src/api/client.ts";
import type { Draft } from "../../src/wire/compose.ts";

const draft = {
  to: ["scribe"],
  type: "feedback",
  subject: "one",
  body: "text",
} as unknown as Draft;
const SENT = { outcome: "sent", messages: [] } as unknown as SendAnswer;

test("what many clients ask for in one turn of the loop goes out as one group", async () => {
  const groups: number[] = [];
  const agent = {
    send: (all: readonly (readonly Draft[])[]) => {
      groups.push(all.length);
      return Promise.resolve(all.map(() => SENT));
    },
  } as unknown as Agent;
  const service = makeService(agent, makeQueue());
  // As requests come from sockets: a callback each, and the microtasks run in between.
  const answers = await Promise.all(
    Array.from(
      { length: 32 },
      () =>
        new Promise((resolve, reject) => {
          setImmediate(() => void service.send([draft]).then(resolve, reject));
        }),
    ),
  );
  expect(answers).toHaveLength(32);
  expect(groups).toEqual([32]);
});
