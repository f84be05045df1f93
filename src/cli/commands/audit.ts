import { Command } from "commander";
import { readFileSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import { runAudit, type AuditPlan, type AuditReport } from "../../audit/audit.ts";
import { filePlan, wirePlan, type Keys } from "../../audit/plan.ts";
import { DeaddropError } from "../../daemon/errors.ts";
import { loadPlace } from "../../daemon/place.ts";
import { agentPathsOn, setupHost, type SetupHost } from "../../setup/host.ts";
import { readWireConfig } from "../../setup/wire-config.ts";
import { readWhole } from "../../storage/disk.ts";
import { wirePaths } from "../../storage/paths.ts";
import { requireWire } from "../../storage/wire-folder.ts";
import { DEFAULT_CONFIG } from "../../trust/config.ts";
import { DEFAULT_HEARTBEAT_TIERS } from "../../trust/heartbeat-tiers.ts";
import { EMPTY_STORE } from "../../trust/store.ts";
import { parseTrustFile } from "../../trust/trust-file.ts";
import { findWire, localHandles, type Cli, type GlobalFlags } from "../context.ts";
import { example } from "../example.ts";
import { emit, table, type Cell, type Paint } from "../output.ts";
import { shortId } from "../text.ts";

export interface Flags extends GlobalFlags {
  trust?: string;
}

/** Violations that are listed for a person; `--json` has all of them. */
const SHOWN_VIOLATIONS = 50;

/** `deaddrop audit`: everything again, from the logs alone. Spec 4.4. */
export function command(cli: Cli): Command {
  return new Command("audit")
    .description(
      "Derives messages, threads, decisions and incidents again from the logs alone, and checks\n" +
        "lines, signatures, chains and recorded decisions. Exits 1 when anything is violated.",
    )
    .argument("[files...]", "logs to read (default: all logs of the wire)")
    .option("--trust <file>", "believe the keys of this trust file (default: your pins)")
    .addHelpText(
      "after",
      example("deaddrop audit --wire ./_coordination --json", "deaddrop audit old/*.jsonl"),
    )
    .action((files: string[], flags: Flags) => {
      run(cli, files, flags);
    });
}

export function run(cli: Cli, files: readonly string[], flags: Flags): void {
  const host = setupHost(cli.env, cli.nowMs());
  const plan =
    files.length === 0 ? planOfWire(cli, host, flags) : planOfFiles(cli, host, files, flags);
  const report = runAudit(plan);
  emit(cli, flags, report, (paint) => auditText(report, paint, cli.stdout.columns));
  if (report.violations.length > 0) cli.exitCode = 1;
}

function planOfFiles(
  cli: Cli,
  { disk }: SetupHost,
  files: readonly string[],
  flags: Flags,
): AuditPlan {
  const paths = files.map((file) => fileAt(cli, file));
  const planned = filePlan(disk, paths, givenKeys(cli, flags) ?? NO_KEYS);
  if (planned.ok) return planned.plan;
  throw new DeaddropError("refused", planned.detail, {
    hint: "audit the files of one wire at a time",
  });
}

const NO_KEYS: Keys = { from: "none", store: EMPTY_STORE };

function fileAt(cli: Cli, named: string): string {
  const path = resolve(cli.cwd, named);
  try {
    return realpathSync(path);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ENOENT") throw cause;
    throw new DeaddropError("usage", `${path}: no such file`, {
      hint: "audit takes logs (.jsonl), or none for the wire's own",
      cause,
    });
  }
}

/** By our own pins and pinned configuration where we are an agent of the wire. */
function planOfWire(cli: Cli, host: SetupHost, flags: Flags): AuditPlan {
  const wireDir = findWire(cli, flags);
  requireWire(host.disk, wireDir);
  const given = givenKeys(cli, flags);
  const handle = auditorOf(cli, host, wireDir, flags);
  if (handle !== undefined) {
    const place = loadPlace(host.disk, host.places, { wireDir, handle, peers: flags.peer });
    const keys: Keys = given ?? { from: "pinned", store: place.store };
    const { config, tiers, layout, paths } = place;
    const by = { config, tiers, roster: layout.roster, journal: paths.journal };
    return wirePlan(host.disk, place.wire.folder, keys, by);
  }
  const config = readWireConfig(host.disk, wireDir) ?? DEFAULT_CONFIG;
  const keys = given ?? advertisedKeysOf(host, wireDir);
  return wirePlan(host.disk, wireDir, keys, {
    config,
    tiers: DEFAULT_HEARTBEAT_TIERS,
    roster: strangersRoster(config.roster, flags, keys),
    journal: undefined,
  });
}

/** Who was named, else the only identity here if it is an agent of this wire. */
function auditorOf(cli: Cli, host: SetupHost, wireDir: string, flags: Flags): string | undefined {
  const named = flags.as ?? cli.env["DEADDROP_AS"];
  if (named !== undefined && named !== "") return named;
  const [only, ...others] = localHandles(cli.env);
  if (only === undefined || others.length > 0) return undefined;
  const wireId = readWireConfig(host.disk, wireDir)?.wireId;
  const { remembered } = agentPathsOn(host, wireDir, only, wireId);
  return host.disk.stat(remembered) === undefined ? undefined : only;
}

function strangersRoster(declared: readonly string[], flags: Flags, keys: Keys): readonly string[] {
  if (declared.length > 0) return declared;
  const roster = flags.peer ?? [...keys.store.peers.keys()];
  if (roster.length >= 2) return roster;
  throw new DeaddropError("usage", "this wire does not say who is on it", {
    hint: "name its agents: --peer <handle>, once for each",
  });
}

/** What the wire claims: better than nothing for an auditor who has pinned nobody. */
function advertisedKeysOf(host: SetupHost, wireDir: string): Keys {
  const path = wirePaths(wireDir).trust;
  const bytes = readWhole(host.disk, path);
  const parsed = bytes === undefined ? undefined : parseTrustFile(bytes, path, "UNTRUSTED");
  if (parsed?.ok !== true) return NO_KEYS;
  const { peers, version } = parsed.document;
  return { from: "advertised", store: { version: version ?? 0, peers } };
}

function givenKeys(cli: Cli, flags: Flags): Keys | undefined {
  if (flags.trust === undefined) return undefined;
  const path = fileAt(cli, flags.trust);
  const parsed = parseTrustFile(readFileSync(path), path, "ATTESTED");
  if (!parsed.ok) throw new DeaddropError("usage", parsed.detail);
  const { peers, version } = parsed.document;
  return { from: "given", store: { version: version ?? 0, peers } };
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
      { text: each.ratified_at },
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
  section(
    counted(violations.length, "violation"),
    violations
      .slice(0, SHOWN_VIOLATIONS)
      .map((each) => [
        { text: each.rule, style: "red" },
        { text: `${each.log ?? "decisions"}${each.line === null ? "" : `:${each.line}`}` },
        { text: each.detail },
      ]),
  );
  const more = violations.length - SHOWN_VIOLATIONS;
  if (more > 0) lines.push(`and ${more} more (--json shows all)`);
  const { twins, torn } = report;
  if (twins.length > 0) lines.push(`decisions recorded twice, which count once: ${twins.length}`);
  if (torn.length > 0) {
    lines.push(`torn entries in decisions.jsonl, which count for nothing: ${torn.length}`);
  }
  return lines.join("\n");
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
