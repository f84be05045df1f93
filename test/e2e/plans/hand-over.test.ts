import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { documentText, shellBlocks } from "../../support/document-blocks.ts";
import { removeWires } from "../../support/processes/live-wire.ts";
import { EXEC, planTeam } from "../../support/processes/plan-team.ts";
import { until } from "../../support/processes/real-processes.ts";

afterEach(removeWires);

const CSV_UPLOAD = readFileSync(
  new URL("../../data/plans/csv-upload.yaml", import.meta.url),
  "utf8",
);

/** Where `plan init --id csv-upload` makes it. */
const PLAN = "agent/artifacts/plans/csv-upload/plan.yaml";

/** The command lines of docs/plans.md that end with the agent who says them, in their order. */
const said = shellBlocks(documentText("docs/plans.md"))
  .flatMap(({ text }) => text.split("\n"))
  .flatMap((line) => {
    const [, command, handle] = /^deaddrop (.*?)\s+# (lead|deputy|ann|bob)$/u.exec(line) ?? [];
    return command === undefined || handle === undefined ? [] : [{ command, handle }];
  });

it("docs/plans.md: one tool plans and starts, its session is lost, another one goes on", async () => {
  expect(said.map(({ handle }) => handle)).toEqual([
    ...["ann", "bob", "lead", "deputy", "deputy", "deputy"],
  ]);
  const team = await planTeam(["lead", "deputy", "ann", "bob"]);
  mkdirSync(join(team.project, "agent/artifacts/plans/csv-upload"), { recursive: true });
  team.write(PLAN, CSV_UPLOAD);
  const roles = { Architect: "ann", Backend: "bob", Frontend: "ann", Coordinator: "ann" };
  team.write("agent/roles.json", JSON.stringify(roles));
  team.behave({ 2: "hang" });
  const begin = ({ command, handle }: { command: string; handle: string }) => {
    const words = command.split(/ (?=(?:[^"]*"[^"]*")*[^"]*$)/u);
    return team.run(handle, ...words.map((word) => (word.startsWith('"') ? EXEC : word)));
  };
  const [ann, bob, lead, status, deputy, final] = said;
  if (!ann || !bob || !lead || !status || !deputy || !final)
    throw new Error("a command is missing");
  begin(ann);
  begin(bob);
  const lost = begin(lead);
  await until("the second step is worked at", () => team.worked().includes("csv-upload 2 1"));
  lost.child.kill("SIGKILL");
  await lost.ended;
  const looked = await begin(status).ended;
  expect(looked.stdout).toMatch(/^2 +in_progress +Backend/mu);
  // It comes while nobody runs the plan.
  team.write("go-on", "");
  await until("the report on it", () =>
    team.said("ship").some(({ body }) => (body["report"] as { step_id: string }).step_id === "2"),
  );
  const ended = await begin(deputy).ended;
  expect([ended.code, ended.stderr]).toEqual([0, ""]);
  expect((await begin(final).ended).stdout).toContain("# Plan csv-upload: done");
  expect(team.worked().toSorted()).toEqual(["1", "2", "3", "4"].map((id) => `csv-upload ${id} 1`));
  expect(team.said("request")).toHaveLength(4);
  expect(team.read(PLAN)).toMatch(/coordinators:\n {2}- lead\n {2}- deputy\n/u);
});
