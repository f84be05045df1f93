import { resolve } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { unplannedFiles } from "../../plans/report/checks.ts";
import { markdownReport } from "../../plans/report/final-report.ts";
import {
  OUTCOMES,
  parseReport,
  readReport,
  type ReportRead,
  type Artifact,
} from "../../plans/report/report.ts";
import { diffFacts } from "../../plans/run/git-steps.ts";
import { writeFinalReport, keepReport } from "../../plans/run/plan-folder.ts";
import { readWhole } from "../../storage/disk/disk.ts";
import { nodeDisk } from "../../storage/disk/node-disk.ts";
import { count, repeatable, type Options, define, type FlagsOf } from "../command.ts";
import type { Cli } from "../context.ts";
import { emit } from "../output/output.ts";
import { PLAN_FILE, PLAN_OPTIONS, readAt, rows, stepIn, wrongUsage } from "./plan-place.ts";

/** Longer than any report. */
const MAX_READ_REPORT_BYTES = 1_048_576;

const OPTIONS = {
  "--outcome <outcome>": { about: "how it ended", choices: OUTCOMES },
  "--details <text>": "what was done",
  "--error <text>": "what went wrong; needed unless it is a success",
  "--file <name=status>": repeatable("a file, and created, changed or removed (repeatable)"),
  "--test <name=result>": repeatable("a test, and passed or failed (repeatable)"),
  "--log <text>": repeatable("words of a log, or its path (repeatable)"),
  "--screenshot <path>": repeatable("a picture (repeatable)"),
  "--from <file>": "all of it, as JSON",
  ...PLAN_OPTIONS,
} as const satisfies Options;
type AddFlags = FlagsOf<typeof OPTIONS>;

/** `deaddrop report add <step>`: the report on one attempt; a second one is refused. Spec 7.4. */
export const add = define({
  about: "the report on a step that is yours; there is one for each attempt",
  args: { "<step>": "its id" },
  options: OPTIONS,
  run(cli, flags, { step: id }) {
    const { disk, document, places } = readAt(cli, flags.plan);
    const { plan } = document;
    const { attempt } = stepIn(plan, id);
    const read =
      flags.from === undefined ? readReport(fromFlags(cli, flags, id)) : fromFile(cli, flags.from);
    if (!read.ok) throw wrongUsage(`no report: ${read.detail}`, "deaddrop report add --help");
    const { report } = read;
    if (report.step_id !== id) {
      throw wrongUsage(`the report is about step ${report.step_id}`, `name that step, not ${id}`);
    }
    if (!keepReport(disk, places, { attempt, by: undefined, report })) {
      throw new DeaddropError("refused", `step ${id} has a report on attempt ${attempt} already`, {
        hint: `deaddrop plan set ${id} pending begins another attempt`,
      });
    }
    const warnings = unplannedFiles(plan, report);
    emit(cli, flags, { step: id, attempt, outcome: report.outcome, warnings }, () =>
      rows([
        ...warnings.map((text) => `warning: ${text}`),
        `step ${id}, attempt ${attempt}: ${report.outcome}`,
      ]),
    );
  },
});

function fromFlags(cli: Cli, flags: AddFlags, id: string): object {
  const { outcome, details = "", error, file, test, log = [], screenshot = [] } = flags;
  const artifacts: Artifact[] = [
    ...pairs("--file", file).map(([name, status]) => ({ file: name, status })),
    ...pairs("--test", test).map(([name, result]) => ({ test: name, result })),
    ...log.map((text) => ({ log: text })),
    ...screenshot.map((path) => ({ screenshot: path })),
  ];
  const timestamp = new Date(cli.clock.nowMs()).toISOString();
  const given = { artifacts: artifacts.length === 0 ? undefined : artifacts, error };
  return { step_id: id, outcome, details, ...given, timestamp };
}

/** `name=value`; the last sign of equality counts, since names may have some. */
function pairs(flag: string, given: readonly string[] = []): [string, string][] {
  return given.map((text) => {
    const at = text.lastIndexOf("=");
    if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
    throw wrongUsage(`${flag} ${text}`, `it takes a name and a word, such as ${flag} name=word`);
  });
}

function fromFile(cli: Cli, name: string): ReportRead {
  const bytes = readWhole(nodeDisk(), resolve(cli.cwd, name), MAX_READ_REPORT_BYTES);
  return bytes === undefined ? { ok: false, detail: `${name}: no such file` } : parseReport(bytes);
}

/** `deaddrop report validate <file>`: exit code 1 when it is none. */
export const validateReport = define({
  about: "whether a file is a report",
  args: { "<file>": "JSON" },
  run(cli, flags, { file: name }) {
    const read = fromFile(cli, name);
    cli.exitCode = read.ok ? 0 : 1;
    const data = { valid: read.ok, detail: read.ok ? null : read.detail };
    emit(cli, flags, data, () => rows([read.ok ? "valid" : `not valid: ${read.detail}`]));
  },
});

/** `deaddrop report final`: what a plan has come to; exit code 1 when something is not as expected. */
export const final = define({
  about: "write what a plan has come to, with what was expected and does not hold",
  args: PLAN_FILE,
  options: {
    "--check-diff <range>": "what git says of a range such as main..HEAD",
    "--max-diff <lines>": { about: "so many lines may be changed in it", parse: count },
  },
  run(cli, flags, { file: named }) {
    const { disk, document, places } = readAt(cli, named);
    const { checkDiff, maxDiff } = flags;
    const diff = checkDiff === undefined ? undefined : diffFacts(places, cli.env, checkDiff);
    const made = writeFinalReport(disk, places, document.plan, cli.clock.nowMs(), {
      diff,
      maxDiff,
    });
    cli.exitCode = made.ok ? 0 : 1;
    emit(cli, flags, made, () => markdownReport(made).trimEnd());
  },
});
