import { expect, test } from "vitest";
import {
  ack,
  expectSameEverywhere,
  HOUR,
  MINUTE,
  note,
  propose,
  SECOND,
  statusOf,
  subjectsOf,
  threadOf,
} from "../support/scripts/proposal-scene.ts";
import { BEGIN_MS } from "../support/scenes/scene-folder.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";

// Three and five agents on one wire; each scene is once more replayed and audited at its end.
const sceneOf = checkedScenes("replay and audit");

const THREE = ["forge", "quill", "scribe"];
const FIVE = ["anvil", "forge", "mason", "quill", "scribe"];
const DOMAINS = {
  api: { owner: "quill", paths: ["src/api/"] },
  docs: { owner: "scribe", paths: ["docs/**"] },
};

test("five agents: to one, to some, to all", async () => {
  const wire = sceneOf(FIVE);
  await wire.start();
  await wire.send("anvil", note(["forge"], "to one"));
  await wire.pass(SECOND);
  await wire.send("mason", note(["quill", "scribe"], "to two"));
  await wire.pass(SECOND);
  await wire.send("quill", note(["*"], "to all"));
  await wire.pass(10 * SECOND);
  expect(wire.transcript()).toMatchInlineSnapshot(`
    "0:00:00 anvil → forge feedback "to one"
    0:00:01 mason → quill,scribe feedback "to two"
    0:00:02 quill → * feedback "to all""
  `);
  expect(await subjectsOf(wire, "anvil")).toEqual(["quill: to all"]);
  expect(await subjectsOf(wire, "forge")).toEqual(["anvil: to one", "quill: to all"]);
  expect(await subjectsOf(wire, "mason")).toEqual(["quill: to all"]);
  expect(await subjectsOf(wire, "quill")).toEqual(["mason: to two"]);
  expect(await subjectsOf(wire, "scribe")).toEqual(["mason: to two", "quill: to all"]);
});

test("three agents in pairs: what two say to each other is in nobody else's inbox", async () => {
  const wire = sceneOf(THREE);
  await wire.start();
  await wire.send("forge", note(["quill"], "to one"));
  await wire.send("scribe", note(["*"], "to all"));
  await wire.pass(10 * SECOND);
  expect(await subjectsOf(wire, "forge")).toEqual(["scribe: to all"]);
  expect(await subjectsOf(wire, "quill")).toEqual(["forge: to one", "scribe: to all"]);
  expect(await subjectsOf(wire, "scribe")).toEqual([]);
});

test("five agents: a proposal that touches two domains needs both owners", async () => {
  const wire = sceneOf(FIVE, { domains: DOMAINS });
  await wire.start();
  const paths = ["src/api/routes.ts", "docs/routes.md"];
  await expect(
    propose(wire, "forge", ["quill"], "New routes", { body: { paths } }),
  ).rejects.toThrow("this needs scribe as well");
  const id = await propose(wire, "forge", ["quill", "scribe"], "New routes", { body: { paths } });
  await wire.pass(5 * SECOND);
  await ack(wire, "quill", id);
  // Whoever else agrees decides nothing.
  await ack(wire, "mason", id);
  await wire.pass(MINUTE);
  expect(await statusOf(wire, "anvil", id)).toBe("open");
  await ack(wire, "scribe", id);
  await wire.pass(2 * MINUTE);
  expect(wire.transcript()).toMatchInlineSnapshot(`
    "0:00:00 forge → quill,scribe proposal "New routes"
    0:00:05 mason → forge ack "ack"
    0:00:05 quill → forge ack "ack"
    0:01:05 forge → quill,scribe correction "closed"
    0:01:05 scribe → forge ack "ack""
  `);
  expect((await wire.outcome("anvil")).recorded).toEqual([id]);
  const { paths: checked } = await wire.agent("forge").view("check", { paths });
  expect(checked.map(({ verdict }) => verdict)).toEqual(["covered", "covered"]);
  const { paths: others } = await wire.agent("mason").view("check", { paths });
  expect(others.map(({ verdict }) => verdict)).toEqual(["blocked", "blocked"]);
  await expectSameEverywhere(wire);
});

test("five agents: one owner agrees and the other is silent, so it is reverted", async () => {
  const wire = sceneOf(FIVE, { domains: DOMAINS });
  await wire.start();
  const id = await propose(wire, "forge", ["quill", "scribe"], "New routes");
  await wire.pass(5 * SECOND);
  await ack(wire, "quill", id);
  await wire.agent("scribe").markRead("all");
  await wire.pass(HOUR);
  expect(wire.transcript()).toMatchInlineSnapshot(`
    "0:00:00 forge → quill,scribe proposal "New routes"
    0:00:05 quill → forge ack "ack"
    0:31:36 forge → quill,scribe correction "closed""
  `);
  for (const handle of FIVE) expect(await statusOf(wire, handle, id)).toBe("reverted");
  expect(wire.lines("decisions.jsonl")).toEqual([]);
  await expectSameEverywhere(wire);
});

test("five agents: one of two owners counters, and what both sides accept is the decision", async () => {
  const wire = sceneOf(FIVE, { domains: DOMAINS });
  await wire.start();
  const first = await propose(wire, "forge", ["quill", "scribe"], "Routes in one file");
  await wire.pass(5 * SECOND);
  await ack(wire, "quill", first);
  await wire.pass(5 * SECOND);
  const thread = await threadOf(wire, "scribe", first);
  const counter = await propose(wire, "scribe", ["forge", "quill"], "Routes in two files", {
    thread,
    body: { counters: (await wire.agent("scribe").view("resolve_id", { id: first })).place },
  });
  await wire.pass(5 * SECOND);
  await ack(wire, "forge", counter);
  await wire.pass(5 * SECOND);
  expect(await statusOf(wire, "mason", counter)).toBe("open");
  await ack(wire, "quill", counter);
  await wire.pass(2 * MINUTE);
  expect(wire.transcript()).toMatchInlineSnapshot(`
    "0:00:00 forge → quill,scribe proposal "Routes in one file"
    0:00:05 quill → forge ack "ack"
    0:00:10 forge → quill,scribe correction "closed"
    0:00:10 scribe → forge,quill proposal "Routes in two files"
    0:00:15 forge → scribe ack "ack"
    0:00:20 quill → scribe ack "ack"
    0:00:20 scribe → forge,quill correction "closed""
  `);
  expect((await wire.outcome("anvil")).recorded).toEqual([counter]);
  expect(await statusOf(wire, "anvil", first)).not.toBe("ratified");
  await expectSameEverywhere(wire);
});

test("five agents: a request to all is one for each, and a silent one ends alone", async () => {
  const wire = sceneOf(FIVE);
  await wire.start();
  const due = new Date(BEGIN_MS + 2 * HOUR).toISOString();
  const required = FIVE.filter((handle) => handle !== "forge");
  await wire.send("forge", {
    to: ["*"],
    type: "request",
    subject: "may we ship",
    body: { required, request_type: "review", due },
  });
  await wire.pass(5 * SECOND);
  const [asked] = await wire.agent("quill").view("requests", {});
  const { place: answers, correlation_id: correlationId = "" } = asked ?? {};
  for (const handle of ["anvil", "mason", "quill"]) {
    const body = { answers, approve: handle !== "mason" };
    await wire.send(handle, { to: ["forge"], type: "ack", subject: "said", body, correlationId });
  }
  await wire.pass(3 * HOUR);
  for (const handle of FIVE) {
    const requests = await wire.agent(handle).view("requests", {});
    expect(requests.map(({ target, status }) => `${target} ${status}`)).toEqual([
      "anvil approved",
      "mason rejected",
      "quill approved",
      "scribe expired",
    ]);
  }
});
