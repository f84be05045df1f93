import { describe, expect, test } from "vitest";
import { apply } from "../../../src/protocol/core.ts";
import { emptyState } from "../../../src/protocol/state.ts";
import { decideRequests } from "../../../src/protocol/requests/request-deadlines.ts";
import { requestsView } from "../../../src/protocol/requests/requests-view.ts";
import { pendingView } from "../../../src/protocol/threads/threads-view.ts";
import { OutcomeScript } from "../../support/scripts/outcome-script.ts";
import { hours, lineEvent, NOON, scriptEnv } from "../../support/scripts/wire-script.ts";

const ASK = "a asks R request=0badcafe01";

function play(steps: readonly string[], roster: readonly string[] = ["a", "b"]) {
  const script = new OutcomeScript(roster.length > 2 ? "outbox" : "pairwise", roster, steps);
  const events = script.events("a");
  const byLog = [...events].sort((a, b) => (a.log < b.log ? -1 : a.log > b.log ? 1 : 0));
  const backwards = [...events].sort((a, b) => (a.log < b.log ? 1 : a.log > b.log ? -1 : 0));
  const all = [events, byLog, backwards].map((each) => script.requestEnds(script.fold("a", each)));
  // In whatever order the logs are read.
  expect(all[1]).toEqual(all[0]);
  expect(all[2]).toEqual(all[0]);
  return all[0];
}

describe("one log decides, the asker's", () => {
  test("a request is pending until a beat of the asker covers an answer", () => {
    expect(play([ASK])).toEqual(["R b pending"]);
    expect(play([ASK, "b approves R"])).toEqual(["R b pending"]);
    expect(play([ASK, "b approves R", "a beats"])).toEqual(["R b approved by a:2"]);
    expect(play([ASK, "b declines R", "a beats"])).toEqual(["R b rejected by a:2"]);
  });

  test("the first answer counts, later ones change nothing", () => {
    const steps = [ASK, "b approves R", "b declines R", "a beats"];
    expect(play(steps)).toEqual(["R b approved by a:2"]);
    expect(play([ASK, "b declines R", "a beats", "b approves R", "a beats"])).toEqual([
      "R b rejected by a:2",
    ]);
  });

  test("what comes first in the asker's log settles it: the cancellation, or the beat", () => {
    expect(play([ASK, "b approves R", "a cancels R", "a beats"])).toEqual(["R b cancelled by a:2"]);
    expect(play([ASK, "b approves R", "a beats", "a cancels R"])).toEqual(["R b approved by a:2"]);
    expect(play([ASK, "b approves R", "a beats b=0", "a expires R of=b"])).toEqual([
      "R b expired by a:3",
    ]);
  });

  test("a beat that covers lines which we lack is waited for", () => {
    const steps = [ASK, "b approves R", "a beats b=7", "a cancels R"];
    expect(play(steps)).toEqual(["R b pending"]);
  });

  test("an answer that the asker has refused counts for nothing", () => {
    const steps = [ASK, "b approves R", "b declines R", "a beats refuses=b:1"];
    expect(play(steps)).toEqual(["R b rejected by a:2"]);
  });

  test("a head that names another line covers nothing", () => {
    expect(play([ASK, "b approves R", "a beats wrong=b"])).toEqual(["R b pending"]);
  });
});

describe("a request to several is one for each", () => {
  const three = ["a", "b", "c"];
  const ask = `${ASK} to=b,c`;

  test("each answers for itself, and nobody for another", () => {
    expect(play([ask, "b approves R", "a beats"], three)).toEqual([
      "R b approved by a:2",
      "R c pending",
    ]);
    // Nor by a line that has the number of one that was read.
    const other = [`${ASK} to=b`, "b asks X", "c approves R", "a beats"];
    expect(play(other, three)).toEqual(["R b pending"]);
  });

  test("a cancellation ends all of them, or the one that it names", () => {
    expect(play([ask, "a cancels R"], three)).toEqual([
      "R b cancelled by a:2",
      "R c cancelled by a:2",
    ]);
    expect(play([ask, "a cancels R of=c"], three)).toEqual(["R b pending", "R c cancelled by a:2"]);
  });

  test("nobody but its asker ends it", () => {
    expect(play([ask, "b cancels R", "c expires R"], three)).toEqual([
      "R b pending",
      "R c pending",
    ]);
  });
});

describe("a name that is used twice", () => {
  test("the second request is void while the first is open, and not after it", () => {
    const again = "a asks S request=0BADCAFE01";
    expect(play([ASK, again, "b approves S", "a beats"])).toEqual(["R b pending", "S b void"]);
    expect(play([ASK, "b approves R", "a beats", again])).toEqual([
      "R b approved by a:2",
      "S b pending",
    ]);
    expect(play([ASK, "a cancels R", again, "b approves S", "a beats"])).toEqual([
      "R b cancelled by a:2",
      "S b approved by a:4",
    ]);
  });

  test("while it is not known whether the first is open, nothing is said of the second", () => {
    const steps = [ASK, "a beats b=9", "a asks S request=0badcafe01", "a cancels S"];
    expect(play(steps)).toEqual(["R b pending", "S b pending"]);
  });

  test("two askers may use one name", () => {
    const steps = [`${ASK} to=c`, "b asks S request=0badcafe01 to=c", "c approves S", "b beats"];
    expect(play(steps, ["a", "b", "c"])).toEqual(["R c pending", "S c approved by b:2"]);
  });
});

describe("what is no answer", () => {
  test.each([
    ["another name", "b approves R request=0badcafe02"],
    ["another thread", "b approves R thread=other"],
    ["an ack without approve", "b acks R request=0badcafe01"],
    ["a chained line that does not name the request's id", "b approves X request=0badcafe01"],
  ])("%s", (_what, step) => {
    expect(play([ASK, step, "a beats"])).toEqual(["R b pending"]);
  });

  test("an id of less than eight hex digits makes a plain request", () => {
    expect(play(["a asks R request=0badcaf", "b approves R", "a beats"])).toEqual([]);
  });
});

describe("agents that do not chain", () => {
  test("the first answer to an unchained asker settles it", () => {
    expect(play([`${ASK} plain`, "b declines R", "b approves R"])).toEqual(["R b rejected by b:1"]);
  });

  test("its own words count only where there is no answer, whatever comes first", () => {
    expect(play([`${ASK} plain`, "a cancels R plain"])).toEqual(["R b cancelled by a:2"]);
    expect(play([`${ASK} plain`, "a cancels R plain", "b approves R"])).toEqual([
      "R b approved by b:1",
    ]);
  });

  test("an unchained answer may name the request by its request id alone", () => {
    const steps = [ASK, "b approves R bare", "a beats"];
    expect(play(steps)).toEqual(["R b approved by a:2"]);
    // But not before it was asked.
    const early = ["a asks X", "b approves Q bare request=0badcafe01", ASK, "a beats"];
    expect(play(early)).toEqual(["R b pending"]);
  });
});

describe("the time of a request", () => {
  const ended = (steps: string[], at: number, change: object = {}, live = true) => {
    const script = new OutcomeScript("pairwise", ["a", "b"], steps);
    const { requests, logs } = script.fold(
      "a",
      script.events("a", () => ({ live })),
    );
    const now = { wallMs: at, monoMs: at };
    return decideRequests(requests, logs, script.env("a", change), now).map((effect) =>
      effect.do === "send" ? effect.draft.body : effect.do,
    );
  };
  const over = NOON + hours(24);

  test("is over after a day, and the asker's daemon says so", () => {
    const script = new OutcomeScript("pairwise", ["a", "b"], [ASK]);
    const id = script.idOf("R");
    const reason = "b did not answer in time";
    expect(ended([ASK], over - 1)).toEqual([]);
    expect(ended([ASK], over)).toEqual([{ corrects: id, expires: id, of: "b", reason }]);
  });

  test("or when it is due", () => {
    expect(ended([`${ASK} due=600`], NOON + 599_999)).toEqual([]);
    expect(ended([`${ASK} due=600`], NOON + 600_000)).toHaveLength(1);
  });

  test("an answer that we hold is not late", () => {
    expect(ended([ASK, "b approves R"], over)).toEqual([]);
    // Only one that we refuse is none.
    expect(ended([ASK, "b approves R", "a beats refuses=b:1"], over)).toHaveLength(1);
  });

  test("it waits until the addressee's log is read, unless that is held back", () => {
    expect(ended([ASK], over, { caughtUp: () => false })).toEqual([]);
    expect(ended([ASK], over, { caughtUp: () => false, holdsBack: () => true })).toHaveLength(1);
  });

  test("it ends once, and not what is history, a peer's, or settled", () => {
    expect(ended([ASK, "a expires R of=b"], over)).toEqual([]);
    expect(ended([ASK], over, {}, false)).toEqual([]);
    expect(ended(["b asks R request=0badcafe01"], over)).toEqual([]);
    expect(ended([ASK, "b approves R", "a beats"], over)).toEqual([]);
    expect(ended([ASK, "a asks S request=0badcafe01"], over)).toHaveLength(1);
  });
});

test("a request is owed until it is answered or has ended, and an ack is no answer", () => {
  const owed = (steps: string[]) => {
    const script = new OutcomeScript("pairwise", ["a", "b"], steps);
    return pendingView(script.fold("b"), script.env("b"), NOON).map(({ owed_by, due_at }) => ({
      owed_by,
      due_at,
    }));
  };
  const open = [{ owed_by: "b", due_at: new Date(NOON + hours(24)).toISOString() }];
  expect(owed([ASK])).toEqual(open);
  expect(owed([ASK, "b acks R"])).toEqual(open);
  expect(owed([ASK, "b approves R request=0badcafe02"])).toEqual(open);
  expect(owed([ASK, "b approves R"])).toEqual([]);
  expect(owed([ASK, "a cancels R"])).toEqual([]);
  expect(owed([ASK, "a asks S request=0badcafe01"])).toEqual(open);
});

test("an answer to a request answers no other thing that is owed under its name", () => {
  const script = new OutcomeScript(
    "pairwise",
    ["a", "b"],
    [ASK, "a asks S request=0badcafe02", "b approves S"],
  );
  const owed = pendingView(script.fold("b"), script.env("b"), NOON);
  expect(owed.map(({ event_id }) => event_id)).toEqual([script.idOf("R")]);
});

describe("names", () => {
  const script = new OutcomeScript("pairwise", ["a", "b"], [ASK, "b asks S request=0badcafe0123"]);
  const state = script.fold("a");
  const named = (name: string) =>
    requestsView(state.requests, state.logs, script.env("a"), name).map(({ event_id }) => event_id);

  test("a request is found by the beginning of its request id or event id", () => {
    expect(named("0BADCAFE01")).toEqual([script.idOf("R"), script.idOf("S")]);
    expect(named("0badcafe012")).toEqual([script.idOf("S")]);
    expect(named(script.idOf("R").slice(0, 6))).toEqual([script.idOf("R")]);
    expect(named("0badc")).toEqual([]);
  });

  test("no asker can take the event id of another request as the name of its own", () => {
    const honest = script.idOf("R");
    const thief = new OutcomeScript("pairwise", ["a", "b"], [ASK, `b asks S request=${honest}`]);
    const { requests, logs } = thief.fold("a");
    const found = requestsView(requests, logs, thief.env("a"), honest);
    expect(found.map(({ event_id }) => event_id)).toEqual([honest]);
  });
});

describe("a request that its addressee refuses", () => {
  const script = new OutcomeScript(
    "pairwise",
    ["a", "b"],
    ["a asks R request=0badcafe01 type=obey", "b declines R"],
  );
  const [asked, declined] = script.order;
  const fold = (tier: "TRUSTED" | "UNTRUSTED") => {
    const env = scriptEnv(script.script.layout, "b", { a: { tier } });
    const state = emptyState();
    const refused = tier === "UNTRUSTED" ? ("tier_refused" as const) : undefined;
    for (const line of [asked, declined].filter((each) => each !== undefined)) {
      const change = line.message.from === "a" ? { refused } : {};
      apply(state, lineEvent(line, "b", change), env);
    }
    const [view] = requestsView(state.requests, state.logs, env);
    return { state, env, view };
  };

  test("shows no word that a stranger has chosen, and says why it asks nothing", () => {
    const { view, state, env } = fold("UNTRUSTED");
    expect(view).toMatchObject({
      request_type: "(not shown)",
      subject: "(not shown: a is UNTRUSTED)",
      plan: null,
      refused: "tier_refused",
      // For everybody else it goes on: the asker's log decides.
      status: "pending",
    });
    expect(pendingView(state, env, NOON)).toEqual([]);
  });

  test("of one that is believed all is shown", () => {
    expect(fold("TRUSTED").view).toMatchObject({ request_type: "obey", refused: null });
  });
});

describe("bounds", () => {
  test("a log's requests beyond the limit push out its own settled ones first, and no other's", () => {
    const steps = Array.from({ length: 2_050 }, (_each, at) => {
      const id = (at + 0x10000000).toString(16);
      return `b asks S${at} request=${id}`;
    });
    const script = new OutcomeScript("pairwise", ["a", "b"], [ASK, ...steps]);
    const { requests } = script.fold("a");
    expect(requests.requests.size).toBe(2_049);
    expect(requests.requests.has(`${script.idOf("R")} b`)).toBe(true);
    expect(requests.requests.has(`${script.idOf("S0")} a`)).toBe(false);
    expect(requests.open.get("b_to_a")?.size).toBe(2_048);
    expect(requests.named.size).toBe(2_049);
  });

  test("answers to what was never asked are kept up to a limit, of each log", () => {
    const steps = Array.from(
      { length: 1_100 },
      (_each, at) => `b approves X${at} request=0badcafe`,
    );
    const script = new OutcomeScript("pairwise", ["a", "b"], ["a asks X", ...steps]);
    expect(script.fold("a").requests.ahead.get("b_to_a")?.length).toBeLessThanOrEqual(1_024);
  });

  test("more than 64 answers, and more than 64 of one name, are not read", () => {
    const answers = Array.from({ length: 70 }, () => "b approves R");
    const script = new OutcomeScript("pairwise", ["a", "b"], [ASK, ...answers]);
    const [request] = script.fold("a").requests.requests.values();
    expect(request?.answers).toHaveLength(64);
    const again = Array.from({ length: 70 }, (_each, at) => [
      `a asks S${at} request=0badcafe01`,
      `a cancels S${at}`,
    ]).flat();
    const many = new OutcomeScript("pairwise", ["a", "b"], again);
    const ends = many.requestEnds(many.fold("a"));
    expect(ends.filter((end) => end.endsWith("void"))).toHaveLength(5);
  });
});

test("what other programs call requests and answers is read", () => {
  const script = new OutcomeScript(
    "pairwise",
    ["a", "b"],
    [
      "a asks R request=0badcafe01 type=shutdown_request",
      "b approves R type=shutdown_response",
      "a beats",
    ],
  );
  const state = script.fold("a");
  const [view] = requestsView(state.requests, state.logs, script.env("a"));
  expect(view).toMatchObject({ request_type: "shutdown", status: "approved" });
});

test("a request spelled as an answer is an answer", () => {
  const script = new OutcomeScript("pairwise", ["a", "b"], [ASK]);
  const [asked] = script.order;
  const body = { request_id: "0badcafe01", request_type: "plan_approval_response", approve: false };
  const { correlationId: thread, id } = asked?.message ?? { correlationId: "", id: "" };
  const answer = script.script.say("b_to_a", NOON + 5, {
    type: "request",
    thread,
    body: { ...body, acks: id },
  });
  script.order.push(answer);
  script.take("a beats");
  expect(script.requestEnds(script.fold("a"))).toEqual(["R b rejected by a:2"]);
  const owed = pendingView(script.fold("b"), script.env("b"), NOON);
  expect(owed).toEqual([]);
});
