import { describe, expect, it } from "vitest";
import {
  addStep,
  fixStep,
  markEdits,
  setStatus,
  type Change,
} from "../../../src/plans/plan/changes.ts";
import { parsePlan, type PlanDocument } from "../../../src/plans/plan/parse-plan.ts";
import { stepNamed, titleOf, type Status } from "../../../src/plans/plan/plan.ts";
import { CSV_UPLOAD, planOf, stepsText } from "../plan-text.ts";

function changed({ source }: PlanDocument, change: Change, name = "plan.yaml"): string {
  if (!change.ok) throw new Error(change.reason);
  const text = source.withEdits(change.edits);
  expect(parsePlan(Buffer.from(text), name).ok).toBe(true);
  return text;
}

function reason(change: Change): string {
  return change.ok ? "it is allowed" : change.reason;
}

describe("a change of a plan", () => {
  it("touches its own row alone: comments and order stay", () => {
    const before = planOf(CSV_UPLOAD);
    const text = changed(before, setStatus(before.plan, "1", "in_progress"));
    expect(text).toBe(CSV_UPLOAD.replace("status: pending", "status: in_progress"));
    const after = planOf(text);
    const added = changed(after, addStep(after.plan, { id: "5", description: "d", owner: "self" }));
    expect(added.startsWith(text.trimEnd())).toBe(true);
    expect(added.slice(text.trimEnd().length)).toBe(
      '\n  - id: "5"\n    description: d\n    owner: self\n',
    );
  });

  it("keeps JSON as it is laid out", () => {
    const json =
      '{\n    "plan_id": "p",\n    "steps": [ {"id": 1.0, "description": "a", "owner": "x", "status": "pending"} ]\n}\n';
    const before = planOf(json, "plan.json");
    const text = changed(before, setStatus(before.plan, "1.0", "complete"), "plan.json");
    expect(text).toBe(json.replace("pending", "complete"));
  });

  it("begins no step whose dependencies are open", () => {
    const { plan } = planOf(stepsText("a self", "b self a"));
    expect(reason(setStatus(plan, "b", "in_progress"))).toBe('step "b" waits for "a" (pending)');
    expect(reason(setStatus(plan, "b", "complete"))).toBe('step "b" waits for "a" (pending)');
    expect(setStatus(plan, "b", "blocked").ok).toBe(true);
    expect(reason(setStatus(plan, "x", "complete"))).toBe('there is no step "x"; there are a, b');
  });

  it.each<[Status, number]>([
    ["pending", 1],
    ["in_progress", 2],
    ["complete", 2],
    ["blocked", 2],
  ])("%s → pending: attempt %s", (from, attempt) => {
    const document = planOf(`${stepsText("a self")}    status: ${from}\n`);
    const after = planOf(changed(document, setStatus(document.plan, "a", "pending")));
    expect(stepNamed(after.plan, "a")).toMatchObject({ status: "pending", attempt });
  });

  it("a step that corrects another one comes before it, and the failed one is tried again", () => {
    const document = planOf(stepsText("a self", "b bob a src/**", "c self b"));
    const failed = stepNamed(document.plan, "b");
    if (failed === undefined) throw new Error("there is no b");
    const after = planOf(changed(document, fixStep(document.plan, failed, "two tests fail"))).plan;
    expect(after.steps.map(({ id, deps, attempt, status }) => [id, deps, attempt, status])).toEqual(
      [
        ["a", [], 1, "pending"],
        ["b", ["a", "b-fix-1"], 2, "pending"],
        ["c", ["b"], 1, "pending"],
        ["b-fix-1", ["a"], 1, "pending"],
      ],
    );
    expect(after.steps[3]).toMatchObject({ owner: "bob", files: ["src/**"] });
    expect(after.steps[3]?.description).toContain("two tests fail");
    expect(reason(addStep(after, { id: "b-fix-1", description: "d", owner: "x" }))).toBe(
      'there is a step "b-fix-1" already',
    );
  });

  it("one that breaks the plan is seen as soon as it is read again", () => {
    const document = planOf(stepsText("a self"));
    const change = addStep(document.plan, { id: "b", description: "d", owner: "x", deps: ["z"] });
    if (!change.ok) throw new Error(change.reason);
    const text = document.source.withEdits(change.edits);
    expect(parsePlan(Buffer.from(text), "plan.yaml").ok).toBe(false);
  });
});

it("line ends of Windows stay in a plan, and reach no title", () => {
  const windows =
    'plan_id: p\r\nsteps:\r\n  - id: a # first\r\n    owner: self\r\n    description: "one\\r\\ntwo"\r\n';
  const { plan, source } = planOf(windows);
  const [step] = plan.steps;
  if (step === undefined) throw new Error("no step");
  expect(titleOf(step)).toBe("one");
  const edited = source.withEdits(markEdits(step, "complete"));
  expect(edited).toBe(`${windows}    status: complete\r\n`);
});
