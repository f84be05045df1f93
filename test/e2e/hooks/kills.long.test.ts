import { afterEach, expect, test } from "vitest";
import { amount } from "../../support/amounts.ts";
import {
  hook,
  receive,
  startHook,
  startWaiter,
  unreadIds,
  URGENT,
} from "../../support/processes/hook-processes.ts";
import { makeWire, removeWires, type LiveWire } from "../../support/processes/live-wire.ts";
import { pause, type Ended, type Started } from "../../support/processes/real-processes.ts";
import { randomFrom } from "../../support/random.ts";
import { isTimeUp, TIME_IS_UP } from "../../support/time-limit.ts";

// Tools kill their hooks, and machines kill tools. What a hook has asked for and not shown is named
// again, and no message is ever taken for read.

afterEach(removeWires);

const ROUNDS = amount(40, 200);
/** About as long as a hook runs on a machine that has nothing else to do. */
const LIFE_MS = 150;
const KINDS = ["call", "start", "stop", "waiter"] as const;
const active = { stop_hook_active: true };

/** Starts one of them for a message, and kills it some time later. */
async function killed(
  wire: LiveWire,
  kind: (typeof KINDS)[number],
  subject: string,
  afterMs: number,
): Promise<{ readonly id: string; readonly ended: Ended }> {
  const at = async (started: Started): Promise<Ended> => {
    await pause(afterMs);
    started.child.kill("SIGKILL");
    return await started.ended;
  };
  if (kind !== "waiter") {
    const id = await receive(wire, subject, ...(kind === "stop" ? URGENT : []));
    return { id, ended: await at(startHook(wire, { moment: kind })) };
  }
  // Idle, so that it may be woken; the message comes while the waiter is being started, or after it.
  await hook(wire, { moment: "stop", fields: active });
  const waiter = startWaiter(wire);
  const early = afterMs < LIFE_MS / 4 ? at(waiter) : undefined;
  const id = await receive(wire, subject, ...URGENT);
  return { id, ended: await (early ?? at(waiter)) };
}

test(`${ROUNDS} hooks and waiters are killed: their mail is named again, and stays unread`, async ({
  skip,
}) => {
  const wire = makeWire({ cadenceSeconds: 1, deadlineSeconds: 3_600 });
  for (const key of ["per_hour", "per_peer", "per_thread"]) {
    const set = await wire.run("forge", "config", "set", `wake.${key}`, "3600");
    expect(set, set.stderr).toMatchObject({ code: 0 });
  }
  await wire.daemon("forge");
  const random = randomFrom(15);
  const ids: string[] = [];
  const seen = { shown: 0, unshown: 0 };
  for (let round = 0; round < ROUNDS; round += 1) {
    skip(isTimeUp(), TIME_IS_UP);
    const kind = KINDS[round % KINDS.length] ?? "call";
    const { id, ended } = await killed(wire, kind, `round ${round}`, random() * LIFE_MS);
    ids.push(id);
    const isShown = ended.stdout !== "" || ended.stderr !== "";
    seen[isShown ? "shown" : "unshown"] += 1;
    // Whoever was shown it may be told again; whoever was not is.
    const next = await hook(wire);
    if (!isShown) expect(next, `${kind}, round ${round}`).toContain(id.slice(0, 10));
    // From then on it was told, also when it was told before its hook was killed.
    expect(await hook(wire)).toBeUndefined();
  }
  expect(seen.unshown).toBeGreaterThan(0);
  expect((await unreadIds(wire)).toSorted()).toEqual(ids.toSorted());
  expect(await hook(wire, { moment: "start" })).toContain(`forge has ${ROUNDS} unread messages`);
});
