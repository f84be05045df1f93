import type { GrowthView } from "../../agent/answers/growth.ts";
import { pendingTrouble } from "../../agent/answers/troubles.ts";
import { loadPlace, type AgentConfig } from "../../agent/config/agent-config.ts";
import { knownMembership } from "../../agent/config/known-handles.ts";
import { pendingPolicy } from "../../agent/config/pending-policy.ts";
import { integrationRecord } from "../../agents/integrate/record.ts";
import { toolTroubles } from "../../agents/integrate/tools/all-tools.ts";
import { unjoinedWorktree } from "../../agents/integrate/worktrees.ts";
import { DeaddropError } from "../../api/errors.ts";
import { readTransportSettings, transportPaths } from "../../carriers/transport-settings.ts";
import { SocketRefused } from "../../client/sandbox.ts";
import { connectDaemon } from "../../client/socket-client.ts";
import {
  checkDaemon,
  checkDomains,
  checking,
  checkKey,
  checkPeers,
  checkPolicy,
  checkUnowned,
  growthOf,
} from "../../setup/checks/agent-checks.ts";
import { checkFolder } from "../../setup/checks/folder-checks.ts";
import {
  checkClock,
  checkFilesystem,
  checkLocks,
  checkSignatures,
  checkNode,
  checkSpace,
  ok,
  failed,
  warning,
  type Finding,
} from "../../setup/checks/host-checks.ts";
import { checkTransport } from "../../setup/checks/transport-checks.ts";
import { setupHost, type SetupHost } from "../../setup/host.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import { V30_NOTE } from "../../trust/policy/config.ts";
import { DEFAULT_LIMITS } from "../../wire/limits.ts";
import { agentPlace } from "../agent-place.ts";
import { define } from "../command.ts";
import { findHandle, findWire, homeOf, type Cli, type GlobalFlags } from "../context.ts";
import { recordPath } from "../integrate/joining.ts";
import { growthText } from "../output/text.ts";
import { EXIT_WRONG, liveTroubles, troubleFinding } from "../live/troubles.ts";
import { emit, table, type Cell, type Paint, type Style } from "../output/output.ts";

/**
 * Every precondition, what is wrong now, and what to do about it. Exits 0 only when nothing is wrong now; a
 * warning is none of that. Spec 8.6.
 */
export const doctor = define({
  about: "Checks everything that deaddrop needs, and says how to fix what is wrong.",
  async run(cli, flags) {
    const host = setupHost(cli.env, cli.clock.nowMs());
    const onDisk = [...hostFindings(host, cli.env), ...wireFindings(cli, host, flags)];
    // What a check has found on disk the agent need not say again.
    const said = new Set(onDisk.flatMap(({ check, result }) => (result === "failed" ? check : [])));
    const isHere = isAgentHere(onDisk);
    const refused = isHere ? await socketFindings(cli, flags) : [];
    const live = isHere ? await liveFindings(cli, flags) : [];
    // A daemon that is there on disk, for example, may not answer.
    const wrong = new Set(live.map(({ check }) => check));
    const findings = [
      ...refused,
      // That a sandbox lets no file be made is no fault of the machine.
      ...onDisk.filter(({ check, result }) =>
        result === "ok" ? !wrong.has(check) : refused.length === 0 || check !== "kernel locks",
      ),
      ...live.filter(({ check }) => !said.has(check)),
    ];
    const failures = findings.filter(({ result }) => result === "failed").length;
    emit(cli, flags, { ok: failures === 0, findings }, (paint) => text(findings, paint));
    if (failures > 0) cli.exitCode = EXIT_WRONG;
  },
});

function hostFindings(host: SetupHost, env: NodeJS.ProcessEnv): readonly Finding[] {
  return [
    checkNode(process.version),
    ...checking("kernel locks", () => [checkLocks()]),
    ...checking("signatures", () => [checkSignatures()]),
    ...checking("disk space", () => [
      checkSpace(existing(host.disk, host.places.stateHome), "private"),
    ]),
    ...(env["DEADDROP_WIRE"] === undefined ? [] : [ok("DEADDROP_WIRE", env["DEADDROP_WIRE"])]),
  ];
}

/** The folder itself, or the nearest one above it that is there already. */
function existing(disk: Disk, folder: string): string {
  if (disk.stat(folder) !== undefined) return folder;
  const above = folder.slice(0, Math.max(folder.lastIndexOf("/"), 1));
  return above === folder ? "/" : existing(disk, above);
}

function wireFindings(cli: Cli, host: SetupHost, flags: GlobalFlags): readonly Finding[] {
  const { disk, places, nowMs } = host;
  let wireDir: string | undefined;
  let place: AgentConfig | undefined;
  const found = checking("wire", () => {
    wireDir = findWire(cli, flags);
    return [];
  });
  if (wireDir === undefined) {
    return [...found, checkClock(nowMs, undefined, DEFAULT_LIMITS.max_clock_skew_seconds)];
  }
  const folder = wireDir;
  const loaded = checking("agent", () => {
    const handle = findHandle(cli, flags);
    place = loadPlace(disk, places, { wireDir: folder, handle, peers: flags.peer });
    const { config, paths } = place;
    const { members } = knownMembership(disk, place);
    return [
      ok("wire", `${folder}, ${config.protocolVersion}: ${[...members.keys()].join(", ")}`),
      ...(config.protocolVersion === "v3.0" ? [ok("v3.0", V30_NOTE)] : []),
      ok("agent", `${handle}, private folder ${paths.configDir}`),
    ];
  });
  const onDisk = [
    ...checking("filesystem", () => [checkFilesystem(folder)]),
    ...checking("disk space", () => [checkSpace(folder, "wire")]),
    ...checking("clock", () => [
      checkClock(nowMs, folder, place?.config.limits.max_clock_skew_seconds ?? 300),
    ]),
  ];
  return [...loaded, ...onDisk, ...(place === undefined ? [] : placeFindings(cli, host, place))];
}

function placeFindings(cli: Cli, host: SetupHost, place: AgentConfig): readonly Finding[] {
  const { env } = cli;
  const { disk, nowMs } = host;
  return [
    ...checking("folder", () => checkFolder(disk, place)),
    ...checking("key", () => checkKey(disk, place, nowMs)),
    ...checking("accepted configuration", () => {
      const { lines } = pendingPolicy(disk, place);
      if (lines.length === 0) return [ok("accepted configuration", "the wire's own is the same")];
      const { detail, end } = pendingTrouble(lines);
      return [failed("accepted configuration", detail, end)];
    }),
    ...checkPolicy(place),
    ...checking("domains", () => checkDomains(place, cli.cwd)),
    ...checking("unowned logs", () => checkUnowned(disk, place)),
    ...checking("peers", () => checkPeers(disk, place)),
    ...checking("growth", () => growthOf(disk, place).flatMap(growthFinding)),
    ...checking("daemon", () => [checkDaemon(disk, place)]),
    ...checking("transport", () => transportFindings(host, place, env)),
    ...checking("coding tools", () => toolFindings(host, place, cli)),
  ];
}

/** Nothing where the wire is shared by its folder alone. */
function transportFindings(
  host: SetupHost,
  { paths: { wireKey } }: AgentConfig,
  env: NodeJS.ProcessEnv,
): readonly Finding[] {
  const { settings } = transportPaths(host.places, wireKey);
  const read = readTransportSettings(host.disk, settings);
  if (!read.ok) {
    const end = "deaddrop transport switch git --remote URL";
    return [failed("transport", `${settings}: ${read.problem}`, end)];
  }
  return read.git === undefined ? [] : checkTransport(read.git, env);
}

/** What the person of a tool has not approved yet, in tools that are joined. Spec 8.3. */
function toolFindings(
  { disk }: SetupHost,
  { paths }: AgentConfig,
  { env, cwd }: Cli,
): readonly Finding[] {
  const written = integrationRecord(disk, recordPath(paths)).read();
  const place = { disk, env, home: homeOf(env) };
  const troubles = [
    ...toolTroubles(place, written),
    ...unjoinedWorktree(written, disk.realPath(cwd)),
  ];
  return troubles.map(({ problem, fix, isLimit }) =>
    isLimit === true
      ? ok("coding tools", `${problem} (${fix})`)
      : warning("coding tools", problem, fix),
  );
}

/** A line for all that is there: what is large comes with what to do. */
function growthFinding(each: GrowthView): Finding[] {
  const { advice, ...size } = each;
  const [check, detail] = [`size of ${each.what}`, growthText(size)];
  if (advice !== undefined) return [warning(check, detail, advice)];
  return each.files === 0 ? [] : [ok(check, detail)];
}

/** Whether wire and identity could be loaded: of others nothing can be asked. */
function isAgentHere(findings: readonly Finding[]): boolean {
  return findings.some(({ check, result }) => check === "agent" && result === "ok");
}

/** Whether this very shell may connect to a daemon at all. */
async function socketFindings(cli: Cli, flags: GlobalFlags): Promise<readonly Finding[]> {
  try {
    const { paths } = agentPlace(cli, flags).place;
    (await connectDaemon(paths, undefined, cli.env))?.close();
    return [];
  } catch (error) {
    if (!(error instanceof SocketRefused)) return [];
    return [warning("sandbox", error.message, error.hint ?? "")];
  }
}

/** What is wrong now, as the agent itself says. */
async function liveFindings(cli: Cli, flags: GlobalFlags): Promise<readonly Finding[]> {
  try {
    const troubles = await liveTroubles(cli, flags);
    // Some may have begun as they were looked for.
    const nowMs = cli.clock.nowMs();
    return troubles.map((trouble) => troubleFinding(trouble, nowMs));
  } catch (error) {
    if (!(error instanceof DeaddropError)) throw error;
    return [failed("agent", error.message, error.hint ?? "see the message")];
  }
}

const STYLES: Record<Finding["result"], Style> = { ok: "green", warning: "yellow", failed: "red" };

const bold = (text: string): Cell => ({ text, style: "bold" });

function text(findings: readonly Finding[], paint: Paint): string {
  const rows = findings.flatMap(({ check, result, detail, fix }): Cell[][] => {
    const row: Cell[] = [{ text: result, style: STYLES[result] }, check, detail];
    if (fix === undefined) return [row];
    const lines = fix.split("\n").map((line, at) => `${at === 0 ? "→" : " "} ${line}`);
    return [row, ...lines.map((line) => [{ text: "" }, { text: "" }, bold(line)])];
  });
  return table(rows, paint, undefined);
}
