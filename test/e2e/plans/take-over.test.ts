import { afterEach, expect, it } from "vitest";
import { amount } from "../../support/amounts.ts";
import { removeWires } from "../../support/processes/live-wire.ts";
import { planTeam, type PlanTeam } from "../../support/processes/plan-team.ts";
import { pause } from "../../support/processes/real-processes.ts";
import { randomFrom } from "../../support/random.ts";

afterEach(removeWires);

const KILLS = amount(6, 100);
/** A run that is left alone takes about this long. */
const LONGEST_MS = 2_500;
const SEED = Number(process.env["DEADDROP_SEED"] ?? Date.now() % 1_000_000);

const STEPS = ["a", "b", "c", "d", "e"];
const planText = (id: string): string => `# ${id}
plan_id: ${id}
steps:
  - {id: a, description: do a, owner: ann, files: [a]}
  - {id: b, description: do b, owner: bob, deps: [a], files: [b]} # beside c
  - {id: c, description: do c, owner: ann, deps: [a], files: [c]}
  - {id: d, description: do d, owner: bob, deps: [b, c], files: [d]}
  - {id: e, description: do e, owner: ann, deps: [d], files: [e]}
`;

/** What came of a plan, for each of its steps: requests on the wire, works, reports that came. */
function countsOf(team: PlanTeam, planId: string): string[] {
  const asked = team.said("request").filter(({ body }) => body["plan_id"] === planId);
  const names = asked.map(({ body }) => body["request_id"]);
  const shipped = team.said("ship").filter(({ body }) => names.includes(body["request_id"]));
  return STEPS.map((step) => {
    const requests = asked.filter(({ body }) => (body["step"] as { id: string }).id === step);
    const works = team.worked().filter((row) => row.startsWith(`${planId} ${step} `));
    const reports = shipped.filter(
      ({ body }) => (body["report"] as { step_id: string }).step_id === step,
    );
    return `${step}: ${requests.length} ${works.length} ${reports.length}`;
  });
}

it(`a coordinator killed ${KILLS} times, and taken over by another agent half of the time: every step is sent once and done once (seed ${SEED})`, async () => {
  const random = randomFrom(SEED);
  const team = await planTeam(["lead", "deputy", "ann", "bob"]);
  await team.worker("ann");
  await team.worker("bob", "--max-parallel", "2");
  let kills = 0;
  let takenOver = 0;
  for (let plan = 1; kills < KILLS; plan += 1) {
    const id = `plan-${plan}`;
    const file = team.write(`${id}.yaml`, planText(id));
    let runner = "lead";
    let isDone = false;
    while (!isDone) {
      const run = team.run(runner, "plan", "run", file, "--yes");
      const ended = run.ended.then(({ code, stderr }) => {
        // Neither refused nor broken: it was killed, or it has come to its end.
        expect([0, "SIGKILL"], stderr).toContain(code);
        isDone = code === 0;
      });
      if (kills < KILLS) {
        await Promise.race([ended, pause(random() * LONGEST_MS)]);
        if (run.child.exitCode === null && run.child.kill("SIGKILL")) kills += 1;
      }
      await ended;
      const next = random() < 0.5 ? runner : runner === "lead" ? "deputy" : "lead";
      takenOver += next === runner ? 0 : 1;
      runner = next;
    }
    expect(countsOf(team, id)).toEqual(STEPS.map((step) => `${step}: 1 1 1`));
    const { ok, steps } = team.finalReport(id);
    expect([ok, steps.map(({ status }) => status)]).toEqual([true, STEPS.map(() => "complete")]);
    expect(team.read(`${id}.yaml`)).toContain("# beside c");
  }
  expect(kills).toBe(KILLS);
  console.log(`${kills} kills, ${takenOver} take-overs`);
});
