import { describe, expect, test } from "vitest";
import type { Request, RequestAnswer } from "../../../src/protocol/requests/request.ts";
import { emptyRequests, requestKey } from "../../../src/protocol/requests/requests-state.ts";
import { requestsView, type RequestView } from "../../../src/protocol/requests/requests-view.ts";
import { emptyState } from "../../../src/protocol/state.ts";
import { OutcomeScript } from "../../support/scripts/outcome-script.ts";
import { hours, NOON, scriptEnv, WireScript } from "../../support/scripts/wire-script.ts";

// How requests are listed: which, in what order, and what is said of each.

type Tiers = Parameters<typeof scriptEnv>[2];

const { layout } = new WireScript("outbox", ["ada", "bob", "eve"]);
const ID = "a0".repeat(32);

function request(about: Partial<Request> = {}): Request {
  const { id = ID, addressee = "bob" } = about;
  return {
    ...{ key: requestKey(id, addressee), id, addressee, log: "ada", line: 1, answerLog: "bob" },
    ...{ asker: "ada", requestId: "0badcafe01", requestType: "approve", subject: "May I?" },
    ...{ plan: "Do it.", correlationId: "a thread", chained: true, timestampMs: NOON, at: NOON },
    ...{ live: true, own: false, refused: undefined, dueMs: undefined, isVoid: false, answers: [] },
    ...{ end: undefined, outcome: undefined, judgedTo: 0, waitsAt: undefined },
    ...about,
  };
}

function answer(id: string, approves = true): RequestAnswer {
  const said = { id, line: 1, at: NOON, timestamp: "", approves, reason: undefined };
  return { ...said, parks: false, refused: false };
}

function list(requests: readonly Request[], tiers: Tiers = {}, named?: string): RequestView[] {
  const state = emptyRequests();
  for (const each of requests) state.requests.set(each.key, each);
  return requestsView(state, emptyState().logs, scriptEnv(layout, "eve", tiers), named);
}

function viewOf(about: Partial<Request>, tiers: Tiers = {}): RequestView | undefined {
  return list([request(about)], tiers)[0];
}

const outcome = (about: Partial<NonNullable<Request["outcome"]>>) => ({
  ...{ status: "rejected" as const, by: "the line", line: 2, at: "", answer: undefined },
  ...{ reason: "not today", ...about },
});

describe("requests are listed", () => {
  test("by receipt, then by log, line and addressee", () => {
    const inOrder: Partial<Request>[] = [
      { id: "1", at: NOON, log: "bob" },
      { id: "2", at: NOON + 1, log: "ada", line: 9 },
      { id: "3", at: NOON + 1, log: "bob", line: 2, addressee: "ada" },
      { id: "3", at: NOON + 1, log: "bob", line: 2, addressee: "eve" },
      { id: "4", at: NOON + 1, log: "bob", line: 3, addressee: "ada" },
    ];
    const expected = inOrder.map(({ id, addressee = "bob" }) => [id, addressee]);
    for (const order of [
      inOrder,
      inOrder.toReversed(),
      [...inOrder.slice(2), ...inOrder.slice(0, 2)],
    ]) {
      const listed = list(order.map((each) => request(each)));
      expect(listed.map(({ event_id, target }) => [event_id, target])).toEqual(expected);
    }
  });

  test.each([
    ["0badcafe01", true],
    ["0BADCA", true],
    ["badcaf", false],
    ["0badc", false],
    [ID, true],
    [ID.slice(0, 6), true],
    [ID.slice(0, 5), false],
    [ID.slice(1, 8), false],
    ["b".repeat(64), false],
  ])("of those named %s: %s", (name, isListed) => {
    expect(list([request()], {}, name)).toHaveLength(isListed ? 1 : 0);
  });

  test("with the name as its asker wrote it, in whatever case it is looked for", () => {
    const [found] = list([request({ requestId: "0BADCAFE01" })], {}, "0badCAFE");
    expect(found?.request_id).toBe("0BADCAFE01");
  });
});

describe("of a request is said", () => {
  test("that it waits for an answer, or for the beat that covers one", () => {
    expect(viewOf({})).toMatchObject({
      ...{ request_type: "approve", subject: "May I?", plan: "Do it.", status: "pending" },
      ...{ reason: null, refused: null, decided_by: null, answer: null, late_answers: [] },
      ...{ asked_at: new Date(NOON).toISOString(), waits_for: "an answer of bob" },
    });
    expect(viewOf({ answers: [answer("first", false), answer("second")] })).toMatchObject({
      ...{ answer: { event_id: "first", approve: false }, late_answers: [] },
      waits_for: "the next heartbeat of ada",
    });
  });

  test("until when it is open", () => {
    const due = NOON + hours(3);
    expect(viewOf({ dueMs: due })?.due_at).toBe(new Date(due).toISOString());
  });

  test("which line settled it, and which answers came too late", () => {
    const answers = [answer("first"), answer("second"), answer("third")];
    const settled = outcome({ status: "approved", answer: answers[1], reason: undefined });
    expect(viewOf({ answers, outcome: settled })).toMatchObject({
      ...{ status: "approved", decided_by: "the line", reason: null, waits_for: null },
      ...{ answer: { event_id: "second", approve: true }, late_answers: ["first", "third"] },
    });
    expect(viewOf({ answers, outcome: outcome({ status: "cancelled" }) })).toMatchObject({
      ...{ status: "cancelled", answer: null, late_answers: ["first", "second", "third"] },
    });
  });

  test("that it is void, whatever else there is", () => {
    expect(viewOf({ isVoid: true })).toMatchObject({ status: "void", waits_for: null });
    expect(viewOf({ isVoid: true, outcome: outcome({}) })?.status).toBe("void");
    expect(viewOf({ isVoid: undefined })?.status).toBe("pending");
  });

  test("no word of a stranger: not why it asks, nor why it answers so", () => {
    const byAda = { outcome: outcome({ status: "cancelled" }) };
    const byBob = { outcome: outcome({ answer: answer("first", false) }) };
    expect(viewOf(byAda)?.reason).toBe("not today");
    expect(viewOf(byBob)?.reason).toBe("not today");
    const ada: Tiers = { ada: { tier: "UNTRUSTED" } };
    expect(viewOf(byAda, ada)).toMatchObject({ reason: null, plan: null });
    expect(viewOf(byBob, ada)).toMatchObject({ reason: "not today", request_type: "(not shown)" });
    const bob: Tiers = { bob: { tier: "UNTRUSTED" } };
    expect(viewOf(byAda, bob)?.reason).toBe("not today");
    expect(viewOf(byBob, bob)).toMatchObject({ reason: null, plan: "Do it." });
  });

  test("which lines are missing, that its asker's beat counts", () => {
    const steps = ["a asks R request=0badcafe01", "b approves R", "a beats b=7"];
    const script = new OutcomeScript("pairwise", ["a", "b"], steps);
    const { requests, logs } = script.fold("a");
    const [view] = requestsView(requests, logs, script.env("a"));
    expect(view?.waits_for).toBe("lines of b_to_a up to 7, which heads in a_to_b count");
    const asking = logs.get("a_to_b");
    if (asking === undefined) throw new Error("no log a_to_b");
    asking.lostBeats = 99;
    expect(requestsView(requests, logs, script.env("a"))[0]?.waits_for).toBe(
      "nothing that can come: too many heartbeats of a came before lines that they count; ask again",
    );
  });

  test("what became of an earlier one with its request_id, when that decides whether it is void", () => {
    const steps = ["a asks R request=0badcafe01 to=c", "a beats c=7"];
    const again = "a asks S request=0badcafe01 to=b";
    const script = new OutcomeScript("outbox", ["a", "b", "c"], [...steps, again, "a expires S"]);
    const { requests, logs } = script.fold("a");
    const earlier = requestsView(requests, logs, script.env("a"))[0];
    const waits = "lines of c up to 7, which heads in a count";
    expect(earlier).toMatchObject({ target: "c", waits_for: waits });
    expect(requestsView(requests, logs, script.env("a"))[1]).toMatchObject({
      ...{ target: "b", status: "pending" },
      waits_for: `what became of ${earlier?.event_id.slice(0, 8)} to c, asked before with this request_id: ${waits}`,
    });
  });
});
