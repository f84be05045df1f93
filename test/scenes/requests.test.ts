import { expect, test } from "vitest";
import type { RequestView } from "../../src/api/views.ts";
import { HOUR, MINUTE, SECOND } from "../support/scripts/proposal-scene.ts";
import { commandIn } from "../support/scenes/scene-cli.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import type { SimulatedWire } from "../support/scenes/simulated-wire.ts";

// Requests with an answer, between real agents. Spec 3.8.
const sceneOf = checkedScenes("replay and audit");

async function requestsOf(wire: SimulatedWire, handle: string): Promise<RequestView[]> {
  return wire.agent(handle).view("requests", {});
}

async function endsOf(wire: SimulatedWire, handle: string): Promise<string[]> {
  return (await requestsOf(wire, handle)).map(({ target, status }) => `${target} ${status}`);
}

async function idOf(wire: SimulatedWire, handle: string): Promise<string> {
  return (await requestsOf(wire, handle)).at(-1)?.event_id ?? "";
}

async function noticesOf(wire: SimulatedWire, handle: string): Promise<string[]> {
  return (await wire.agent(handle).view("agent_notices", {})).map(({ text }) => text);
}

test("a request to two agents: one rejects it, the other one is silent, and all see the same", async () => {
  const wire = sceneOf(["forge", "quill", "scribe"]);
  await wire.start();
  const ask = ["request", "review", "quill", "scribe", "--subject", "the parser", "--due", "2h"];
  expect(await commandIn(wire, "forge", ...ask)).toBe("sent <id> to quill, scribe, thread <time>");
  const id = await idOf(wire, "scribe");
  await wire.pass(5 * SECOND);
  expect(await commandIn(wire, "forge", "pending")).toBe(
    [
      '<id>  request of type "review"  forge → quill   due in 2 h  the parser',
      '<id>  request of type "review"  forge → scribe  due in 2 h  the parser',
    ].join("\n"),
  );
  const no = ["respond", id, "--reject", "--reason", "no tests"];
  expect(await commandIn(wire, "scribe", ...no)).toBe(
    ["sent <id> to forge, thread <time>", "  to <id>, forge's request: the parser"].join("\n"),
  );
  await wire.pass(2 * MINUTE);
  for (const handle of wire.roster) {
    expect(await endsOf(wire, handle)).toEqual(["quill pending", "scribe rejected"]);
  }
  expect(await noticesOf(wire, "forge")).toEqual([
    'scribe rejected your request "the parser": `deaddrop requests --all` shows its reason.',
  ]);
  await wire.pass(3 * HOUR);
  for (const handle of wire.roster) {
    expect(await endsOf(wire, handle)).toEqual(["quill expired", "scribe rejected"]);
  }
  const late = await commandIn(wire, "quill", "respond", id, "--approve");
  expect(late).toContain("not sent: forge's request has ended: it was expired");
  expect(await commandIn(wire, "quill", "respond", id, "--approve", "--anyway")).toContain("sent");
  await wire.pass(2 * MINUTE);
  expect(await commandIn(wire, "forge", "requests", "--all")).toBe(
    [
      "<id>  review  expired   forge → quill   no answer until it was due  the parser",
      "<id>  review  rejected  forge → scribe  no tests                    the parser",
    ].join("\n"),
  );
});

test("a plan is rejected with feedback, a better one is approved, and nothing else settles either", async () => {
  const wire = sceneOf(["lead", "mate"]);
  await wire.start();
  const submit = async (plan: string): Promise<string> => {
    await commandIn(wire, "mate", "request", "plan_approval", "--plan", plan);
    await wire.pass(5 * SECOND);
    return idOf(wire, "lead");
  };
  const risky = await submit("drop the table, then think");
  const [asked] = await requestsOf(wire, "lead");
  expect(asked).toMatchObject({ plan: "drop the table, then think", status: "pending" });
  expect(await commandIn(wire, "lead", "ack", risky)).toContain("mate asks for a yes or a no");
  await commandIn(wire, "lead", "respond", risky, "--reject", "--reason", "back it up first");
  await wire.pass(2 * MINUTE);
  const better = await submit("back it up, then drop it");
  await commandIn(wire, "lead", "accept", better);
  await wire.pass(2 * MINUTE);
  const ends = (await requestsOf(wire, "mate")).map(({ status, reason }) => [status, reason]);
  expect(ends).toEqual([
    ["rejected", "back it up first"],
    ["approved", null],
  ]);
  expect(await noticesOf(wire, "mate")).toHaveLength(2);
});

test("a cancellation that crosses the answer counts, and both see that", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  await commandIn(wire, "forge", "request", "review", "--subject", "s");
  const { correlation_id: correlationId, place } = (await requestsOf(wire, "scribe"))[0] ?? {};
  await wire.post("scribe", {
    to: ["forge"],
    type: "ack",
    subject: "yes",
    body: { answers: place, approve: true },
    ...(correlationId === undefined ? {} : { correlationId }),
  });
  // Forge has not read it yet.
  await wire.post("forge", {
    to: ["scribe"],
    type: "correction",
    subject: "never mind",
    body: { decides: place, outcome: "ended", answers: [], reason: "never mind" },
    ...(correlationId === undefined ? {} : { correlationId }),
  });
  await wire.pass(5 * MINUTE);
  for (const handle of wire.roster) {
    expect(await endsOf(wire, handle)).toEqual(["scribe cancelled"]);
    const [request] = await requestsOf(wire, handle);
    expect(request?.late_answers).toHaveLength(1);
  }
  expect(await noticesOf(wire, "scribe")).toEqual([
    expect.stringMatching(/^forge's request "s", which asked for your answer, has ended/),
  ]);
});

test("an asker that dies before the answer comes finds it after its restart", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  await commandIn(wire, "forge", "request", "review", "--subject", "s");
  const id = await idOf(wire, "scribe");
  wire.kill("forge");
  await commandIn(wire, "scribe", "respond", id, "--approve");
  await wire.pass(2 * MINUTE);
  expect(await endsOf(wire, "scribe")).toEqual(["scribe pending"]);
  await wire.start("forge");
  await wire.pass(2 * MINUTE);
  for (const handle of wire.roster) {
    expect(await endsOf(wire, handle)).toEqual(["scribe approved"]);
  }
  expect(await noticesOf(wire, "forge")).toEqual(['scribe approved your request "s".']);
});

test("a request is due by the clock of its asker, and a day long when nobody reads it", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start("forge");
  await commandIn(wire, "forge", "request", "review", "--subject", "soon", "--due", "10m");
  await commandIn(wire, "forge", "request", "review", "--subject", "some day");
  await wire.pass(12 * MINUTE);
  expect(await endsOf(wire, "forge")).toEqual(["scribe expired", "scribe pending"]);
  await wire.pass(24 * HOUR);
  expect(await endsOf(wire, "forge")).toEqual(["scribe expired", "scribe expired"]);
});
