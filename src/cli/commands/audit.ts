import {
  auditReport,
  type Audited,
  type AuditReport,
  type Violation,
} from "../../agent/answers/audit.ts";
import { keyHistory, type KeyLine } from "../../agent/answers/key-history.ts";
import type { Core } from "../../agent/core.ts";
import type { BelievedKey } from "../../agent/lines/intake.ts";
import { DeaddropError } from "../../api/errors.ts";
import { shortId } from "../../framing/short-id.ts";
import { moment } from "../../framing/when.ts";
import { timeSpan } from "../../verbs/words/times.ts";
import { quote } from "../../wire/quote.ts";
import { parseKeyId } from "../../wire/signature.ts";
import { parseTimestamp } from "../../wire/timestamp.ts";
import { openAudit, type AuditFlags } from "../audit/sources.ts";
import { define } from "../command.ts";
import type { Cli } from "../context.ts";
import { emit, table, type Cell, type Paint } from "../output/output.ts";
import { counted } from "../output/text.ts";

/** Everything again, from the lines. Spec 4.10. */
export const audit = define({
  about:
    "Derives decisions, members and records again from the lines, and compares them with " +
    "decisions.jsonl. Reads your store, else the files of the wire. Exits 1 when anything is violated.",
  args: {
    "[files...]": "files of lines to read (default: your store, else all files of the wire)",
  },
  options: {
    "--violations": "print the violations alone",
    "--trust <file>": "believe the keys of this trust file (default: your pins)",
    "--key <key-id>": "list what this key has signed, believed or not, and exit 0",
    "--since <when>": "with --key: from this time on (ISO 8601), or so long ago (30m, 2h, 5d)",
  },
  examples: [
    "deaddrop audit --wire ./_coordination --json",
    "deaddrop audit old/*.jsonl",
    "deaddrop audit --key scribe:1a2b3c4d --since 2h",
  ],
  async run(cli, { key, since, ...flags }, { files }) {
    if (key !== undefined) return listKey(cli, files, { keyId: key, since }, flags);
    if (since !== undefined) {
      throw new DeaddropError("usage", "--since goes with --key", {
        hint: "deaddrop trust list shows the ids of keys",
      });
    }
    const { core, by } = await openAudit(cli, files, flags);
    const report = reportOf(core, by);
    const { violations } = report;
    const width = cli.stdout.columns;
    if (flags.violations === true) {
      emit(cli, flags, { violations }, (paint) => violationsText(violations, paint, width));
    } else emit(cli, flags, report, (paint) => auditText(report, paint, width));
    if (violations.length > 0) cli.exitCode = 1;
  },
});

/** Violations that are listed for a person; `--json` has all of them. */
const SHOWN_VIOLATIONS = 50;

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
      moment(each.ratified_at),
      each.decision_id,
      each.acked_by.join(", "),
      each.decision,
    ]),
  );
  section(
    counted(incidents.length, "incident"),
    incidents.map((each) => [shortId(each.event_id), each.severity, each.status, each.subject]),
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
    .map((each): Cell[] => [{ text: each.rule, style: "red" }, placeText(each), each.detail]);
  if (rows.length > 0) lines.push(table(rows, paint, width));
  const more = violations.length - SHOWN_VIOLATIONS;
  if (more > 0) lines.push(`and ${more} more (--json shows all)`);
  return lines.join("\n");
}

function placeText({ place, event_id: id }: Violation): string {
  if (place !== null) return place[1] === null ? place[0] : `${place[0]} ${place[1]}`;
  return id === null ? "-" : shortId(id);
}

/** Lines that are listed for a person; `--json` has all of them. */
const SHOWN_LINES = 200;

/** `deaddrop audit --key`: what a key has signed, for one that may be in other hands. Spec 2.5. */
async function listKey(
  cli: Cli,
  files: readonly string[],
  asked: { readonly keyId: string; readonly since: string | undefined },
  flags: AuditFlags,
): Promise<void> {
  const sinceMs = asked.since === undefined ? undefined : sinceOf(asked.since, cli.clock.nowMs());
  const { core, by, trust } = await openAudit(cli, files, flags);
  try {
    const { keyId } = asked;
    const { active } = keyOf(core, keyId, by.keys);
    const pins = trust.peers.get(parseKeyId(keyId)?.handle ?? "")?.keys ?? [];
    const pinned = pins.find((each) => each.keyId === keyId);
    const report = {
      ...{ key_id: keyId, keys: by.keys, active },
      stopped_at: pinned?.deactivatedAt ?? null,
      since: sinceMs === undefined ? null : new Date(sinceMs).toISOString(),
      lines: keyHistory(core, keyId, sinceMs ?? -Infinity),
    };
    emit(cli, flags, report, (paint) => historyText(report, paint, cli.stdout.columns));
  } finally {
    core.close();
  }
}

/** A time, or how long ago. */
function sinceOf(text: string, nowMs: number): number {
  const agoMs = timeSpan(text);
  const ms = agoMs === undefined ? parseTimestamp(text) : nowMs - agoMs;
  if (ms !== undefined) return ms;
  throw new DeaddropError("usage", `--since ${quote(text)} is neither a time nor a duration`, {
    hint: "give a time such as 2026-06-01T10:00:00Z, or how long ago: 30m, 2h, 5d",
  });
}

function keyOf({ place, membership }: Core, keyId: string, keys: string): BelievedKey {
  const handle = parseKeyId(keyId)?.handle ?? "";
  const own = place.believed(handle).keys;
  const key = own.find((each) => each.keyId === keyId);
  if (key !== undefined) return key;
  const all = membership.handles.flatMap((each) => place.believed(each).keys);
  const named = (own.length > 0 ? own : all).map((each) => each.keyId).join(", ");
  throw new DeaddropError("unknown_id", `no key ${quote(keyId)} is known (keys: ${keys})`, {
    hint: `${named === "" ? "none is known here" : `known: ${named}`}; another trust file that has it is named with --trust`,
  });
}

interface History {
  readonly key_id: string;
  readonly active: boolean;
  readonly stopped_at: string | null;
  readonly lines: readonly KeyLine[];
}

function historyText(report: History, paint: Paint, width: number | undefined): string {
  const { key_id: keyId, active, stopped_at: stoppedAt, lines } = report;
  const stopped = active ? "in use" : `stopped${stoppedAt === null ? "" : ` ${stoppedAt}`}`;
  const shown = lines.slice(0, SHOWN_LINES);
  const text = [
    `${paint("bold", keyId)}  ${stopped}; it has signed ${counted(lines.length, "line")}`,
  ];
  if (shown.length > 0) text.push("", table(shown.map(keyLineRow), paint, width));
  if (lines.length > shown.length) {
    text.push(`and ${lines.length - shown.length} more (--json shows all)`);
  }
  if (lines.some(({ corrected_by: by, after_the_end: late }) => by.length === 0 && !late)) {
    text.push("", 'Answer one that is forged:  deaddrop correct <id> "who signed this was not …"');
  }
  if (lines.some(({ after_the_end: late }) => late)) {
    text.push("", "After the end: signed when the key was stopped already, and not believed here.");
  }
  return text.join("\n");
}

function keyLineRow(line: KeyLine): Cell[] {
  const { corrected_by: by } = line;
  const corrected = by.map((id) => shortId(id)).join(", ");
  return [
    line.place[0],
    line.place[1] === null ? "-" : `line ${line.place[1]}`,
    { text: shortId(line.event_id), style: "bold" },
    line.type,
    `${line.received ? "received" : "dated"} ${line.at}`,
    line.after_the_end ? { text: "after the end", style: "red" } : { text: "" },
    { text: by.length === 0 ? "" : `corrected by ${corrected}`, style: "yellow" },
    line.subject,
  ];
}
