import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { proposalsView, type ProposalView } from "../../../src/agent/answers/proposals.ts";
import { requestsView } from "../../../src/agent/answers/requests.ts";
import type { HeldLine } from "../../../src/store/store.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { placeJson } from "../../../src/wire/places.ts";
import { CoreWire, type CoreAgent } from "../../support/core-wire.ts";

let root = "";
let wire: CoreWire;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "asks-"));
});
afterEach(() => {
  wire.close();
});
afterAll(() => {
  rmSync(root, { recursive: true });
});

async function start(...names: readonly string[]): Promise<CoreAgent[]> {
  wire = new CoreWire(root, names);
  await wire.settle(1);
  return names.map((name) => wire.agent(name));
}

function request(from: CoreAgent, to: readonly string[], more: object = {}): HeldLine {
  const body = fromPlain({ required: to, request_type: "plan_approval", plan: "P7", ...more });
  return from.say("approve it?", { type: "request", to, ackRequired: true, body });
}

function respond(by: CoreAgent, ask: HeldLine, approve: boolean): HeldLine {
  const body = fromPlain({ answers: placeJson(ask), approve, reason: "looked at it" });
  return by.say("answer", { type: "ack", to: [ask.author], correlationId: ask.thread, body });
}

/** What a side says of its only proposal. */
function only(agent: CoreAgent): ProposalView {
  const [first, ...others] = proposalsView(agent.core);
  if (first === undefined || others.length > 0) throw new Error("there is not one proposal");
  return first;
}

describe("proposals as they are shown (spec 3.4)", () => {
  test("an open one says whom it waits for, a closed one what closed it, alike on both sides", async () => {
    const [forge, scribe] = (await start("forge", "scribe")) as [CoreAgent, CoreAgent];
    const ask = forge.propose("Frozen until May.", ["scribe"]);
    await wire.settle();
    for (const agent of [forge, scribe])
      expect(only(agent)).toMatchObject({
        ...{ place: placeJson(ask), proposal_id: ask.id, correlation_id: ask.thread },
        ...{ proposer: "forge", subject: "Frozen until May.", decision: "Frozen until May." },
        ...{ required: ["scribe"], status: "open", problem: null, decided_by: null },
        ...{ waits_for: "an answer of scribe", support: { scribe: null }, unproved: false },
      });
    scribe.answer(ask, true);
    await wire.settle();
    for (const agent of [forge, scribe])
      expect(only(agent)).toMatchObject({
        ...{ status: "ratified", waits_for: null, support: { scribe: ask.id } },
        ...{
          reason: "agreed by all",
          decided_by: expect.stringMatching(/^[0-9a-f]{64}$/u) as string,
        },
      });
  });

  test("a rejected one, and one that its proposer has left for another", async () => {
    const [forge, scribe] = (await start("forge", "scribe")) as [CoreAgent, CoreAgent];
    const rejected = forge.propose("No.", ["scribe"]);
    const left = forge.propose("First.", ["scribe"]);
    await wire.settle();
    scribe.answer(rejected, false);
    const body = fromPlain({ required: ["scribe"], decision: "Second." });
    const more = { type: "proposal", correlationId: left.thread, to: ["scribe"], body };
    const second = forge.say("Second.", { ...more, ackRequired: true });
    await wire.settle();
    const status = ({ core }: CoreAgent) => proposalsView(core).map((each) => each.status);
    expect([status(forge), status(scribe)]).toEqual([
      ["rejected", "superseded", "open"],
      ["rejected", "superseded", "open"],
    ]);
    expect(proposalsView(scribe.core)[0]?.support).toEqual({ scribe: "rejected" });
    const named = proposalsView(scribe.core, { named: second.id.slice(0, 8) });
    expect(named.map((each) => each.proposal_id)).toEqual([second.id]);
    const inThread = proposalsView(scribe.core, { thread: left.thread });
    expect(inThread.map((each) => each.proposal_id)).toEqual([left.id, second.id]);
  });

  test("one that was left for a counter which is approved is replaced by it", async () => {
    const [forge, scribe] = (await start("forge", "scribe")) as [CoreAgent, CoreAgent];
    const first = forge.propose("Until May.", ["scribe"]);
    await wire.settle();
    const said = { required: ["forge"], decision: "Until June.", supports: "" };
    const counter = scribe.say("Until June.", {
      ...{ type: "proposal", to: ["forge"], ackRequired: true, correlationId: first.thread },
      body: fromPlain(said),
    });
    await wire.settle();
    forge.answer(counter, true);
    await wire.settle();
    const rows = proposalsView(forge.core);
    expect(rows.map(({ status, replaced_by: by }) => [status, by])).toEqual([
      ["replaced", counter.id],
      ["ratified", null],
    ]);
    expect(proposalsView(scribe.core).map(({ status }) => status)).toEqual([
      "replaced",
      "ratified",
    ]);
  });

  test("what all have agreed to waits for its proposer, and says since when", async () => {
    const [forge, scribe] = (await start("forge", "scribe")) as [CoreAgent, CoreAgent];
    const ask = forge.propose("Agreed.", ["scribe"]);
    await wire.settle();
    scribe.answer(ask, true);
    while (await scribe.core.round());
    expect(only(scribe)).toMatchObject({ status: "open", support: { scribe: ask.id } });
    expect(only(scribe).waits_for).toMatch(/^forge.*agreed/u);
  });
});

describe("requests as they are shown (spec 3.8)", () => {
  test("a request is one for each agent that is asked", async () => {
    const names = ["forge", "scribe", "ann"] as const;
    const [forge, scribe, ann] = (await start(...names)) as [CoreAgent, CoreAgent, CoreAgent];
    const ask = request(forge, ["scribe", "ann"], { request_id: "4f2a91c0" });
    await wire.settle();
    const rows = (agent: CoreAgent) =>
      requestsView(agent.core).map((each) => [each.target, each.status, each.answer?.approve]);
    expect(rows(ann)).toEqual([
      ["scribe", "pending", undefined],
      ["ann", "pending", undefined],
    ]);
    const yes = respond(scribe, ask, true);
    respond(ann, ask, false);
    await wire.settle();
    for (const agent of [forge, scribe, ann])
      expect(rows(agent)).toEqual([
        ["scribe", "approved", true],
        ["ann", "rejected", false],
      ]);
    const [first] = requestsView(scribe.core, "4f2a91");
    expect(first).toMatchObject({
      ...{ place: placeJson(ask), event_id: ask.id, request_id: "4f2a91c0", from: "forge" },
      ...{ request_type: "plan_approval", plan: "P7", refused: null, waits_for: null },
      ...{ reason: "looked at it", answer: { event_id: yes.id, approve: true }, late_answers: [] },
    });
    expect(requestsView(scribe.core, ask.id.slice(0, 6))).toHaveLength(2);
    expect(requestsView(scribe.core, "4f2a9")).toEqual([]);
  });

  test("one that nobody answers expires, and an answer after that is late", async () => {
    const [forge, scribe] = (await start("forge", "scribe")) as [CoreAgent, CoreAgent];
    const due = new Date(wire.nowMs + 5 * 60_000).toISOString();
    const ask = request(forge, ["scribe"], { due });
    await wire.settle();
    expect(requestsView(scribe.core)).toMatchObject([
      { status: "pending", due_at: due, waits_for: "an answer of scribe" },
    ]);
    wire.nowMs += 6 * 60_000;
    await wire.settle();
    expect(requestsView(scribe.core)).toMatchObject([{ status: "expired", answer: null }]);
    const late = respond(scribe, ask, true);
    await wire.settle();
    expect(requestsView(forge.core)).toMatchObject([
      { status: "expired", answer: null, late_answers: [late.id] },
    ]);
  });

  test("a plain request is in no list of requests", async () => {
    const [forge, scribe] = (await start("forge", "scribe")) as [CoreAgent, CoreAgent];
    forge.say("look?", { type: "request", to: ["scribe"], ackRequired: true, body: "" });
    await wire.settle();
    expect(requestsView(scribe.core)).toEqual([]);
  });
});
