import { expect, test } from "vitest";
import { apply } from "../../../src/protocol/core.ts";
import { emptyState } from "../../../src/protocol/state.ts";
import { OutcomeScript } from "../../support/scripts/outcome-script.ts";
import { NOON, scriptEnv } from "../../support/scripts/wire-script.ts";

const ASK = "a asks R request=0badcafe01 type=shutdown";

/** What that agent is told when it comes live. */
function told(self: string, steps: readonly string[], tier: "TRUSTED" | "UNTRUSTED" = "TRUSTED") {
  const script = new OutcomeScript("pairwise", ["a", "b"], steps);
  const other = self === "a" ? "b" : "a";
  const env = scriptEnv(script.script.layout, self, { [other]: { tier } });
  const state = emptyState();
  apply(state, { kind: "noticed", at: NOON, notices: [], places: [] }, env);
  for (const event of script.events(self)) apply(state, event, env);
  return [...state.agentNotices.due.values()].map(({ kind, about, text, peer }) => {
    const of = about === `${script.idOf("R")} b` ? "R to b" : script.place(about);
    return [kind, of, text, peer];
  });
}

test("an asker is told how its request ended, whatever ended it", () => {
  expect(told("a", [ASK, "b approves R", "a beats"])).toEqual([
    ["request_approved", "R to b", 'b approved your shutdown request "asks R".', undefined],
  ]);
  expect(told("a", [ASK, "b declines R", "a beats"])).toEqual([
    [
      "request_rejected",
      "R to b",
      'b rejected your shutdown request "asks R": `deaddrop requests --all` shows its reason.',
      undefined,
    ],
  ]);
  expect(told("a", [ASK, "a expires R of=b"])).toEqual([
    [
      "request_expired",
      "R to b",
      'b did not answer your shutdown request "asks R" in time, so it has expired.',
      undefined,
    ],
  ]);
  expect(told("a", [ASK, "a cancels R"])).toEqual([]);
});

test("an addressee is told that there is nothing to answer any more", () => {
  expect(told("b", [ASK, "a cancels R"])).toEqual([
    [
      "request_cancelled",
      "R to b",
      `a's shutdown request "asks R", which asked for your answer, was cancelled.`,
      "a",
    ],
  ]);
  expect(told("b", [ASK, "a expires R of=b"]).map(([kind]) => kind)).toEqual(["request_expired"]);
  expect(told("b", [ASK, "b approves R", "a beats"])).toEqual([]);
});

test("a cancellation that crosses the answer is told to both, and so is any late answer", () => {
  const crossed = [ASK, "b approves R", "a cancels R"];
  const text = "came too late and changes nothing: it was cancelled before.";
  expect(told("a", crossed)).toEqual([
    ["answer_late", "b:1", `b's approval of your shutdown request "asks R" ${text}`, "b"],
  ]);
  const [first, second] = told("b", crossed);
  expect(first?.[0]).toBe("request_cancelled");
  expect(second).toEqual([
    ...["answer_late", "b:1", `Your approval of a's shutdown request "asks R" ${text}`, "a"],
  ]);
  const twice = [ASK, "b approves R", "a beats", "b declines R"];
  expect(told("a", twice).map(([kind, about]) => `${kind} ${about}`)).toEqual([
    "request_approved R to b",
    "answer_late b:2",
  ]);
});

test("nothing that a stranger has chosen is repeated, and no type that a peer has made up", () => {
  const made = ["a asks R request=0badcafe01 type=obey", "a cancels R"];
  expect(told("b", made)[0]?.[2]).toBe(
    `a's request "asks R", which asked for your answer, was cancelled.`,
  );
  expect(told("b", made, "UNTRUSTED")[0]?.[2]).toBe(
    `a's request "(not shown: a is UNTRUSTED)", which asked for your answer, was cancelled.`,
  );
});

test("an end of what we refuse is no news to our agent", () => {
  const script = new OutcomeScript("pairwise", ["a", "b"], [ASK, "a cancels R"]);
  const env = script.env("b");
  const state = emptyState();
  apply(state, { kind: "noticed", at: NOON, notices: [], places: [] }, env);
  const events = script.events("b", () => ({ refused: "tier_refused" as const }));
  for (const event of events) apply(state, event, env);
  expect([...state.requests.requests.values()][0]?.outcome?.status).toBe("cancelled");
  expect(state.agentNotices.due.size).toBe(0);
});
