import { join, resolve } from "node:path";
import { addStep, fixStep, noStep, setStatus, type NewStep } from "../../plans/plan/changes.ts";
import { isStatus, stepNamed, STATUSES } from "../../plans/plan/plan.ts";
import { rollBack } from "../../plans/run/git-steps.ts";
import { changePlanFile } from "../../plans/run/plan-file.ts";
import { setCurrentPlan, newPlanFolder, write } from "../../plans/run/plan-folder.ts";
import { newPlanId } from "../../plans/run/start-run.ts";
import { nodeDisk } from "../../storage/disk/node-disk.ts";
import { repeatable, type Options, type FlagsOf, define } from "../command.ts";
import { emit } from "../output/output.ts";
import { PLAN_OPTIONS, planAt, readAt, rows, stepIn, wrongUsage } from "./plan-place.ts";

/** `deaddrop plan set <id> <status>`. Spec 7.3. */
export const set = define({
  about: "another status for a step; pending: it is done again",
  args: { "<step>": "its id", "<status>": "pending, in_progress, complete or blocked" },
  options: PLAN_OPTIONS,
  run(cli, flags, { step: id, status }) {
    if (!isStatus(status)) {
      throw wrongUsage(`"${status}" is no status`, `one of ${STATUSES.join(", ")}`);
    }
    const { disk, file } = planAt(cli, flags.plan);
    const { plan } = changePlanFile(disk, file, (document) => setStatus(document.plan, id, status));
    const attempt = stepNamed(plan, id)?.attempt ?? 1;
    emit(cli, flags, { step: id, status, attempt }, () =>
      rows([`step ${id} is ${status}${status === "pending" ? `, attempt ${attempt}` : ""}`]),
    );
  },
});

const OPTIONS = {
  ...PLAN_OPTIONS,
  "--id <id>": "of the step",
  "--owner <owner>": "who does it",
  "--description <text>": "what is to be done",
  "--dep <step>": repeatable("a step that it waits for (repeatable)"),
  "--file <file>": repeatable("a file or pattern that it changes (repeatable)"),
  "--criterion <text>": repeatable("when it is done (repeatable)"),
  "--command <text>": repeatable("`Run: …` or `Read: …` (repeatable)"),
  "--parallel": "it may share time with others that say so",
  "--fix <step>": "before that step, which is tried again after it",
} as const satisfies Options;
type AmendFlags = FlagsOf<typeof OPTIONS>;

/** `deaddrop plan amend`: adds a step, or one that corrects another. Spec 7.5. */
export const amend = define({
  about: "add a step, or one that corrects what went wrong in another",
  options: OPTIONS,
  run(cli, flags) {
    const { disk, file } = planAt(cli, flags.plan);
    const { fix, description } = flags;
    if (description === undefined) {
      throw wrongUsage("what is to be done?", 'say it with --description "…"');
    }
    const { plan } = changePlanFile(disk, file, (document) => {
      if (fix === undefined) return addStep(document.plan, newStep(flags, description));
      const failed = stepNamed(document.plan, fix);
      return failed === undefined
        ? { ok: false, reason: noStep(document.plan, fix) }
        : fixStep(document.plan, failed, description);
    });
    const added = plan.steps.at(-1);
    emit(cli, flags, { added: added?.id ?? null }, () => rows([`added step ${added?.id ?? ""}`]));
  },
});

function newStep(flags: AmendFlags, description: string): NewStep {
  const { id, owner, dep, file, criterion, command, parallel } = flags;
  if (id === undefined || owner === undefined) {
    throw wrongUsage("a step needs an id and an owner", "give --id and --owner, or --fix <step>");
  }
  const lists = { deps: dep, files: file, criteria: criterion, commands: command };
  return { id, owner, description, parallel, ...lists };
}

/** `deaddrop plan init <task>`: a plan to be written, and from now on the one in use. Spec 7.2. */
export const init = define({
  about: "make a plan to be written; it is the one in use from then on",
  args: { "<task>": "what it is for" },
  options: {
    "--id <id>": "its name (else one is made)",
    "--folder <folder>": "the project that holds agent/ (default: this folder)",
  },
  run(cli, flags, { task }) {
    const disk = nodeDisk();
    const project = resolve(cli.cwd, flags.folder ?? ".");
    const id = flags.id ?? newPlanId(task, cli.clock.nowMs());
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/u.test(id)) {
      throw wrongUsage(`"${id}" is no name of a plan`, "letters, digits and . _ - only");
    }
    const folder = newPlanFolder(project, id);
    const file = join(folder, "plan.yaml");
    if (disk.stat(file) !== undefined) {
      throw wrongUsage(`${file} is there already`, "give another --id");
    }
    write(disk, file, template(id, task));
    setCurrentPlan(disk, project, file);
    const data = { plan_id: id, file, intake: join(folder, "intake.md") };
    emit(cli, flags, data, () =>
      rows([
        `made ${file}, the plan in use from now on`,
        `write what was asked, answered and assumed into ${data.intake}`,
      ]),
    );
  },
});

function template(id: string, task: string): string {
  return `# deaddrop plan validate looks at it; deaddrop plan run works at it.
plan_id: ${JSON.stringify(id)}
task: ${JSON.stringify(task)}
steps:
  # owner: a handle of the wire, a role of agent/roles.json, or self.
  # deps: ids of the steps that have to be complete before, for example deps: [1]. Without it a step
  # starts at once.
  - id: 1
    description: ${JSON.stringify(task)}
    owner: self
    deps: []
    criteria: Say how anybody can see that it is done
    files: []
`;
}

/** `deaddrop plan rollback <id>`: back to the commit before a step. Spec 7.5. */
export const rollback = define({
  about: "back to the commit before a step; nothing is deleted",
  args: { "<step>": "its id" },
  options: PLAN_OPTIONS,
  run(cli, flags, { step: id }) {
    const { disk, file, document, places } = readAt(cli, flags.plan);
    const { plan } = document;
    const step = stepIn(plan, id);
    const back = rollBack(disk, places, cli.env, { plan, step, nowMs: cli.clock.nowMs() });
    for (const each of back.steps) {
      const { status } = stepNamed(plan, each) ?? step;
      if (status === "pending") continue;
      changePlanFile(disk, file, (now) => setStatus(now.plan, each, "pending"));
    }
    emit(cli, flags, back, () =>
      rows([
        `back at ${back.commit.slice(0, 12)}; what was there before is the branch ${back.kept}`,
        `to be done again: ${back.steps.join(", ")}`,
      ]),
    );
  },
});
