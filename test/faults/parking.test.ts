import { expect } from "vitest";
import { fromPlain } from "../../src/wire/json/json.ts";
import { PEER, testFaults, tick, VICTIM } from "../support/disk/fault-points.ts";
import { SECOND, say, send, type FaultScene } from "../support/scenes/fault-scene.ts";

// Spec 3.8: never approved without being parked, never parked without the approval on the wire, and
// what was said before the approval is before it.

const LOG = `${VICTIM}_to_${PEER}.jsonl`;
const NAME = "0badcafe01";

interface Line {
  readonly timestamp: string;
  readonly type: string;
  readonly subject: string;
  readonly body: { readonly parks?: boolean };
}

async function ask(scene: FaultScene): Promise<void> {
  const body = fromPlain({ request_id: NAME, request_type: "shutdown" });
  await send(scene, PEER, { to: [VICTIM], type: "request", subject: "stop", body });
  await scene.wire.pass(3 * SECOND);
}

async function approve(scene: FaultScene): Promise<void> {
  const asked = await scene.wire.attempt(VICTIM, (agent) => agent.view("requests", {}));
  const { event_id: id, correlation_id: correlationId } = asked?.[0] ?? {};
  await send(scene, VICTIM, say("the last words"));
  if (id !== undefined && correlationId !== undefined) {
    const found = await scene.wire.attempt(VICTIM, (agent) => agent.view("resolve_id", { id }));
    const body = fromPlain({ answers: found?.place ?? null, request_id: NAME, approve: true });
    await send(scene, VICTIM, { to: [PEER], type: "ack", subject: "yes", body, correlationId });
  }
  await tick(scene);
}

async function parkedIs(scene: FaultScene): Promise<boolean> {
  const { parked } = await scene.wire.agent(VICTIM).view("status", undefined);
  return parked !== null;
}

async function check(scene: FaultScene): Promise<void> {
  const whole = scene.wire.lines(LOG).filter((line) => line.endsWith("}"));
  // What a power cut took is appended again, behind what came later.
  const lines = whole
    .map((line) => JSON.parse(line) as Line)
    .toSorted((one, other) => (one.timestamp < other.timestamp ? -1 : 1));
  const approval = lines.findIndex(({ body }) => body.parks === true);
  expect(await parkedIs(scene)).toBe(approval >= 0);
  const words = lines.findIndex(({ subject }) => subject === "the last words");
  if (approval >= 0) expect(words).toBeLessThan(approval);
  const last = lines.findLast(({ type }) => type === "heartbeat") as { body?: { state?: string } };
  expect(last.body?.state).toBe(approval >= 0 ? "paused" : "idle");
}

testFaults([
  { name: "approving a shutdown", prepare: ask, run: approve, check },
  {
    name: "going on after it",
    prepare: async (scene) => {
      await ask(scene);
      await approve(scene);
      await scene.wire.pass(3 * SECOND);
    },
    run: async (scene) => {
      await scene.wire.attempt(VICTIM, (agent) => agent.wake());
      await tick(scene);
    },
    check: async (scene) => {
      // A wake that failed is asked for again.
      await scene.wire.agent(VICTIM).wake();
      await scene.wire.pass(3 * SECOND);
      expect(await parkedIs(scene)).toBe(false);
    },
  },
]);
