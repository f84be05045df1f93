import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { planRequestId } from "../../../src/plans/plan/plan.ts";
import { openWire, type Wire } from "../../../src/library/open-wire.ts";
import { removeWires } from "../../support/processes/live-wire.ts";
import { EXEC, planTeam, type PlanTeam } from "../../support/processes/plan-team.ts";
import { until } from "../../support/processes/real-processes.ts";

afterEach(removeWires);

const PLAN =
  "plan_id: p\nsteps:\n  - {id: a, description: do a, owner: ann, files: [a]}\n  - {id: b, description: do b, owner: bob, deps: [a], files: [b]}\n";
const TIME = "2026-11-24T09:30:00Z";

const as = (team: PlanTeam, handle: string): Promise<Wire> =>
  openWire(team.wire.dir, { as: handle, env: team.wire.env });

/** The request for a step, as somebody may spell it. */
function asked(step: object, fields: object = {}) {
  const full = {
    description: "d",
    owner: "ann",
    deps: [],
    criteria: [],
    commands: [],
    files: [],
    ...step,
  };
  const { id } = full as unknown as { id: string };
  return {
    ...{ request_id: planRequestId("p", id, 1), request_type: "plan_step", plan_id: "p" },
    ...{ plan_hash: "0".repeat(64), attempt: 1, skill: "execute", step: full, state: "a step" },
    ...fields,
  };
}

it("reports by others, about other steps, a second time, and of other files: each is named, none is taken for another", async () => {
  const team = await planTeam(["lead", "ann", "bob", "eve"]);
  const file = team.write("plan.yaml", PLAN);
  const [ann, bob, eve] = await Promise.all(
    ["ann", "bob", "eve"].map((handle) => as(team, handle)),
  );
  if (ann === undefined || bob === undefined || eve === undefined) throw new Error("nobody");
  const running = team.run("lead", "plan", "run", file, "--yes");
  const requestOf = (step: string) =>
    until(`the request for ${step}`, () => {
      const found = team
        .said("request")
        .find(({ body }) => (body["step"] as { id: string }).id === step);
      return found as { event_id: string; correlation_id: string } | undefined;
    });
  const ship = (from: Wire, thread: string, report: object) =>
    from.send({
      ...{ to: ["lead"], type: "ship", subject: "report", correlationId: thread },
      body: {
        state: "done",
        manifest_digest: "0".repeat(64),
        report: { details: "", timestamp: TIME, ...report },
      },
    });
  const told = (words: string) => until(words, () => running.stdout().includes(words));

  const a = await requestOf("a");
  await ship(eve, a.correlation_id, { step_id: "a", outcome: "success" });
  await told("but the step is ann's: the report does not count");
  await ship(ann, a.correlation_id, { step_id: "b", outcome: "success" });
  await told("ann reported here about step b");
  await ship(ann, a.correlation_id, { step_id: "a", outcome: "fine" });
  await told('does not count: outcome is "fine"');
  expect(team.said("request")).toHaveLength(1);
  await ship(ann, a.correlation_id, {
    step_id: "a",
    outcome: "success",
    artifacts: [{ file: "b", status: "changed" }],
  });
  await told("step a: b is not one of its files");
  const b = await requestOf("b");
  await ship(ann, a.correlation_id, { step_id: "a", outcome: "failure", error: "no, it failed" });
  await told("ann reported a second time");
  await ship(bob, b.correlation_id, { step_id: "b", outcome: "success" });
  const ended = await running.ended;
  for (const wire of [ann, bob, eve]) wire.close();
  expect([ended.code, ended.stderr]).toEqual([1, ""]);
  const { steps, checks } = team.finalReport("p");
  expect(steps.map(({ id, outcome }) => [id, outcome])).toEqual([
    ["a", "success"],
    ["b", "success"],
  ]);
  expect(checks.filter(({ ok }) => ok === false).map(({ name }) => name)).toEqual([
    "planned_files",
  ]);
});

it("a request by somebody who does not run the plan neither counts as sent nor keeps its owner from the work", async () => {
  const team = await planTeam(["lead", "ann", "bob", "eve"]);
  const eve = await as(team, "eve");
  const body = asked({ id: "a", description: "do something else" });
  await eve.send({ to: ["ann"], type: "request", subject: "step a", body });
  const file = team.write("plan.yaml", PLAN);
  await team.worker("ann");
  await team.worker("bob", "--from", "lead");
  await eve.send({ to: ["bob"], type: "request", subject: "step b", body: asked({ id: "b" }) });
  const ended = await team.done("lead", "plan", "run", file, "--yes");
  eve.close();
  expect([ended.code, ended.stderr]).toEqual([0, ""]);
  // Ann was asked for two works of one name; bob takes steps of lead alone.
  expect(team.worked().toSorted()).toEqual(["p a 1", "p a 1", "p b 1"]);
  expect(team.said("request").filter(({ from }) => from === "lead")).toHaveLength(2);
});

it("the same work asked for by two coordinators is done once; what is no step is refused", async () => {
  const team = await planTeam(["lead", "deputy", "ann"]);
  const [lead, deputy] = await Promise.all(["lead", "deputy"].map((handle) => as(team, handle)));
  if (lead === undefined || deputy === undefined) throw new Error("nobody");
  const ask = (from: Wire, body: object) =>
    from.send({ to: ["ann"], type: "request", subject: "step", body });
  await ask(lead, asked({ id: "a" }));
  await ask(deputy, asked({ id: "a" }, { plan_hash: "1".repeat(64) }));
  await ask(deputy, asked({ id: "x" }, { request_id: "0".repeat(16) }));
  await team.worker("ann");
  const reports = await until("both have a report", () => {
    const all = team.said("ship");
    return all.length === 2 && all;
  });
  const to = reports.map((line) => [
    line["to"],
    (line.body["report"] as { outcome: string }).outcome,
  ]);
  // Which of the two requests is taken in first is chance.
  expect(to.toSorted((one, other) => (String(one) < String(other) ? -1 : 1))).toEqual([
    [["deputy"], "success"],
    [["lead"], "success"],
  ]);
  expect(team.worked()).toEqual(["p a 1"]);
  const refused = await until("the third one is refused", () =>
    team.said("ack").find(({ body }) => body["approve"] === false),
  );
  expect(refused.body["reason"]).toMatch(/^request_id is /u);
  for (const wire of [lead, deputy]) wire.close();
});

it("two coordinators on one machine: the second one is refused", async () => {
  const team = await planTeam(["lead", "deputy", "ann"]);
  const file = team.write("plan.yaml", PLAN.replace("bob", "ann"));
  team.behave({ a: "hang" });
  await team.worker("ann");
  const first = team.run("lead", "plan", "run", file, "--yes");
  await until("a is worked at", () => team.worked().length > 0);
  const second = await team.done("deputy", "plan", "run", file, "--yes");
  expect(second.code).toBe(5);
  expect(second.stderr).toMatch(/is run by process \d+/u);
  team.write("go-on", "");
  expect((await first.ended).code).toBe(0);
  expect(team.worked()).toEqual(["p a 1", "p b 1"]);
});

it("a worker that hangs is given up, its late report is named, and one that died reports that it did", async () => {
  const team = await planTeam(["lead", "ann", "bob"]);
  const file = team.write("plan.yaml", PLAN.replace("deps: [a], ", ""));
  team.behave({ a: "hang", b: "hang" });
  await team.worker("ann");
  const bob = await team.worker("bob");
  const running = team.run("lead", "plan", "run", file, "--yes", "--fixes", "0");
  await until("both are worked at", () => team.worked().length === 2);
  bob.child.kill("SIGKILL");
  await bob.ended;
  team.behave({});
  await team.worker("bob");
  await until("b is blocked", () => running.stdout().includes("blocked b"));
  expect(running.stdout()).toContain(
    "step b is blocked: it ended with failure: the worker ended after this step was begun",
  );
  running.child.kill("SIGTERM");
  expect((await running.ended).stdout).toContain("stopped; run it again to go on");
  // Now the time of the other one is over.
  const again = await team.done("lead", "plan", "run", file, "--yes", "--timeout", "0.001");
  expect([again.code, again.stderr]).toEqual([1, ""]);
  expect(again.stdout).toContain("step a is blocked: ann has not reported within 0.001 s");
  team.write("go-on", "");
  await until("the late report", () => team.said("ship").length === 2);
  const late = await team.done("lead", "plan", "run", file, "--yes");
  expect(late.stdout).toContain("ann reported success after the step was blocked");
  // Nothing was sent again, and nothing was done again.
  expect(team.said("request")).toHaveLength(2);
  expect(team.worked()).toHaveLength(2);
});

it("commands in a peer's step are run only where the worker's operator allows it, and see no shell", async () => {
  const team = await planTeam(["lead", "ann", "bob"]);
  const command = `Run: ${process.execPath} -e "require('fs').writeFileSync(process.argv[1], '')" $(touch pwned);touch`;
  const lead = await as(team, "lead");
  for (const owner of ["ann", "bob"]) {
    const body = asked({
      id: owner,
      owner,
      commands: [command, "Run: touch pwned ; touch pwned", "Read: /etc/passwd"],
    });
    await lead.send({ to: [owner], type: "request", subject: "step", body });
  }
  lead.close();
  await team.worker("ann");
  await until("ann reports", () => team.said("ship").length === 1);
  expect(existsSync(join(team.project, "$(touch"))).toBe(false);
  expect(existsSync(join(team.project, ";"))).toBe(false);
  await team.worker("bob", "--allow-commands");
  const report = await until("bob reports", () =>
    team.said("ship").find(({ from }) => from === "bob"),
  );
  expect(existsSync(join(team.project, "$(touch"))).toBe(true);
  expect(existsSync(join(team.project, ";"))).toBe(true);
  const { artifacts } = report.body["report"] as { artifacts: { log?: string }[] };
  expect(artifacts.at(-1)?.log).toBe("/etc/passwd: not read, it is not in the working folder");
});

it("a peer may be asked before a run begins, and may say no", async () => {
  const team = await planTeam(["lead", "ann"]);
  const text = "plan_id: p\nsteps:\n  - {id: a, description: do a, owner: self}\n";
  const file = team.write("plan.yaml", text);
  const args = ["plan", "run", file, "--yes", "--exec", EXEC, "--approve", "ann"];
  const ann = await as(team, "ann");
  const first = team.run("lead", ...args);
  const request = await until("the question", () => team.said("request")[0]);
  expect(request.body["plan"]).toBe("[ ] a self: do a");
  const respond = async (id: string, approve: boolean) => {
    await until("ann has it", async () =>
      (await ann.requests()).some((each) => each.event_id === id),
    );
    await ann.respond(id, approve ? { approve } : { approve, reason: "not today" });
  };
  await respond(request.event_id, false);
  const refused = await first.ended;
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining("ann does not approve the plan"),
  ]);
  expect(team.worked()).toEqual([]);
  team.write("plan.yaml", text.replace("do a", "do less"));
  const second = team.run("lead", ...args);
  const another = await until("another question", () => team.said("request")[1]);
  await respond(another.event_id, true);
  expect((await second.ended).code).toBe(0);
  ann.close();
  expect(team.worked()).toEqual(["p a 1"]);
});

it("daemons that are killed and started again in the middle change nothing", async () => {
  const team = await planTeam(["lead", "ann", "bob"]);
  const file = team.write("plan.yaml", PLAN);
  team.behave({ a: "hang" });
  await team.worker("ann");
  await team.worker("bob");
  const running = team.run("lead", "plan", "run", file, "--yes");
  await until("a is worked at", () => team.worked().length === 1);
  for (const handle of ["lead", "ann"]) {
    const daemon = team.daemons.get(handle);
    daemon?.child.kill("SIGKILL");
    await daemon?.ended;
    await team.wire.daemon(handle);
  }
  team.write("go-on", "");
  const ended = await running.ended;
  expect([ended.code, ended.stderr]).toEqual([0, ""]);
  expect(team.worked()).toEqual(["p a 1", "p b 1"]);
  expect([team.said("request"), team.said("ship")].map(({ length }) => length)).toEqual([2, 2]);
});
