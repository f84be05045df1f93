import { afterEach, expect, test } from "vitest";
import { BIN, start, until } from "../support/processes/real-processes.ts";
import { makeWire, removeWires, type LiveWire } from "../support/processes/live-wire.ts";

afterEach(removeWires);

/** `deaddrop wait` of scribe's, begun and not ended. */
function waiting({ env, dir }: LiveWire, ...args: readonly string[]) {
  const at = ["wait", "--wire", dir, "--as", "scribe", "--timeout", "600"];
  return start(process.execPath, [BIN, ...at, ...args], { env, input: "" });
}

test("wait returns when a message comes: through the daemon, and without one", async () => {
  const wire = makeWire();
  await wire.daemon("forge");
  const scribes = await wire.daemon("scribe");
  expect(await wire.run("scribe", "wait", "--timeout", "1")).toMatchObject({ code: 3, stdout: "" });
  const first = waiting(wire);
  await wire.run("forge", "send", "the plan", "steps");
  expect(await first.ended).toMatchObject({
    code: 0,
    stdout: "1 unread from forge: deaddrop inbox --unread --mark-read\n",
  });
  // Nothing of it is urgent, and no answer is owed.
  for (const what of ["urgent", "owed"]) {
    const ended = await wire.run("scribe", "wait", "--timeout", "1", "--for", what);
    expect(ended.code, what).toBe(3);
  }
  const urgent = waiting(wire, "--for", "urgent");
  await wire.run("forge", "send", "urgent: main is red", "4f2a91c lost a test");
  expect((await urgent.ended).stdout).toContain("2 unread from forge (1 urgent)");
  await wire.run("scribe", "inbox", "--unread", "--mark-read");
  const owed = waiting(wire, "--for", "owed");
  await wire.run("forge", "propose", "freeze it", "now");
  expect((await owed.ended).stdout).toContain("1 answer owed");
  await scribes.stop();
  await wire.run("scribe", "inbox", "--unread", "--mark-read");
  const alone = waiting(wire);
  await until("it says that no daemon runs", () => alone.stderr().includes("No daemon runs"));
  await wire.run("forge", "send", "one more", "thing");
  expect((await alone.ended).code).toBe(0);
});
