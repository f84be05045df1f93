import { define } from "../command.ts";
import { amend, init, rollback, set } from "../plans/change.ts";
import { graph, next, status, validate } from "../plans/look.ts";
import { add, final, validateReport } from "../plans/reports.ts";
import { run } from "../plans/run.ts";
import { work } from "../plans/work.ts";

/** What became of the steps of a plan. Spec 7.4. */
const report = define({
  about: "Reports: what became of each step of a plan, and of the whole.",
  examples: [
    'deaddrop plan report add 2 --outcome success --details "Rows are stored." --file server/upload.js=changed --test "node --test"=passed',
    "deaddrop plan report final --check-diff main..HEAD --max-diff 400",
  ],
  commands: {
    add,
    validate: validateReport,
    final,
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
    init,
    status,
    validate,
    next,
    graph,
    set,
    amend,
    rollback,
    run,
    work,
    report,
  },
});
