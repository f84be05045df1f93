import { describe, expect, test } from "vitest";
import type {
  NamingAnswer,
  Request,
  RequestOutcome,
} from "../../../src/protocol/requests/request.ts";
import {
  addRequest,
  answersAhead,
  beatsNeededByRequests,
  emptyRequests,
  follow,
  keepAhead,
  nameKey,
  requestKey,
  requestsOf,
  rivalsOf,
  type RequestsState,
} from "../../../src/protocol/requests/requests-state.ts";
import { makeLayout, pairNames } from "../../../src/wire/layout.ts";

// What is remembered of requests, and how much.

/** Of one log, with one name, with a plan, and answers that came before their requests. */
const [MOST, RIVALS, PLANS, AHEAD] = [2_048, 64, 256, 1_024];
const PAIR = { layout: makeLayout("pairwise", ["a", "b"]) };

function requestOf(id: string, change: Partial<Request> = {}): Request {
  const { addressee = "b" } = change;
  return {
    ...{ key: requestKey(id, addressee), id, log: "a_to_b", line: 1, answerLog: "b_to_a" },
    ...{ asker: "a", addressee, requestId: "0BADCAFE", requestType: "other", subject: "" },
    ...{ plan: undefined, correlationId: "X", chained: true, timestampMs: 0, at: 0, live: true },
    ...{ own: true, refused: undefined, dueMs: undefined, isVoid: false, answers: [] },
    ...{ end: undefined, outcome: undefined, judgedTo: 1, waitsAt: undefined, ...change },
  };
}

const OUTCOME: RequestOutcome = {
  ...{ status: "cancelled", by: "c", line: 9, at: "", answer: undefined, reason: undefined },
};

/** So many requests of one log, each on its own line and with its own name. */
function many(count: number, change: (at: number) => Partial<Request> = () => ({})): Request[] {
  return Array.from({ length: count }, (_each, at) => {
    const requestId = `${at}`.padStart(8, "0");
    return requestOf(`r${at}`, { line: at + 1, requestId, ...change(at) });
  });
}

function stateOf(requests: readonly Request[]): RequestsState {
  const state = emptyRequests();
  for (const request of requests) {
    addRequest(state, request);
    follow(state, request);
  }
  return state;
}

function answerTo(acks: string | undefined, id = "x"): NamingAnswer {
  const said = { id, line: 1, at: 0, timestamp: "", approves: true, reason: undefined };
  return {
    said: { ...said, parks: false, refused: false },
    ...{ acks, requestId: "0badcafe", correlationId: "X", timestampMs: 0 },
  };
}

describe("a request is found", () => {
  test("by its event id in its log, with all of its addressees", () => {
    const [toB, toC] = [requestOf("r"), requestOf("r", { addressee: "c" })];
    const state = stateOf([toB, toC, requestOf("rr"), requestOf("s", { log: "b_to_a" })]);
    expect(requestsOf(state, "a_to_b", "r")).toEqual([toB, toC]);
    expect(requestsOf(state, "a_to_b", "s")).toEqual([]);
    expect(requestsOf(state, "nowhere", "r")).toEqual([]);
    expect(requestKey("r", "b")).toBe("r b");
  });

  test("by its name in its log, in small letters and capitals alike", () => {
    const [upper, lower] = [requestOf("r"), requestOf("s", { requestId: "0badcafe" })];
    expect(nameKey(upper)).toBe("a_to_b 0badcafe");
    expect([...stateOf([upper, lower]).named]).toEqual([["a_to_b 0badcafe", ["r b", "s b"]]]);
  });
});

describe("rivals of a request", () => {
  const same = (count: number): Request[] =>
    Array.from({ length: count }, (_each, at) => requestOf(`r${at}`, { line: at + 1 }));
  const rivalIds = (requests: readonly Request[], of: Request) =>
    rivalsOf(stateOf(requests), of, PAIR)?.map(({ id }) => id);

  test("are those before it in its log with its name", () => {
    const all = [
      ...same(3),
      requestOf("named", { line: 2, requestId: "0badcafe01" }),
      requestOf("elsewhere", { log: "b_to_a" }),
    ];
    expect(rivalIds(all, requestOf("r1", { line: 2 }))).toEqual(["r0"]);
    expect(rivalIds(all, requestOf("next", { line: 4 }))).toEqual(["r0", "r1", "r2"]);
    expect(rivalIds(all, requestOf("r0"))).toEqual([]);
    expect(rivalIds([], requestOf("r0"))).toEqual([]);
  });

  test("are read to 64 of them, and no further", () => {
    const next = (count: number) => requestOf("next", { line: count + 1 });
    expect(rivalIds(same(RIVALS), next(RIVALS))).toHaveLength(RIVALS);
    expect(rivalIds(same(RIVALS + 1), next(RIVALS + 1))).toBeUndefined();
    // Those after it count against no limit.
    expect(rivalIds(same(RIVALS + 9), next(RIVALS - 1))).toHaveLength(RIVALS - 1);
  });

  test("are those of the closed logs that its outbox goes on with, whatever their lines", () => {
    const layout = makeLayout("outbox", ["a", "b"], undefined, pairNames(["a", "b"]));
    const closed = requestOf("closed", { line: 7 });
    const own = requestOf("own", { log: "a", line: 1 });
    const state = stateOf([closed, own]);
    const rivals = rivalsOf(state, requestOf("next", { log: "a", line: 2 }), { layout });
    expect(rivals).toEqual([closed, own]);
    const unknown = requestOf("next", { log: "nowhere", line: 9 });
    expect(rivalsOf(state, unknown, { layout })).toEqual([]);
  });
});

describe("a request that is followed", () => {
  test.each<[string, Partial<Request>, boolean, boolean]>([
    ["our own live one", {}, true, true],
    ["one of which it is not known yet whether it is void", { isVoid: undefined }, true, true],
    ["a peer's", { own: false }, true, false],
    ["of history", { live: false }, true, false],
    ["a void one", { isVoid: true }, false, false],
    ["one that has ended", { outcome: OUTCOME }, false, false],
    ["one that has ended by time", { outcome: OUTCOME, chained: false }, true, false],
  ])("is open, and its time runs: %s", (_what, change, isOpen, runs) => {
    const request = requestOf("r", change);
    const state = stateOf([request]);
    expect(state.open).toEqual(isOpen ? new Map([["a_to_b", new Set(["r b"])]]) : new Map());
    expect(state.running).toEqual(runs ? new Set(["r b"]) : new Set());
  });

  test("is let go when it ends, and no other", () => {
    const [first, second] = [requestOf("r"), requestOf("s")];
    const state = stateOf([first, second]);
    first.outcome = OUTCOME;
    follow(state, first);
    expect([...(state.open.get("a_to_b") ?? [])]).toEqual(["s b"]);
    expect([...state.running]).toEqual(["s b"]);
    second.isVoid = true;
    follow(state, second);
    expect([state.open.size, state.running.size]).toEqual([0, 0]);
  });
});

describe("requests of one log", () => {
  test("are remembered, 2,048 of them; then the oldest goes with all that is known of it", () => {
    const state = stateOf(many(MOST, (at) => (at === 0 ? { plan: "p" } : {})));
    expect([state.requests.size, state.plans.size]).toEqual([MOST, 1]);
    addRequest(state, requestOf("other", { log: "b_to_a" }));
    expect(state.requests.size).toBe(MOST + 1);
    const next = requestOf("next", { line: MOST + 1 });
    addRequest(state, next);
    expect([state.requests.size, state.requests.has("r0 b")]).toEqual([MOST + 1, false]);
    expect([state.requests.has("r1 b"), state.requests.has("next b")]).toEqual([true, true]);
    expect([state.running.has("r0 b"), state.plans.size]).toEqual([false, 0]);
    expect(state.byLog.get("a_to_b")?.has("r0 b")).toBe(false);
    expect(state.open.get("a_to_b")?.has("r0 b")).toBe(false);
    expect(state.named.has("a_to_b 00000000")).toBe(false);
    expect(state.named.get("a_to_b 00000001")).toEqual(["r1 b"]);
  });

  test("go when they have ended before those that are open", () => {
    const ended = (at: number) => (at === 5 || at === 9 ? { outcome: OUTCOME } : {});
    const state = stateOf(many(MOST, ended));
    addRequest(state, requestOf("next", { line: MOST + 1 }));
    expect([state.requests.has("r0 b"), state.requests.has("r5 b")]).toEqual([true, false]);
    expect(state.requests.has("r9 b")).toBe(true);
    const over = stateOf(many(MOST, () => ({ outcome: OUTCOME })));
    addRequest(over, requestOf("next", { line: MOST + 1 }));
    expect([over.requests.has("r0 b"), over.requests.has("r1 b")]).toEqual([false, true]);
  });

  test("that went leave the others of their name", () => {
    const state = stateOf(many(MOST, (at) => (at < 2 ? { requestId: "0badcafe" } : {})));
    addRequest(state, requestOf("next", { line: MOST + 1, requestId: "0badcafe01" }));
    expect(state.named.get("a_to_b 0badcafe")).toEqual(["r1 b"]);
  });

  test("keep their plans, the newest 256 of all logs", () => {
    const requests = many(PLANS, () => ({ plan: "p" }));
    const state = stateOf([...requests, requestOf("none")]);
    expect(requests.every(({ plan }) => plan === "p")).toBe(true);
    addRequest(state, requestOf("next", { line: PLANS + 1, plan: "q", log: "b_to_a" }));
    expect(requests.map(({ plan }) => plan).indexOf(undefined)).toBe(0);
    expect([requests[1]?.plan, state.plans.size, state.plans.has("r0 b")]).toEqual([
      ...["p", PLANS, false],
    ]);
  });
});

describe("answers that come before their request", () => {
  test("are given to the one that they name, and are kept no longer", () => {
    const state = emptyRequests();
    const [named, other, bare] = [answerTo("r"), answerTo("s"), answerTo(undefined)];
    for (const answer of [named, other, bare]) keepAhead(state, "b_to_a", answer);
    keepAhead(state, "c_to_a", answerTo("r"));
    expect(answersAhead(state, requestOf("r"))).toEqual([named, bare]);
    expect(state.ahead.get("b_to_a")).toEqual([other, bare]);
    // One that names no event id may be to another request, too.
    expect(answersAhead(state, requestOf("s"))).toEqual([other, bare]);
    expect(state.ahead.get("b_to_a")).toEqual([bare]);
    expect(state.ahead.get("c_to_a")).toHaveLength(1);
  });

  test("leave nothing behind", () => {
    const state = emptyRequests();
    keepAhead(state, "b_to_a", answerTo("r"));
    expect(answersAhead(state, requestOf("r"))).toHaveLength(1);
    expect(state.ahead.size).toBe(0);
    expect(answersAhead(state, requestOf("r"))).toEqual([]);
    expect(state.ahead.size).toBe(0);
  });

  test("are kept of a log, 1,024 of them; then the oldest 256 go", () => {
    const state = emptyRequests();
    for (let at = 0; at < AHEAD; at += 1) keepAhead(state, "b_to_a", answerTo("r", `${at}`));
    expect(state.ahead.get("b_to_a")).toHaveLength(AHEAD);
    keepAhead(state, "b_to_a", answerTo("r", "last"));
    const kept = state.ahead.get("b_to_a") ?? [];
    expect([kept.length, kept[0]?.said.id, kept.at(-1)?.said.id]).toEqual([769, "256", "last"]);
  });
});

test("beats are needed from where the first open chained request was judged last", () => {
  const state = stateOf([
    requestOf("p", { judgedTo: 7 }),
    requestOf("q", { judgedTo: 5 }),
    requestOf("by time", { judgedTo: 2, chained: false }),
    requestOf("ended", { judgedTo: 3, outcome: OUTCOME }),
  ]);
  expect(beatsNeededByRequests(state, "a_to_b")).toBe(5);
  expect(beatsNeededByRequests(state, "b_to_a")).toBe(Infinity);
  state.requests.delete("q b");
  expect(beatsNeededByRequests(state, "a_to_b")).toBe(7);
});
