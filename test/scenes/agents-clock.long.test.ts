import { expect, test } from "vitest";
import { HOUR, MINUTE, SECOND } from "../support/scripts/proposal-scene.ts";
import { commandIn } from "../support/scenes/scene-cli.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import type { SimulatedWire } from "../support/scenes/simulated-wire.ts";

// Both daemons run and beat all the time. What the agents do is another matter: each scene shows the
// exact words that agents and operators read.
const sceneOf = checkedScenes("replay and audit");

async function proposed(...flags: readonly string[]): Promise<SimulatedWire> {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  await wire.pass(MINUTE);
  await commandIn(wire, "forge", "propose", "Use tabs", "Tabs it is.", ...flags);
  await wire.pass(5 * SECOND);
  return wire;
}

/** The id of the only message in somebody's inbox. */
async function asked(wire: SimulatedWire): Promise<string> {
  const {
    messages: [message],
  } = await wire.agent("scribe").view("inbox", {});
  return message?._meta.id ?? "";
}

const notices = (wire: SimulatedWire, handle: string) =>
  commandIn(wire, handle, "incident", "notices");
const read = (wire: SimulatedWire) => commandIn(wire, "scribe", "inbox", "--unread", "--mark-read");

test("an agent that sleeps for three hours finds the proposal open, and accepts it", async () => {
  const wire = await proposed();
  await wire.pass(3 * HOUR);
  expect(await commandIn(wire, "forge", "pending")).toMatchInlineSnapshot(
    `
    "<id>  proposal  forge → scribe  due 30 min after it is read, else in 21 h  Use tabs
      │ decides: Use tabs"
  `,
  );
  expect(await commandIn(wire, "scribe", "pending")).toMatchInlineSnapshot(
    `
    "<id>  proposal  forge → scribe  due 30 min after it is read, else in 21 h  Use tabs
      │ decides: Use tabs"
  `,
  );
  expect(await notices(wire, "forge")).toBe("Nothing noticed.");
  expect(await notices(wire, "scribe")).toBe("Nothing noticed.");

  expect(await read(wire)).toMatchInlineSnapshot(`
    "<id> forge proposal 3 h ago [unread, scribe owes an answer, due 30 min after it is read, else in 21 h]
      Use tabs
      │ decides: Use tabs
      │ reasons: Tabs it is.
      │ required: scribe"
  `);
  await wire.pass(20 * MINUTE);
  expect(await commandIn(wire, "forge", "pending")).toMatchInlineSnapshot(
    `
    "<id>  proposal  forge → scribe  due in 11 min  Use tabs
      │ decides: Use tabs"
  `,
  );
  expect(await commandIn(wire, "scribe", "accept", await asked(wire))).toMatchInlineSnapshot(`
    "sent <id> to forge, thread <time>
      to <id>, forge's proposal: Use tabs
      You agree that this is recorded:
      │ Use tabs"
  `);
  await wire.pass(MINUTE);
  expect(await commandIn(wire, "forge", "proposals")).toMatchInlineSnapshot(
    `"<id>  ratified  forge  scribe: agrees    Use tabs"`,
  );
  expect(wire.lines("decisions.jsonl")).toHaveLength(1);
  expect(wire.transcript()).toMatchInlineSnapshot(`
    "0:01:00 forge → scribe proposal "Use tabs"
    3:21:05 forge → scribe correction "closed"
    3:21:05 scribe → forge ack "accepted: forge's proposal: Use tabs""
  `);
});

test("an agent that is busy for forty minutes is not blamed for them", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  await wire.agent("scribe").setStatus({ state: "busy" });
  await wire.pass(2 * MINUTE);
  await commandIn(wire, "forge", "propose", "Use tabs", "Tabs it is.");
  await wire.pass(MINUTE);
  await read(wire);
  await wire.pass(40 * MINUTE);
  expect(await commandIn(wire, "forge", "pending")).toMatchInlineSnapshot(
    `
    "<id>  proposal  forge → scribe  due 30 min after it is read, else in 23 h  Use tabs
      │ decides: Use tabs"
  `,
  );
  await wire.agent("scribe").setStatus({ state: "idle" });
  await wire.pass(20 * MINUTE);
  expect(await commandIn(wire, "forge", "pending")).toMatchInlineSnapshot(
    `
    "<id>  proposal  forge → scribe  due in 21 min  Use tabs
      │ decides: Use tabs"
  `,
  );
  await commandIn(wire, "scribe", "accept", await asked(wire));
  await wire.pass(MINUTE);
  expect(await commandIn(wire, "forge", "proposals")).toMatchInlineSnapshot(
    `"<id>  ratified  forge  scribe: agrees    Use tabs"`,
  );
  expect(await notices(wire, "forge")).toBe("Nothing noticed.");
});

test("an agent that has read and says nothing has half an hour; what it answers after that changes nothing", async () => {
  const wire = await proposed();
  await read(wire);
  await wire.pass(30 * MINUTE);
  expect(await commandIn(wire, "forge", "proposals")).toMatchInlineSnapshot(
    `
    "<id>  open  forge  scribe: -  waits for an answer of scribe  Use tabs
      │ decides: Use tabs"
  `,
  );
  await wire.pass(5 * MINUTE);
  expect(await commandIn(wire, "forge", "proposals")).toMatchInlineSnapshot(
    `"<id>  reverted  forge  scribe: -    Use tabs"`,
  );
  expect(await commandIn(wire, "forge", "notices")).toMatchInlineSnapshot(`
    "n-<id> notice 4 min ago [unread]
      Your proposal "Use tabs" has ended: no answer in time."
  `);
  expect(await notices(wire, "scribe")).toBe("Nothing noticed.");
  expect(wire.transcript()).toMatchInlineSnapshot(`
    "0:01:00 forge → scribe proposal "Use tabs"
    0:32:34 forge → scribe correction "closed""
  `);

  const id = await asked(wire);
  expect(await commandIn(wire, "scribe", "accept", id)).toMatchInlineSnapshot(`
    "deaddrop: not sent: forge's proposal has ended: it was reverted (by <id>)
      propose it again, in a new thread: deaddrop propose; --anyway sends the answer, which changes nothing
    (exit 1)"
  `);
  expect(await commandIn(wire, "scribe", "accept", id, "--anyway")).toMatchInlineSnapshot(`
    "sent <id> to forge, thread <time>
      to <id>, forge's proposal: Use tabs"
  `);
  await wire.pass(5 * MINUTE);
  expect(await commandIn(wire, "forge", "proposals")).toMatchInlineSnapshot(
    `"<id>  reverted  forge  scribe: agrees    Use tabs"`,
  );
  expect(wire.lines("decisions.jsonl")).toEqual([]);
});

test.each([
  ["ten minutes", "10m", 4 * MINUTE],
  ["until the evening", "6h", 6 * HOUR - 6 * MINUTE],
])("a proposer that gives %s waits until then", async (_, due, passMs) => {
  const wire = await proposed("--due", due);
  await read(wire);
  await wire.pass(passMs);
  expect(await commandIn(wire, "scribe", "pending")).toMatchInlineSnapshot(`
    "<id>  proposal  forge → scribe  due in 7 min  Use tabs
      │ decides: Use tabs"
  `);
  await wire.pass(7 * MINUTE);
  expect(await commandIn(wire, "forge", "proposals")).toMatchInlineSnapshot(
    `"<id>  reverted  forge  scribe: -    Use tabs"`,
  );
});

test("an incident that is unread for hours is told to its author's operator, and stops nobody", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  await wire.pass(MINUTE);
  const raise = [
    "incident",
    "raise",
    "main is broken",
    "It lost a test.",
    "--severity",
    "critical",
  ];
  await commandIn(wire, "forge", ...raise);
  await wire.pass(5 * HOUR);
  expect(wire.transcript()).toMatchInlineSnapshot(
    `"0:01:00 forge → scribe incident "main is broken""`,
  );
  expect(await commandIn(wire, "forge", "incident", "list")).toMatchInlineSnapshot(
    `"<id>  critical  open  forge  5 h ago  scribe: not read yet  main is broken"`,
  );
  expect(await notices(wire, "forge")).toMatchInlineSnapshot(
    `"5 h ago  incident_unread  scribe  the agent of scribe has not read an incident: main is broken: critical, <id>; nothing escalates while that is so; reach scribe by another way"`,
  );
  expect(await notices(wire, "scribe")).toBe("Nothing noticed.");
  for (const handle of wire.roster) {
    expect((await wire.outcome(handle)).safeMode).toBeNull();
    expect(await commandIn(wire, handle, "send", "hello", "still here")).toContain("sent");
  }

  await read(wire);
  expect(await commandIn(wire, "scribe", "incident", "list")).toMatchInlineSnapshot(
    `"<id>  critical  open  forge  5 h ago  scribe: not acked  main is broken"`,
  );
  await wire.pass(MINUTE);
  const [incident] = await wire.agent("scribe").view("incidents", undefined);
  await commandIn(wire, "scribe", "incident", "ack", incident?.event_id ?? "");
  await wire.pass(HOUR);
  expect(await commandIn(wire, "forge", "incident", "list")).toMatchInlineSnapshot(
    `"<id>  critical  acked  forge  6 h ago  scribe: acked  main is broken"`,
  );
});

test("a busy agent that has read an incident escalates nothing either", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  await wire.pass(MINUTE);
  await wire.agent("scribe").setStatus({ state: "busy" });
  await commandIn(wire, "forge", "incident", "raise", "main is broken", "x", "--severity", "high");
  await wire.pass(5 * SECOND);
  await read(wire);
  await wire.pass(40 * MINUTE);
  expect(await commandIn(wire, "forge", "incident", "list")).toMatchInlineSnapshot(
    `"<id>  high  open  forge  40 min ago  scribe: read, but busy  main is broken"`,
  );
  expect(await notices(wire, "scribe")).toBe("Nothing noticed.");
  expect((await wire.outcome("forge")).safeMode).toBeNull();
});
