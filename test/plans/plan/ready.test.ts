import { describe, expect, it } from "vitest";
import { graphText } from "../../../src/plans/plan/graph.ts";
import { agentOf, parseRoles, unknownOwners } from "../../../src/plans/plan/owners.ts";
import { readySteps, startable, isPlanned } from "../../../src/plans/plan/schedule.ts";
import { planRequestId } from "../../../src/plans/plan/plan.ts";
import { CSV_UPLOAD, planOf, problemsOf, stepsText } from "../plan-text.ts";

const begun = (text: string, most = 9) => startable(planOf(text).plan, most).map(({ id }) => id);

describe("what may be begun", () => {
  it("waits for its dependencies", () => {
    expect(readySteps(planOf(CSV_UPLOAD).plan).map(({ id }) => id)).toEqual(["1"]);
    const done = CSV_UPLOAD.replace("status: pending", "status: complete");
    expect(readySteps(planOf(done).plan).map(({ id }) => id)).toEqual(["2", "3"]);
  });

  it.each([
    ["steps of one owner, one after the other", ["a ann", "b ann"], ["a"]],
    ["steps of one owner that are parallel", ["a ann - - |", "b ann - - |"], ["a", "b"]],
    ["one of the two parallel is not enough", ["a ann - - |", "b ann"], ["a"]],
    ["different owners", ["a ann", "b bob"], ["a", "b"]],
    ["different owners on one file", ["a ann - x.ts", "b bob - ./x.ts"], ["a"]],
    [
      "a folder and a file in it",
      ["a ann - src/", "b bob - src/x.ts", "c cat - docs/"],
      ["a", "c"],
    ],
    ["patterns that meet", ["a ann - src/**/x.ts", "b bob - src/api/**"], ["a"]],
    ["patterns that do not", ["a ann - src/*.ts", "b bob - src/*.md"], ["a", "b"]],
  ])("%s", (_what, rows, expected) => {
    expect(begun(stepsText(...rows))).toEqual(expected);
  });

  it("is not more at once than allowed, with what is in progress", () => {
    const text = stepsText("a ann", "b bob", "c cat", "d dan");
    expect(begun(text, 2)).toEqual(["a", "b"]);
    const running = text.replace("owner: ann", "owner: ann\n    status: in_progress");
    expect(begun(running, 2)).toEqual(["b"]);
  });

  it("on the same files is warned about", () => {
    expect(problemsOf(stepsText("a ann - src/", "b bob - src/x.ts"))).toEqual([
      'plan.yaml:10:12: warning: step "b" and step "a" could share time but for "src/", which both change: they run one after the other',
    ]);
    expect(problemsOf(stepsText("a ann - src/", "b bob a src/x.ts"))).toEqual([]);
  });
});

it.each([
  ["src/", "src/a/b.ts", true],
  ["src", "./src/a.ts", true],
  ["src/*.ts", "src/a.ts", true],
  ["src/*.ts", "src/a/b.ts", false],
  ["a.ts", "b.ts", false],
  ["src", "src/../secret", false],
  ["**", "anything/at/all", true],
])("%s names %s: %s", (file, path, expected) => {
  expect(isPlanned([file], path)).toBe(expected);
});

describe("owners", () => {
  const roles = new Map([
    ["Backend", "bob"],
    ["Boss", "self"],
  ]);
  const owners = { runner: "lead", roster: ["lead", "bob"], roles };

  it("are handles, roles, or the runner", () => {
    const named = ["bob", "Backend", "self", "Coordinator", "lead", "Boss", "eve"];
    expect(named.map((owner) => agentOf(owner, owners))).toEqual([
      ...["bob", "bob", "self", "self", "self", "self", undefined],
    ]);
    const alone = { runner: undefined, roster: [], roles };
    expect(agentOf("anybody", alone)).toBe("self");
  });

  it("that nobody is are told with what there is", () => {
    const [fault] = unknownOwners(planOf(stepsText("a eve")).plan, owners);
    expect(fault?.text).toBe(
      'step "a" belongs to "eve", who is not on this wire and no role of agent/roles.json; there are: lead, bob, Backend, Boss, self',
    );
  });

  it("a file of roles holds handles", () => {
    expect(parseRoles(Buffer.from('{"Backend":"bob"}'))).toMatchObject({ ok: true });
    expect(parseRoles(Buffer.from('{"Backend":"../bob"}'))).toMatchObject({ ok: false });
    expect(parseRoles(Buffer.from("[]"))).toMatchObject({ ok: false });
  });
});

it("a request's name follows from plan, step and attempt, with a NUL between them", () => {
  // printf 'p\0a\0001' | sha256sum
  expect(planRequestId("p", "a", 1)).toBe("ce1a5a54294bd8ab");
  expect(planRequestId("p", "a", 2)).not.toBe(planRequestId("p", "a", 1));
  expect(planRequestId("pa", "", 1)).not.toBe(planRequestId("p", "a", 1));
});

describe("the graph", () => {
  it("of the four steps", () => {
    const { plan } = planOf(CSV_UPLOAD);
    expect(graphText(plan, "text")).toMatchSnapshot("text");
    expect(graphText(plan, "mermaid")).toMatchSnapshot("mermaid");
  });

  it("draws no word of a plan", () => {
    const evil = 'x"] --> y[<script>alert(1)</script>\\n\\e[31m';
    const text = stepsText("a self").replace("do a", JSON.stringify(evil));
    const label = graphText(planOf(text).plan, "mermaid").split("\n")[1] ?? "";
    expect(label.match(/["[\]<>]/gu)).toEqual(["[", '"', "<", ">", '"', "]"]);
  });
});
