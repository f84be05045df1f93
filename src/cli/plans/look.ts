import { basename } from "node:path";
import { GRAPH_KINDS, graphText } from "../../plans/plan/graph.ts";
import { unknownOwners } from "../../plans/plan/owners.ts";
import { locate, type PlanDocument } from "../../plans/plan/parse-plan.ts";
import { titleOf } from "../../plans/plan/plan.ts";
import { isError, problemText, type Problem } from "../../plans/plan/problem.ts";
import { openDeps, readySteps } from "../../plans/plan/schedule.ts";
import { askedBefore, openQuestion } from "../../plans/run/ask-operator.ts";
import { readPlanFile } from "../../plans/run/plan-file.ts";
import { phasesOf, planPlaces } from "../../plans/run/plan-folder.ts";
import { nodeDisk } from "../../storage/disk/node-disk.ts";
import { define } from "../command.ts";
import { findWire, withClient, type Cli } from "../context.ts";
import { emit, table } from "../output/output.ts";
import { PLAN_FILE, planAt, readAt, readOwners, rows, type PlanFlags } from "./plan-place.ts";

/** `deaddrop plan status`: which phase is done and what is missing; each step. Spec 7.2. */
export const status = define({
  about: "which phase is done, what is missing, and each step",
  args: PLAN_FILE,
  run(cli, flags, { file: named }) {
    const { disk, file, document, places } = readAt(cli, named);
    const { plan } = document;
    const phases = phasesOf(disk, places, plan);
    const asked = askedBefore(disk, places);
    const steps = plan.steps.map((step) => {
      const { id, owner, status: state, attempt, description } = step;
      const open = openDeps(plan, step).map((dep) => dep.id);
      return {
        ...{ id, owner, status: state, attempt, description },
        waits_for: state === "pending" && open.length > 0 ? open.join(", ") : null,
        asked: openQuestion(asked, step)?.text ?? null,
      };
    });
    const data = { plan_id: plan.id ?? null, file, folder: places.folder, phases, steps };
    emit(cli, flags, data, (paint) => {
      const cells = steps.map((step) => [
        { text: step.id },
        { text: step.status },
        { text: step.owner },
        { text: step.waits_for === null ? "" : `after ${step.waits_for}` },
        { text: titleOf(step) },
      ]);
      const questions = steps.flatMap((step) => step.asked ?? []);
      const done = phases.map(({ phase, done: isDone, missing }) => {
        const lacks = missing.slice(0, 3).join(", ");
        const more = missing.length > 3 ? ` and ${missing.length - 3} more` : "";
        return isDone ? `${phase}: done` : `${phase}: missing ${lacks}${more}`;
      });
      return [
        rows([`plan ${plan.id ?? "without a name"}: ${file}`, ...done]),
        table(cells, paint, cli.stdout.columns),
        ...(questions.length === 0 ? [] : [rows(questions)]),
      ].join("\n");
    });
  },
});

/** `deaddrop plan validate`: exit code 1 when it cannot be used. With a wire, owners are looked up. */
export const validate = define({
  about: "everything that is wrong with a plan; with --wire its owners too",
  args: PLAN_FILE,
  async run(cli, flags, { file: named }) {
    const { disk, file } = planAt(cli, named);
    const { read } = readPlanFile(disk, file);
    const problems = [
      ...(read.ok ? read.warnings : read.problems),
      ...(read.ok ? await ownerProblems(cli, flags, file, read) : []),
    ];
    const valid = !problems.some(isError);
    cli.exitCode = valid ? 0 : 1;
    const steps = read.ok ? read.plan.steps.length : null;
    emit(cli, flags, { file, valid, steps, problems }, () =>
      rows([
        ...problems.map((problem) => problemText(basename(file), problem)),
        valid ? `valid: ${steps ?? 0} step${steps === 1 ? "" : "s"}` : "not valid",
      ]),
    );
  },
});

/** Only where a wire is named: a plan needs none. */
async function ownerProblems(
  cli: Cli,
  flags: PlanFlags,
  file: string,
  document: PlanDocument,
): Promise<Problem[]> {
  const isNamed = flags.wire !== undefined || (cli.env["DEADDROP_WIRE"] ?? "") !== "";
  if (!isNamed) return [];
  findWire(cli, flags);
  const places = planPlaces(file, document.plan.id ?? "");
  return withClient(cli, flags, async (client) => {
    const owners = await readOwners({ disk: nodeDisk(), places }, client);
    return locate(document.source, unknownOwners(document.plan, owners));
  });
}

/** `deaddrop plan next`: the steps that may be begun. Spec 7.3. */
export const next = define({
  about: "the steps that may be begun",
  args: PLAN_FILE,
  options: { "--owner <owner>": "only those of an owner" },
  run(cli, flags, { file: named }) {
    const { plan } = readAt(cli, named).document;
    const ready = readySteps(plan).filter(
      ({ owner }) => flags.owner === undefined || owner === flags.owner,
    );
    const data = ready.map(({ id, owner, description, files, attempt }) => ({
      ...{ id, owner, description, files, attempt },
    }));
    emit(cli, flags, data, () =>
      rows(
        data.length === 0
          ? ["no step is ready"]
          : data.map((step) => `${step.id} ${step.owner}: ${step.description}`),
      ),
    );
  },
});

/** `deaddrop plan graph`. Spec 7.3. */
export const graph = define({
  about: "the plan as a picture",
  args: PLAN_FILE,
  options: { "--format <format>": { about: "how", choices: GRAPH_KINDS } },
  run(cli, flags, { file: named }) {
    const { plan } = readAt(cli, named).document;
    const { format = "mermaid" } = flags;
    const text = graphText(plan, format);
    emit(cli, flags, { format, graph: text }, () => text);
  },
});
