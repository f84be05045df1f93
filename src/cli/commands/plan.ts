import { GRAPH_KINDS } from "../../plans/plan/graph.ts";
import { OUTCOMES } from "../../plans/report/report.ts";
import { count, define, repeatable, seconds, type Options } from "../command.ts";
import { amend, init, rollback, set } from "../plans/change.ts";
import { graph, next, status, validate } from "../plans/look.ts";
import { add, final, validateReport } from "../plans/reports.ts";
import { run } from "../plans/run.ts";
import { work } from "../plans/work.ts";

const PLAN_FILE = { "[file]": "the plan (else the one in use)" } as const;
const PLAN_OPTIONS = { "--plan <file>": "the plan (else the one in use)" } as const;
const ADAPTER_OPTIONS = {
  "--exec <command>": "the program that does a step: it reads JSON and prints a report",
  "--timeout <seconds>": { about: "for one step (default 3600)", parse: seconds },
  "--allow-commands": "do what `Run:` and `Read:` of a step say; no shell sees them",
} as const satisfies Options;

/** What became of the steps of a plan. Spec 7.4. */
const report = define({
  about: "Reports: what became of each step of a plan, and of the whole.",
  examples: [
    'deaddrop plan report add 2 --outcome success --details "Rows are stored." --file server/upload.js=changed --test "node --test"=passed',
    "deaddrop plan report final --check-diff main..HEAD --max-diff 400",
  ],
  commands: {
    add: define({
      about: "the report on a step that is yours; there is one for each attempt",
      args: { "<step>": "its id" },
      options: {
        "--outcome <outcome>": { about: "how it ended", choices: OUTCOMES },
        "--details <text>": "what was done",
        "--error <text>": "what went wrong; needed unless it is a success",
        "--file <name=status>": repeatable("a file, and created, changed or removed (repeatable)"),
        "--test <name=result>": repeatable("a test, and passed or failed (repeatable)"),
        "--log <text>": repeatable("words of a log, or its path (repeatable)"),
        "--screenshot <path>": repeatable("a picture (repeatable)"),
        "--from <file>": "all of it, as JSON",
        ...PLAN_OPTIONS,
      },
      run: (cli, flags, { step }) => add(cli, flags, step),
    }),
    validate: define({
      about: "whether a file is a report",
      args: { "<file>": "JSON" },
      run: (cli, flags, { file }) => validateReport(cli, flags, file),
    }),
    final: define({
      about: "write what a plan has come to, with what was expected and does not hold",
      args: PLAN_FILE,
      options: {
        "--check-diff <range>": "what git says of a range such as main..HEAD",
        "--max-diff <lines>": { about: "so many lines may be changed in it", parse: count },
      },
      run: (cli, flags, { file }) => final(cli, flags, file),
    }),
  },
});

/** Plans of several agents. Spec 7.2 to 7.5. */
export const plan = define({
  about:
    "Plans: steps with owners, what each waits for, and how far it is, in a file that people and agents " +
    "read. `run` sends each step to its owner and takes the reports; `work` does the steps that are sent " +
    "to you. Every agent that has the file can go on with it.",
  examples: [
    'deaddrop plan init "Let people upload a CSV file"',
    "deaddrop plan run --exec 'claude -p' --yes",
    "deaddrop plan work --exec 'claude -p'",
  ],
  bare: "status",
  commands: {
    init: define({
      about: "make a plan to be written; it is the one in use from then on",
      args: { "<task>": "what it is for" },
      options: {
        "--id <id>": "its name (else one is made)",
        "--folder <folder>": "the project that holds agent/ (default: this folder)",
      },
      run: (cli, flags, { task }) => init(cli, flags, task),
    }),
    status: define({
      about: "which phase is done, what is missing, and each step",
      args: PLAN_FILE,
      run: (cli, flags, { file }) => status(cli, flags, file),
    }),
    validate: define({
      about: "everything that is wrong with a plan; with --wire its owners too",
      args: PLAN_FILE,
      run: (cli, flags, { file }) => validate(cli, flags, file),
    }),
    next: define({
      about: "the steps that may be begun",
      args: PLAN_FILE,
      options: { "--owner <owner>": "only those of an owner" },
      run: (cli, flags, { file }) => next(cli, flags, file),
    }),
    graph: define({
      about: "the plan as a picture",
      args: PLAN_FILE,
      options: { "--format <format>": { about: "how", choices: GRAPH_KINDS } },
      run: (cli, flags, { file }) => graph(cli, flags, file),
    }),
    set: define({
      about: "another status for a step; pending: it is done again",
      args: { "<step>": "its id", "<status>": "pending, in_progress, complete or blocked" },
      options: PLAN_OPTIONS,
      run: (cli, flags, { step, status: to }) => set(cli, flags, step, to),
    }),
    amend: define({
      about: "add a step, or one that corrects what went wrong in another",
      options: {
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
      },
      run: amend,
    }),
    rollback: define({
      about: "back to the commit before a step; nothing is deleted",
      args: { "<step>": "its id" },
      options: PLAN_OPTIONS,
      run: (cli, flags, { step }) => rollback(cli, flags, step),
    }),
    run: define({
      about:
        "send each ready step to its owner, take the reports, and end with the final report; " +
        "it may be ended anywhere and run again, also by another agent",
      args: PLAN_FILE,
      options: {
        ...ADAPTER_OPTIONS,
        "--yes": "ask nobody before it begins",
        "--approve <peer>": "ask this peer, too, and wait for its yes",
        "--max-parallel <count>": { about: "steps at once (default 4)", parse: count },
        "--fixes <count>": {
          about: "attempts to correct a step that failed (default 1)",
          parse: wholeNumber,
        },
        "--git-checkpoints": "commit after each step, on a branch for the plan",
        "--local": "without a wire: --exec does all steps here",
      },
      run: (cli, flags, { file }) => run(cli, flags, file),
    }),
    work: define({
      about: "do the steps that peers send you, one after the other, and report on each",
      options: {
        ...ADAPTER_OPTIONS,
        "--from <peer>": repeatable("only steps of this peer (repeatable)"),
        "--max-parallel <count>": { about: "steps at once (default 1)", parse: count },
        "--once": "end when there is nothing to do",
      },
      run: work,
    }),
    report,
  },
});

/** For options that may be 0. */
function wholeNumber(value: string): number {
  return value === "0" ? 0 : count(value);
}
