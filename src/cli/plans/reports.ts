import { DeaddropError } from "../../api/errors.ts";
import { unplannedFiles } from "../../plans/report/checks.ts";
import { markdownReport } from "../../plans/report/final-report.ts";
import {
  parseReport,
  readReport,
  type ReportRead,
  type Artifact,
} from "../../plans/report/report.ts";
import { writeFinalReport, keepReport } from "../../plans/run/plan-folder.ts";
import { diffFacts } from "../../plans/run/git-steps.ts";
import { readWhole } from "../../storage/disk/disk.ts";
import { nodeDisk } from "../../storage/disk/node-disk.ts";
import { resolve } from "node:path";
import type { Cli } from "../context.ts";
import { emit } from "../output/output.ts";
import { readAt, rows, stepIn, wrongUsage, type PlanFlags } from "./plan-place.ts";

export interface AddFlags extends PlanFlags {
  outcome?: string;
  details?: string;
  error?: string;
  file?: string[];
  test?: string[];
  log?: string[];
  screenshot?: string[];
  from?: string;
}

/** Longer than any report. */
const MAX_READ_REPORT_BYTES = 1_048_576;

/** `deaddrop plan report add <step>`: the report on one attempt; a second one is refused. Spec 7.4. */
export function add(cli: Cli, flags: AddFlags, id: string): void {
  const { disk, document, places } = readAt(cli, flags.plan);
  const { plan } = document;
  const { attempt } = stepIn(plan, id);
  const read =
    flags.from === undefined ? readReport(fromFlags(cli, flags, id)) : fromFile(cli, flags.from);
  if (!read.ok) throw wrongUsage(`no report: ${read.detail}`, "deaddrop plan report add --help");
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
}

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

/** `deaddrop plan report validate <file>`: exit code 1 when it is none. */
export function validateReport(cli: Cli, flags: PlanFlags, name: string): void {
  const read = fromFile(cli, name);
  cli.exitCode = read.ok ? 0 : 1;
  const data = { valid: read.ok, detail: read.ok ? null : read.detail };
  emit(cli, flags, data, () => rows([read.ok ? "valid" : `not valid: ${read.detail}`]));
}

/** `deaddrop plan report final`: what a plan has come to; exit code 1 when something is not as expected. */
export function final(
  cli: Cli,
  flags: PlanFlags & { checkDiff?: string; maxDiff?: number },
  named: string | undefined,
): void {
  const { disk, document, places } = readAt(cli, named);
  const { checkDiff, maxDiff } = flags;
  const diff = checkDiff === undefined ? undefined : diffFacts(places, cli.env, checkDiff);
  const made = writeFinalReport(disk, places, document.plan, cli.clock.nowMs(), { diff, maxDiff });
  cli.exitCode = made.ok ? 0 : 1;
  emit(cli, flags, made, () => markdownReport(made).trimEnd());
}
