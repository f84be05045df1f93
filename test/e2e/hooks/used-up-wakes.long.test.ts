import { afterEach, expect, test } from "vitest";
import { armed, receive, untilArmed, URGENT } from "../../support/processes/hook-processes.ts";
import { makeWire, removeWires } from "../../support/processes/live-wire.ts";
import { until } from "../../support/processes/real-processes.ts";

// An agent that was woken as often as it may be within an hour.

afterEach(removeWires);

test("claims wake nobody; used up wakes are said by status and to the sender, and outlive the daemon", async () => {
  const wire = makeWire({ cadenceSeconds: 1, deadlineSeconds: 3_600 });
  const set = await wire.run("forge", "config", "set", "wake.per_peer", "1");
  expect(set, set.stderr).toMatchObject({ code: 0 });
  const daemon = await wire.daemon("forge");
  await wire.daemon("scribe");
  const waiter = await armed(wire);
  await wire.json("scribe", "claim", "src");
  await wire.json("scribe", "release", "src");
  await until("both have arrived", () => wire.privateLines("forge", "inbox").length >= 2);
  await receive(wire, "the first", ...URGENT);
  expect(await waiter.ended).toMatchObject({ code: 2 });

  const isSaid = async () =>
    (await wire.run("forge", "status")).stdout.includes("wakes used up until");
  const next = await armed(wire);
  await until("status says it", isSaid);
  await until("the sender is told", async () => {
    const sent = await wire.run("scribe", "send", "again", "words", ...URGENT);
    return sent.stdout.includes("forge is not woken");
  });

  await daemon.stop();
  await wire.daemon("forge");
  await untilArmed(wire);
  await until("status says it still", isSaid);
  await receive(wire, "after the restart", ...URGENT);
  await until("it is said again", isSaid);
  expect(next.child.exitCode).toBeNull();
});
