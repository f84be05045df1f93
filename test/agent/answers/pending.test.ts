import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { inboxPage } from "../../../src/agent/answers/messages.ts";
import { owedLists, pendingView, type ObligationView } from "../../../src/agent/answers/pending.ts";
import { threadView } from "../../../src/agent/answers/threads.ts";
import { placeJson } from "../../../src/wire/places.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { CoreWire } from "../../support/core-wire.ts";

// What is owed, as an agent and its operator see it: in lists, on messages, in threads. Spec 3.3.

const root = mkdtempSync(join(tmpdir(), "deaddrop-pending-"));
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const iso = (ms: number): string => new Date(ms).toISOString();
const names = (views: readonly ObligationView[]): string[] =>
  views.map(({ from, owed_by: by, subject }) => `${by} owes ${from}: ${subject}`);

test("an answer is owed on both sides until it is given, and names what it answers", async () => {
  const wire = new CoreWire(root, ["forge", "scribe"]);
  await wire.settle();
  const [forge, scribe] = [wire.agent("forge"), wire.agent("scribe")];
  const askedMs = wire.nowMs;
  const ask = forge.propose("Freeze the format.", ["scribe"]);
  await wire.settle();
  forge.say("please look", { type: "request", to: ["scribe"] });
  await wire.settle();
  for (const { core } of [forge, scribe])
    expect(names(pendingView(core))).toEqual([
      ...["scribe owes forge: Freeze the format.", "scribe owes forge: please look"],
    ]);
  const [proposal, request] = pendingView(scribe.core);
  expect(proposal).toMatchObject({
    ...{ event_id: ask.id, place: placeJson(ask), correlation_id: ask.thread, type: "proposal" },
    ...{ request_id: null, request_type: null, action: null, decision: "Freeze the format." },
    due_at: iso(askedMs + 24 * HOUR_MS),
    overdue: false,
  });
  expect(request).toMatchObject({ type: "request", decision: null });
  // The message that asks says so.
  const [first, second] = inboxPage(scribe.core, {}).messages;
  expect(first?._meta.obligations).toEqual([proposal]);
  expect(second?._meta.obligations).toEqual([request]);
  scribe.answer(ask, true);
  scribe.say("here it is", { to: ["forge"], correlationId: request?.correlation_id ?? "" });
  await wire.settle();
  for (const { core } of [forge, scribe]) expect(pendingView(core)).toEqual([]);
});

test("a proposal has minutes from its reading on, and is late after them", async () => {
  const wire = new CoreWire(root, ["forge", "scribe"]);
  await wire.settle();
  const [forge, scribe] = [wire.agent("forge"), wire.agent("scribe")];
  forge.propose("Freeze it.", ["scribe"]);
  await wire.settle();
  const { answer_minutes } = scribe.core.place.limits;
  for (const { core } of [forge, scribe])
    expect(pendingView(core)[0]).toMatchObject({ minutes_from_reading: answer_minutes });
  scribe.core.markRead("all");
  scribe.core.heart.beat();
  scribe.core.publish();
  const readMs = wire.nowMs;
  await wire.settle(1);
  const [byUs] = pendingView(scribe.core);
  expect(byUs).not.toHaveProperty("minutes_from_reading");
  expect(byUs).toMatchObject({ due_at: iso(readMs + answer_minutes * MINUTE_MS), overdue: false });
  const [toUs] = pendingView(forge.core);
  expect(toUs?.due_at).toBe(iso(wire.nowMs + answer_minutes * MINUTE_MS));
  wire.nowMs = readMs + answer_minutes * MINUTE_MS;
  expect(pendingView(scribe.core)[0]?.overdue).toBe(true);
});

test("an author that asks much hides nothing of another", async () => {
  const wire = new CoreWire(root, ["forge", "scribe", "ann"]);
  await wire.settle();
  const request = { type: "request", to: ["forge"] };
  for (let at = 1; at <= 6; at += 1) wire.agent("scribe").say(`s${at}`, request);
  await wire.settle();
  for (let at = 1; at <= 2; at += 1) wire.agent("ann").say(`a${at}`, request);
  await wire.settle();
  const ours = owedLists(wire.agent("forge").core, 4);
  expect(ours.owed_by_me.map(({ subject }) => subject)).toEqual(["s1", "s2", "a1", "a2"]);
  expect([ours.owed_to_me, ours.left_out]).toEqual([[], { owed_by_me: 4, owed_to_me: 0 }]);
  const theirs = owedLists(wire.agent("scribe").core, 4);
  expect(theirs.owed_to_me.map(({ subject }) => subject)).toEqual(["s1", "s2", "s3", "s4"]);
  expect(theirs.left_out).toEqual({ owed_by_me: 0, owed_to_me: 2 });
});

test("a thread says what it waits for, also between others, and is closed when all is answered", async () => {
  const wire = new CoreWire(root, ["forge", "scribe", "ann"]);
  await wire.settle();
  const ask = wire.agent("forge").say("Freeze?", {
    ...{ type: "proposal", to: ["scribe", "ann"], ackRequired: true },
    body: fromPlain({ required: ["scribe"], decision: "Frozen." }),
  });
  await wire.settle();
  const view = (by: string, id = ask.thread) => {
    const [thread] = threadView(wire.agent(by).core, { id });
    if (thread === undefined) throw new Error("there is no thread");
    return thread;
  };
  expect(view("ann")).toMatchObject({
    ...{ correlation_id: ask.thread, root: ask.id, subject: "Freeze?", omitted: 0 },
    ...{ status: "waiting_on", waiting_on: ["scribe"], participants: ["forge"], obligations: [] },
    ...{ named_by: "correlation_id", proposals: [{ proposal_id: ask.id, status: "open" }] },
  });
  expect(names(view("scribe", ask.id).obligations)).toEqual(["scribe owes forge: Freeze?"]);
  expect(view("scribe", ask.id.slice(0, 10)).named_by).toBe("event_id");
  wire.agent("scribe").answer(ask, true);
  await wire.settle();
  for (const by of wire.names)
    expect(view(by)).toMatchObject({ status: "closed", waiting_on: [], obligations: [] });
  expect(view("ann").participants).toEqual(["forge", "scribe"]);
  const words = wire.agent("ann").say("nothing is asked");
  expect(view("ann", words.thread)).toMatchObject({ status: "open", waiting_on: [] });
});
