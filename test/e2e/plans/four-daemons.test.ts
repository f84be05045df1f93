import { readFileSync } from "node:fs";
import { afterEach, expect, it } from "vitest";
import { removeWires } from "../../support/processes/live-wire.ts";
import { EXEC, planTeam } from "../../support/processes/plan-team.ts";
import { until } from "../../support/processes/real-processes.ts";

afterEach(removeWires);

const CSV_UPLOAD = readFileSync(
  new URL("../../data/plans/csv-upload.yaml", import.meta.url),
  "utf8",
);
const ROLES = JSON.stringify({ Architect: "ann", Backend: "bob", Frontend: "cat" });

it("the four steps of a CSV upload run to their final report over four daemons", async () => {
  const team = await planTeam(["lead", "ann", "bob", "cat"]);
  const file = team.write("agent/csv-upload.yaml", CSV_UPLOAD);
  team.write("agent/roles.json", ROLES);
  // Each of the two ends only when the other one has begun.
  team.behave({ 2: "meet 3", 3: "meet 2" });
  for (const handle of ["ann", "bob", "cat"]) await team.worker(handle);
  expect((await team.done("lead", "plan", "validate", file)).code).toBe(0);
  const ended = await team.done("lead", "plan", "run", file, "--exec", EXEC, "--yes");
  expect([ended.code, ended.stderr]).toEqual([0, ""]);
  expect(team.worked().map((row) => row.split(" ")[1])).toHaveLength(4);
  const final = team.finalReport("csv-upload");
  expect(final.ok).toBe(true);
  expect(final.steps.map((step) => [step.id, step.outcome, step.reported_by])).toEqual([
    ["1", "success", "ann"],
    ["2", "success", "bob"],
    ["3", "success", "cat"],
    ["4", "success", null],
  ]);
  const words = (text: string) => text.split("\n").filter((row) => row.includes("#"));
  expect(words(team.read("agent/csv-upload.yaml"))).toEqual(words(CSV_UPLOAD));
  const requests = team.said("request").map(({ body }) => (body["step"] as { id: string }).id);
  expect(requests.toSorted()).toEqual(["1", "2", "3"]);
  expect(team.said("ship")).toHaveLength(3);
  expect(team.read("agent/artifacts/plans/csv-upload/report.md")).toContain(
    "# Plan csv-upload: done",
  );
});

it("steps on the same files are never worked at together, others are", async () => {
  const team = await planTeam(["lead", "ann", "bob", "cat"]);
  const step = (id: string, owner: string, files: string) =>
    `  - {id: ${id}, description: do ${id}, owner: ${owner}, files: [${files}], parallel: true}\n`;
  const steps = [
    step("a", "ann", "src/x.ts"),
    step("b", "bob", "src/"),
    step("c", "cat", "docs/"),
    step("d", "ann", "src/**"),
    step("e", "cat", "web/"),
  ];
  const file = team.write("plan.yaml", `plan_id: p\nsteps:\n${steps.join("")}`);
  team.behave({ a: "alone", b: "alone", d: "alone", c: "meet e", e: "meet c" });
  await team.worker("ann");
  await team.worker("bob");
  await team.worker("cat", "--max-parallel", "2");
  const ended = await team.done("lead", "plan", "run", file, "--yes", "--json");
  expect([ended.code, ended.stderr]).toEqual([0, ""]);
  expect(team.worked().toSorted()).toEqual(["a", "b", "c", "d", "e"].map((id) => `p ${id} 1`));
});

it("a step that fails gets one that corrects it; what fails again is blocked, and the rest goes on", async () => {
  const team = await planTeam(["lead", "ann", "bob"]);
  const file = team.write(
    "plan.yaml",
    "plan_id: p\nsteps: # all of them\n  - {id: a, description: do a, owner: ann}\n  - {id: b, description: do b, owner: bob}\n  - {id: c, description: do c, owner: ann, deps: [a]}\n  - {id: d, description: do d, owner: bob, deps: [b]}\n",
  );
  team.behave({ a: "fail-once", b: "fail" });
  await team.worker("ann");
  await team.worker("bob");
  const ended = await team.done("lead", "plan", "run", file, "--yes");
  expect([ended.code, ended.stderr]).toEqual([1, ""]);
  expect(team.worked().toSorted()).toEqual([
    ...["p a 1", "p a 2", "p a-fix-1 1", "p b 1", "p b 2", "p b-fix-1 1", "p c 1"],
  ]);
  expect(ended.stdout).toContain(
    "step b is blocked: it ended with failure: all tests fail (deaddrop plan set b pending tries it again)",
  );
  // Nobody has to watch the run: the question is kept, and is a notice, once.
  const asked = async () => {
    const all = await team.wire.json<{ kind: string; text: string }[]>("lead", "notices");
    return all.filter(({ kind }) => kind === "plan_asks").map(({ text }) => text);
  };
  const question = `The run of plan "p" asks its operator about step "b": deaddrop plan status ${file}`;
  expect(await asked()).toEqual([question]);
  const status = await team.done("lead", "plan", "status", file);
  expect(status.stdout).toContain("step b is blocked: it ended with failure: all tests fail");
  expect((await team.done("lead", "plan", "run", file, "--yes")).code).toBe(1);
  expect(await asked()).toEqual([question]);
  const { steps } = team.finalReport("p");
  const rows = steps.map(({ id, status, attempt }) => `${id} ${status} ${attempt}`);
  expect(rows.toSorted()).toEqual([
    ...["a complete 2", "a-fix-1 complete 1", "b blocked 2", "b-fix-1 complete 1"],
    ...["c complete 1", "d pending 1"],
  ]);
  expect(team.read("plan.yaml")).toContain("# all of them");

  // The operator has corrected it, and says so.
  team.behave({});
  expect((await team.done("lead", "plan", "set", "b", "pending", "--plan", file)).code).toBe(0);
  expect((await team.done("lead", "plan", "status", file)).stdout).not.toContain("is blocked");
  const again = await team.done("lead", "plan", "run", file, "--yes");
  expect([again.code, again.stderr]).toEqual([0, ""]);
  expect(team.worked().slice(-2)).toEqual(["p b 3", "p d 1"]);
});

it("a person's edit during a run counts; a broken one is refused with its line, and the old plan goes on", async () => {
  const team = await planTeam(["lead", "ann"]);
  const text =
    "plan_id: p\nsteps:\n  - {id: a, description: do a, owner: ann}\n  - {id: b, description: do b, owner: ann, deps: [a]}\n";
  const file = team.write("plan.yaml", text.replace("owner: ann}", "owner: nobody}"));
  const refused = await team.done("lead", "plan", "run", file, "--yes");
  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(/plan\.yaml:3:\d+: error: .*"nobody"/u);
  expect(team.said("request")).toEqual([]);
  team.write("plan.yaml", text);
  team.behave({ a: "hang" });
  await team.worker("ann");
  const running = team.run("lead", "plan", "run", file, "--yes");
  await until("a is worked at", () => team.worked().includes("p a 1"));
  team.write("plan.yaml", text.replace("owner: ann, deps", "owner: ann, deps: [x], deps"));
  await until("the broken edit is told", () =>
    running.stdout().includes("the old one stays in force"),
  );
  expect(running.stdout()).toContain("plan.yaml:4:");
  expect(running.stdout()).toContain('the key "deps" is there twice');
  // Saved from an editor that knows nothing of what has happened meanwhile.
  team.write(
    "plan.yaml",
    `${text}  # one more\n  - {id: c, description: do c, owner: ann, deps: [b]}\n`,
  );
  team.write("go-on", "");
  const ended = await running.ended;
  expect([ended.code, ended.stderr]).toEqual([0, ""]);
  expect(team.worked()).toEqual(["p a 1", "p b 1", "p c 1"]);
  expect(team.read("plan.yaml")).toContain("# one more");
  expect(team.said("request")).toHaveLength(3);
});
