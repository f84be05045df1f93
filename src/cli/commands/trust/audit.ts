import { Command } from "commander";
import {
  auditReport,
  type Audited,
  type AuditReport,
  type Violation,
} from "../../../agent/answers/audit.ts";
import type { Core } from "../../../agent/core.ts";
import { DeaddropError } from "../../../api/errors.ts";
import { openAudit, type AuditFlags } from "../../audit/plans.ts";
import type { Cli } from "../../context.ts";
import { example } from "../../output/example.ts";
import { emit, table, type Cell, type Paint } from "../../output/output.ts";
import { moment } from "../../../framing/when.ts";
import { shortId } from "../../../framing/short-id.ts";

export interface Flags extends AuditFlags {
  key?: string;
  since?: string;
  violations?: boolean;
}

/** Violations that are listed for a person; `--json` has all of them. */
const SHOWN_VIOLATIONS = 50;

/** `deaddrop audit`: everything again, from the lines. Spec 4.10. */
export function command(cli: Cli): Command {
  return new Command("audit")
    .description(
      "Derives decisions, members and records again from the lines, and compares them with\n" +
        "decisions.jsonl. Reads your store, else the files of the wire. Exits 1 when anything is violated.",
    )
    .argument(
      "[files...]",
      "files of lines to read (default: your store, else all files of the wire)",
    )
    .option("--violations", "print the violations alone")
    .option("--trust <file>", "believe the keys of this trust file (default: your pins)")
    .option("--key <key-id>", "list what this key has signed, believed or not, and exit 0")
    .option(
      "--since <when>",
      "with --key: from this time on (ISO 8601), or so long ago (30m, 2h, 5d)",
    )
    .addHelpText(
      "after",
      example(
        "deaddrop audit --wire ./_coordination --json",
        "deaddrop audit old/*.jsonl",
        "deaddrop audit --key scribe:1a2b3c4d --since 2h",
      ),
    )
    .action(async (files: string[], { key, since, ...flags }: Flags) => {
      if (key !== undefined) {
        const { run: runKey } = await import("../../audit/key.ts");
        await runKey(cli, files, { keyId: key, since }, flags);
        return;
      }
      if (since !== undefined) {
        throw new DeaddropError("usage", "--since goes with --key", {
          hint: "deaddrop trust list shows the ids of keys",
        });
      }
      await run(cli, files, flags);
    });
}

export async function run(cli: Cli, files: readonly string[], flags: Flags): Promise<void> {
  const { core, by } = await openAudit(cli, files, flags);
  const report = reportOf(core, by);
  const { violations } = report;
  const width = cli.stdout.columns;
  if (flags.violations === true) {
    emit(cli, flags, { violations }, (paint) => violationsText(violations, paint, width));
  } else emit(cli, flags, report, (paint) => auditText(report, paint, width));
  if (report.violations.length > 0) cli.exitCode = 1;
}

function reportOf(core: Core, by: Audited): AuditReport {
  try {
    return auditReport(core, by);
  } finally {
    core.close();
  }
}

function auditText(report: AuditReport, paint: Paint, width: number | undefined): string {
  const { messages, threads, by_type: byType, decisions, incidents, violations } = report;
  const types = Object.entries(byType).map(([type, count]) => `${count} ${type}`);
  const lines = [
    `${counted(messages, "message")} in ${counted(threads, "thread")}: ${types.join(", ")}`,
    `keys: ${report.keys}${report.unverified === 0 ? "" : `; ${report.unverified} lines of agents without a known key`}`,
  ];
  const section = (title: string, rows: Cell[][]) => {
    lines.push("", paint("bold", title));
    if (rows.length > 0) lines.push(table(rows, paint, width));
  };
  section(
    counted(decisions.length, "decision"),
    decisions.map((each) => [
      { text: moment(each.ratified_at) },
      { text: each.decision_id },
      { text: each.acked_by.join(", ") },
      { text: each.decision },
    ]),
  );
  section(
    counted(incidents.length, "incident"),
    incidents.map((each) => [
      { text: shortId(each.event_id) },
      { text: each.severity },
      { text: each.status },
      { text: each.subject },
    ]),
  );
  lines.push("", violationsText(violations, paint, width));
  const { twins, torn } = report;
  if (twins.length > 0) lines.push(`decisions recorded twice, which count once: ${twins.length}`);
  if (torn.length > 0) {
    lines.push(`torn entries in decisions.jsonl, which count for nothing: ${torn.length}`);
  }
  return lines.join("\n");
}

function violationsText(
  violations: readonly Violation[],
  paint: Paint,
  width: number | undefined,
): string {
  const lines = [paint("bold", counted(violations.length, "violation"))];
  const rows = violations
    .slice(0, SHOWN_VIOLATIONS)
    .map((each): Cell[] => [
      { text: each.rule, style: "red" },
      { text: placeText(each) },
      { text: each.detail },
    ]);
  if (rows.length > 0) lines.push(table(rows, paint, width));
  const more = violations.length - SHOWN_VIOLATIONS;
  if (more > 0) lines.push(`and ${more} more (--json shows all)`);
  return lines.join("\n");
}

function placeText({ place, event_id: id }: Violation): string {
  if (place !== null) return place[1] === null ? place[0] : `${place[0]} ${place[1]}`;
  return id === null ? "-" : shortId(id);
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
