import type { GrowthView } from "../../agent/answers/growth.ts";
import { loadPlace, type AgentConfig } from "../../agent/config/agent-config.ts";
import { knownMembership } from "../../agent/config/known-handles.ts";
import { integrationRecord } from "../../agents/integrate/record.ts";
import { toolTroubles } from "../../agents/integrate/tools/all-tools.ts";
import { unjoinedWorktree } from "../../agents/integrate/worktrees.ts";
import { DeaddropError } from "../../api/errors.ts";
import { NO_HINT, trouble, unexplained, type TroubleView } from "../../api/troubles.ts";
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
  type Check,
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
import { EXIT_WRONG, liveTroubles, troubleTexts } from "../live/troubles.ts";
import { emit, table, type Cell, type Paint } from "../output/output.ts";

/**
 * Every precondition, what is wrong now, and what to do about it. Exits 0 only when nothing is wrong now; a
 * warning is none of that. Spec 8.6.
 */
export const doctor = define({
  about: "Checks everything that deaddrop needs, and says how to fix what is wrong.",
  async run(cli, flags) {
    const host = setupHost(cli.env, cli.clock.nowMs());
    const onDisk = [...hostFindings(host, cli.env), ...wireFindings(cli, host, flags)];
    const isHere = onDisk.some((each) => "check" in each && each.check === "agent");
    const refused = isHere ? await socketFindings(cli, flags) : [];
    const live = isHere ? await liveFindings(cli, flags) : [];
    const found = onDisk.flatMap((each) => ("code" in each ? [each] : []));
    const troubles = unexplained([
      ...refused,
      // That a sandbox lets no file be made is no fault of the machine.
      ...found.filter(({ code }) => refused.length === 0 || code !== "no_locks"),
      // What was found on disk the agent need not say again.
      ...live.filter((each) => !found.some(({ code }) => code === each.code)),
    ]);
    // A daemon that is there on disk may not answer.
    const isDaemonWell = !live.some(({ code }) => code === "daemon_failed");
    const checks = onDisk
      .flatMap((each) => ("check" in each ? [each] : []))
      .filter(({ check }) => isDaemonWell || check !== "daemon");
    const isWell = troubles.every(({ severity }) => severity === "warning");
    emit(cli, flags, { ok: isWell, checks, troubles }, (paint) =>
      text(cli, { checks, troubles }, paint),
    );
    if (!isWell) cli.exitCode = EXIT_WRONG;
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
    ...checkPolicy(place),
    ...checking("domains", () => checkDomains(place, cli.cwd)),
    ...checking("peers", () => checkPeers(disk, place)),
    ...checking("growth", () => growthOf(disk, place).flatMap(growthFinding)),
    ...checking("daemon", () => checkDaemon(disk, place)),
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
    const problem = `${settings}: ${read.problem}`;
    return [trouble("transport", { problem, hint: "deaddrop transport switch git --remote URL" })];
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
      : trouble("coding_tool", { problem, hint: fix }),
  );
}

/** A line for all that is there: what is large comes with what to do. */
function growthFinding(each: GrowthView): Finding[] {
  const { advice, ...size } = each;
  const { what } = each;
  const text = growthText(size);
  if (advice !== undefined) return [trouble("large", { what, size: text, advice })];
  return each.files === 0 ? [] : [ok(`size of ${what}`, text)];
}

/** Whether this very shell may connect to a daemon at all. */
async function socketFindings(cli: Cli, flags: GlobalFlags): Promise<readonly TroubleView[]> {
  try {
    const { paths } = agentPlace(cli, flags).place;
    (await connectDaemon(paths, undefined, cli.env))?.close();
    return [];
  } catch (error) {
    if (!(error instanceof SocketRefused)) return [];
    return [trouble("sandbox", { problem: error.message, hint: error.hint ?? NO_HINT })];
  }
}

/** What is wrong now, as the agent itself says. */
async function liveFindings(cli: Cli, flags: GlobalFlags): Promise<readonly TroubleView[]> {
  try {
    return await liveTroubles(cli, flags);
  } catch (error) {
    if (!(error instanceof DeaddropError)) throw error;
    const { message: problem, hint = NO_HINT } = error;
    return [trouble("check_failed", { what: "agent", problem, hint })];
  }
}

interface Report {
  readonly checks: readonly Check[];
  readonly troubles: readonly TroubleView[];
}

function text(cli: Cli, { checks, troubles }: Report, paint: Paint): string {
  const rows = [
    ...checks.map(({ check, detail }): Cell[] => [{ text: "ok", style: "green" }, check, detail]),
    ...troubles.flatMap((each): Cell[][] => {
      const { detail, end } = troubleTexts(cli, each);
      const style = each.severity === "error" ? "red" : "yellow";
      const lines = end.split("\n").map((line, at) => `${at === 0 ? "→" : " "} ${line}`);
      return [
        [{ text: each.severity, style }, each.code, detail],
        ...lines.map((line): Cell[] => [{ text: "" }, { text: "" }, { text: line, style: "bold" }]),
      ];
    }),
  ];
  return table(rows, paint, undefined);
}
