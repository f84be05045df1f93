import { describe, expect, it } from "vitest";
import {
  decidePlan,
  type Dispatch,
  type LocalWork,
  type WireReport,
} from "../../../src/plans/coordinator/decide.ts";
import { readStepRequest, stepRequest } from "../../../src/plans/coordinator/step-request.ts";
import { readReport } from "../../../src/plans/report/report.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { planOf, stepsText } from "../plan-text.ts";

const AT = 1_000_000;
const LIMITS = { maxParallel: 4, stepTimeoutMs: 60_000, maxFixes: 1 };
const OWNERS = { runner: "lead", roster: ["lead", "bob", "cat"], roles: new Map<string, string>() };

let ids = 0;
function said(from: string, fields: object = {}): WireReport {
  const report = {
    step_id: "a",
    outcome: "success",
    details: "",
    timestamp: "2026-11-24T09:30:00Z",
    ...fields,
  };
  ids += 1;
  return { eventId: String(ids).padStart(8, "0").padEnd(64, "0"), from, read: readReport(report) };
}

function asked(reports: readonly WireReport[] = [], fields: Partial<Dispatch> = {}): Dispatch {
  return {
    ...{ eventId: "e".repeat(64), asker: "lead", target: "bob", answer: "accepted", reason: null },
    ...{ askedAtMs: AT, reports },
    ...fields,
  };
}

interface Scene {
  readonly status?: string;
  readonly attempt?: number;
  readonly dispatch?: Dispatch;
  readonly local?: LocalWork;
  readonly owner?: string;
  readonly nowMs?: number;
}

/** What is decided for step `a` of bob, with step `b` of cat behind it: each effect in one row. */
function decided({
  status = "in_progress",
  attempt = 1,
  owner = "bob",
  ...scene
}: Scene): string[] {
  const text = stepsText(`a ${owner} - src/`, "b cat a").replace(
    `owner: ${owner}`,
    `owner: ${owner}\n    status: ${status}\n    attempt: ${attempt}`,
  );
  const { plan } = planOf(text);
  const { dispatch, local, nowMs = AT } = scene;
  const facts = {
    dispatches: new Map(dispatch === undefined ? [] : [["a", dispatch]]),
    local: new Map(local === undefined ? [] : [["a", local]]),
  };
  return decidePlan({ plan, facts, owners: OWNERS }, nowMs, LIMITS).map((effect) => {
    switch (effect.do) {
      case "mark":
        return `mark ${effect.step} ${effect.status}`;
      case "send":
        return `send ${effect.step} to ${effect.to}`;
      case "keep_report":
        return `keep ${effect.report.report.outcome} by ${effect.report.by ?? "us"}`;
      case "amend":
        return `amend ${effect.step}: ${effect.error}`;
      case "tell":
        return `${effect.about.level}: ${effect.text}`;
      case "end":
        return `end ${effect.outcome}`;
      case "run":
        return `run ${effect.step}`;
    }
  });
}

const BLOCKED = "(deaddrop plan set a pending tries it again)";

describe("what the coordinator does", () => {
  it.each<[string, Scene, string[]]>([
    ["a ready step is sent before it is marked", { status: "pending" }, ["send a to bob"]],
    ["one that is marked and not on the wire is sent", {}, ["send a to bob"]],
    ["one that is on the wire is never sent again", { dispatch: asked() }, []],
    [
      "also where the file says that it was not",
      { status: "pending", dispatch: asked() },
      ["mark a in_progress"],
    ],
    [
      "its owner's report completes it",
      { dispatch: asked([said("bob")]) },
      ["keep success by bob", "mark a complete"],
    ],
    [
      "then the next one is ready",
      { status: "complete", dispatch: asked([said("bob")]) },
      ["send b to cat"],
    ],
    [
      "a second report is named",
      { dispatch: asked([said("bob"), said("bob", { outcome: "failure", error: "x" })]) },
      [
        expect.stringContaining("warns: step a: bob reported a second time"),
        "keep success by bob",
        "mark a complete",
      ],
    ],
    [
      "somebody else's report does not count",
      { dispatch: asked([said("cat")]) },
      [
        expect.stringMatching(
          /^warns: step a: cat reported .* but the step is bob's: the report does not count$/u,
        ),
      ],
    ],
    [
      "a report about another step neither",
      { dispatch: asked([said("bob", { step_id: "b" })]) },
      [expect.stringMatching(/bob reported here about step b .*: the report does not count$/u)],
    ],
    [
      "an invalid one neither",
      { dispatch: asked([said("bob", { outcome: "fine" })]) },
      [expect.stringMatching(/the report of bob .* does not count: outcome is "fine"/u)],
    ],
    [
      "a report that claims other files counts, and they are named",
      { dispatch: asked([said("bob", { artifacts: [{ file: "etc/x", status: "changed" }] })]) },
      ["keep success by bob", "warns: step a: etc/x is not one of its files", "mark a complete"],
    ],
    [
      "a failure gets a step that corrects it",
      { dispatch: asked([said("bob", { outcome: "failure", error: "two tests fail" })]) },
      [
        "keep failure by bob",
        expect.stringContaining("warns: step a: it ended with failure"),
        "amend a: two tests fail",
      ],
    ],
    [
      "and is blocked when that did not help",
      { attempt: 2, dispatch: asked([said("bob", { outcome: "partial", error: "half" })]) },
      [
        "keep partial by bob",
        `asks: step a is blocked: it ended with partial: half ${BLOCKED}`,
        "mark a blocked",
      ],
    ],
    [
      "blocked is blocked",
      { dispatch: asked([said("bob", { outcome: "blocked", error: "no key" })]) },
      [
        "keep blocked by bob",
        `asks: step a is blocked: it ended with blocked: no key ${BLOCKED}`,
        "mark a blocked",
      ],
    ],
    [
      "an owner may refuse",
      { dispatch: asked([], { answer: "refused", reason: "not mine" }) },
      [`asks: step a is blocked: bob refused it: not mine ${BLOCKED}`, "mark a blocked"],
    ],
    [
      "a request that ended without an answer",
      { dispatch: asked([], { answer: "ended" }) },
      [
        `asks: step a is blocked: the request to bob ended without an answer ${BLOCKED}`,
        "mark a blocked",
      ],
    ],
    [
      "a worker that hangs",
      { dispatch: asked(), nowMs: AT + 60_000 },
      [`asks: step a is blocked: bob has not reported within 60 s ${BLOCKED}`, "mark a blocked"],
    ],
    [
      "a report that is there when the time is over counts",
      { dispatch: asked([said("bob")]), nowMs: AT + 60_000 },
      ["keep success by bob", "mark a complete"],
    ],
    [
      "one that comes after the block is named",
      { status: "blocked", dispatch: asked([said("bob")]) },
      [
        "warns: step a: bob reported success after the step was blocked: deaddrop plan set a complete takes it",
        "end stuck",
      ],
    ],
    ["nothing more can be begun", { status: "blocked" }, ["end stuck"]],
    [
      "an owner who has left",
      { owner: "eve" },
      [
        `asks: step a is blocked: its owner eve is not on this wire: name another one in the plan ${BLOCKED}`,
        "mark a blocked",
      ],
    ],
    ["our own step is worked at here", { owner: "self" }, ["run a"]],
    ["once", { owner: "self", local: { isBegun: true, isRunning: true, report: undefined } }, []],
    [
      "also when we ended meanwhile",
      { owner: "self", local: { isBegun: true, isRunning: false, report: undefined } },
      [
        expect.stringContaining("the run ended after it was begun and before its report"),
        "mark a blocked",
      ],
    ],
    [
      "a step of an earlier coordinator's that we own now was sent all the same",
      { owner: "self", dispatch: asked([said("bob")]) },
      ["keep success by bob", "mark a complete"],
    ],
  ])("%s", (_what, scene, effects) => {
    expect(decided(scene)).toEqual(effects);
  });

  it("ends when all is complete", () => {
    const { plan } = planOf(`${stepsText("a self")}    status: complete\n`);
    const facts = { dispatches: new Map<string, Dispatch>(), local: new Map<string, LocalWork>() };
    expect(decidePlan({ plan, facts, owners: OWNERS }, AT, LIMITS)).toEqual([
      { do: "end", outcome: "complete" },
    ]);
  });
});

describe("the request for a step", () => {
  const step = planOf(stepsText("a bob - src/")).plan.steps[0];
  if (step === undefined) throw new Error("there is no step");
  const request = stepRequest("p", "0".repeat(64), step);
  const read = (body: object) => readStepRequest(fromPlain(body));

  it("is read as it was made; who asks and when does not change the work", () => {
    const first = read(request);
    expect(first).toMatchObject({
      ok: true,
      request: { plan_id: "p", step: { id: "a", files: ["src/"] } },
    });
    const again = read({ ...request, plan_hash: "1".repeat(64) });
    const other = read({ ...request, step: { ...request.step, description: "rm everything" } });
    if (!first.ok || !again.ok || !other.ok) throw new Error("one of them is refused");
    expect(again.digest).toBe(first.digest);
    expect(other.digest).not.toBe(first.digest);
  });

  it.each([
    [
      "a name that does not follow from it",
      { request_id: "0".repeat(16) },
      /^request_id is .*; expected [0-9a-f]{16}$/u,
    ],
    ["no attempt", { attempt: 0 }, /attempt/u],
    ["an attempt that is no number", { attempt: "1" }, /attempt/u],
    ["no plan", { plan_id: undefined }, /plan_id/u],
    ["a plan id that is a path", { plan_id: "../x" }, /plan_id/u],
    ["no step", { step: 7 }, /steps\[0\]/u],
    [
      "a step without lists",
      { step: { id: "a", description: "d", owner: "bob" } },
      /have to be lists/u,
    ],
    ["a command that is no text", { step: { ...request.step, commands: [{}] } }, /commands\[0\]/u],
  ])("with %s is refused", (_what, fields, detail) => {
    const refused = read({ ...request, ...fields });
    expect(refused.ok ? "it is read" : refused.detail).toMatch(detail);
  });
});
