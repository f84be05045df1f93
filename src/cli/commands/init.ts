import { basename, dirname, join, resolve } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { agentsFileSteps } from "../../setup/agents-file.ts";
import { setupHost, type SetupHost } from "../../setup/host.ts";
import type { SetupReport } from "../../setup/report.ts";
import { runSteps, type StepReport } from "../../setup/steps.ts";
import { initLocalPair, initWire, type InitRequest } from "../../setup/wire/init-wire.ts";
import { shownPolicy, type Agreement } from "../../setup/wire/policy-to-pin.ts";
import { closedPassages, ownGroupId } from "../../setup/wire/unix-groups.ts";
import { shippedTiersText } from "../../setup/program.ts";
import { newConfigText } from "../../setup/wire/wire-config.ts";
import { shellWord } from "../../wire/quote.ts";
import { define, type FlagsOf, type Options } from "../command.ts";
import { requireWireHere, type Cli } from "../context.ts";
import { groupFor } from "../input/group-question.ts";
import { ACCEPT_OPTIONS, agreementOn } from "../input/policy-consent.ts";
import { emit } from "../output/output.ts";
import {
  PARTY_OPTIONS,
  ownHandle,
  peerHandles,
  peerKeys,
  setupText,
  stepsText,
  shellCommand,
  type Section,
} from "../output/setup-text.ts";
import { remoteToUse } from "../transport/github-remote.ts";
import { claimRemote, remoteToFill, shareThrough } from "../transport/sharing-by-remote.ts";

const OPTIONS = {
  "--wire <folder>": "the folder to make (default: _coordination here)",
  "--group <group>": "let agents that are users of one group share it, a log each",
  "--remote <url>": "share it with other machines through this git repository",
  "--branch <name>": "the branch in it (default: the repository's own)",
  "--github": "make a private repository for it on GitHub, with gh",
  "--peer-github <user>": "the same, and invite that user",
  "--repo-name <name>": "its name (default: a random one)",
  "--local-pair": "make all sides on this machine, each pinned TRUSTED by the others",
  "--agents-md": "tell agents how to use it, in AGENTS.md and CLAUDE.md; alone: only that",
  ...ACCEPT_OPTIONS,
  ...PARTY_OPTIONS,
} as const satisfies Options;
type Flags = FlagsOf<typeof OPTIONS>;

/** Makes a wire. Spec 8.6. */
export const init = define({
  about:
    "Makes a wire: the folder that the agents share, your key, and what you keep to yourself. " +
    "Running it again is safe: what is there stays as it is.",
  options: OPTIONS,
  examples: [
    "deaddrop init --me forge --peer scribe",
    "deaddrop init --me forge --peer scribe --local-pair",
  ],
  run: makeWire,
});

async function makeWire(cli: Cli, flags: Flags): Promise<void> {
  if (isAgentsFileOnly(flags)) {
    const folder = projectOf(cli, requireWireHere(cli, flags));
    const steps = tellAgents(cli, flags, folder);
    emit(cli, flags, { dry_run: flags.dryRun === true, folder, steps }, (paint) =>
      stepsText(steps, paint),
    );
    return;
  }
  const handle = ownHandle(cli, flags);
  const peers = peerHandles(flags);
  const wireDir = resolve(cli.cwd, flags.wire ?? join(cli.cwd, "_coordination"));
  const host = setupHost(cli.env, cli.clock.nowMs());
  const handles = flags.localPair === true ? [handle, ...peers] : [handle];
  const asked = { command: "init", wireDir, handles, peers };
  const agrees = await agreementOn(cli, flags, host, asked);
  const request: Omit<InitRequest, "handles"> = {
    wireDir,
    peers,
    group: await groupFor(cli, flags, host, wireDir),
    track: flags.track,
    dryRun: flags.dryRun,
  };
  if (flags.localPair === true) {
    initPair(cli, flags, host, { request, handle, agrees });
    return;
  }
  const keys = peerKeys(cli, flags, peers);
  const { url: remote, would } = remoteToUse(cli, host, flags, { wireDir, handle });
  const through = { ...(remote === undefined ? {} : { remote }), ...branchOf(flags) };
  const looked = await remoteToFill(cli, host, through, { wireDir, handle });
  const made = [...initWire(host, { ...request, handles: [handle], peerKeys: keys }, agrees)];
  const [own] = made;
  if (looked !== undefined && own !== undefined) {
    if (!own.dry_run) await claimRemote(looked, wireDir);
    made[0] = await shareThrough(cli, host, looked, own);
  }
  if (would !== undefined && own !== undefined) {
    made[0] = { ...own, steps: [...own.steps, { step: would, outcome: "would" }] };
  }
  const reports = withAgentsFile(cli, flags, made);
  emit(cli, flags, reports[0], (paint) =>
    setupText(reports, paint, [
      ...passageSection(host, wireDir, request.group),
      [
        "The other side runs (from a clone of the program: ./install.sh in the place of deaddrop)",
        ...peers.map((peer) => joinCommand(remote ?? wireDir, peer, handle)),
      ],
      [
        "Then compare six digits with its operator, over a channel that you trust",
        ...peers.map((peer) => digitsCommand(wireDir, handle, peer)),
      ],
      ...reports.flatMap((each) => [policySection(each), runSection(each), helloSection(each)]),
    ]),
  );
}

function branchOf({ branch }: Flags): { branch?: string } {
  return branch === undefined ? {} : { branch };
}

/** All sides on this machine. */
function initPair(
  cli: Cli,
  flags: Flags,
  host: SetupHost,
  {
    request,
    handle,
    agrees,
  }: {
    readonly request: Omit<InitRequest, "handles">;
    readonly handle: string;
    readonly agrees: Agreement;
  },
): void {
  if (flags.peerKey !== undefined) {
    throw new DeaddropError("usage", "--local-pair makes all keys itself", {
      hint: "leave out --peer-key",
    });
  }
  if ([flags.remote, flags.github, flags.peerGithub].some((each) => each !== undefined)) {
    throw new DeaddropError("usage", "--local-pair is for one machine", {
      hint: "leave out --remote and --github",
    });
  }
  const reports = withAgentsFile(cli, flags, initLocalPair(host, request, handle, agrees));
  emit(cli, flags, reports, (paint) =>
    setupText(reports, paint, [
      ...reports.slice(0, 1).map((each) => policySection(each)),
      ["Run each side's daemon", ...reports.map((each) => daemonCommand(each))],
      ...reports.slice(0, 1).map((each) => helloSection(each)),
    ]),
  );
}

/** Without that, the line that the other side runs does not get to the wire. */
function passageSection(host: SetupHost, wireDir: string, group: string | undefined): Section[] {
  if (group === undefined) return [];
  const closed = closedPassages(host.disk, wireDir, ownGroupId(group));
  if (closed.length === 0) return [];
  const title = `First let members of ${group} pass through to the wire`;
  return [[title, ...closed.map(({ folder, open }) => `chmod ${open} ${shellWord(folder)}`)]];
}

function isAgentsFileOnly(flags: Flags): boolean {
  const named = flags.me ?? flags.myHandle;
  return flags.agentsMd === true && named === undefined && peerHandles(flags).length === 0;
}

/** The folder that holds the wire, where that is a project's; else the one we are in. */
function projectOf(cli: Cli, wireDir: string): string {
  return basename(wireDir) === "_coordination" ? dirname(wireDir) : cli.cwd;
}

function tellAgents(cli: Cli, flags: Flags, folder: string): StepReport[] {
  const { disk } = setupHost(cli.env, cli.clock.nowMs());
  return runSteps(agentsFileSteps(disk, folder), flags.dryRun === true);
}

/** With --agents-md these steps come last, and are told with the first side's. */
function withAgentsFile(
  cli: Cli,
  flags: Flags,
  reports: readonly SetupReport[],
): readonly SetupReport[] {
  const [first, ...others] = reports;
  if (flags.agentsMd !== true || first === undefined) return reports;
  const steps = tellAgents(cli, flags, projectOf(cli, first.wire_dir));
  return [{ ...first, steps: [...first.steps, ...steps] }, ...others];
}

function joinCommand(wireDir: string, peer: string, handle: string): string {
  return shellCommand("join", wireDir, "--me", peer, "--peer", handle);
}

/** How two operators find out that they speak of the same keys. Spec 2.3. */
export function digitsCommand(wireDir: string, handle: string, peer: string): string {
  return shellCommand("trust", "sas", peer, ...where(wireDir, handle));
}

/** The policy that is held on to, and what of it is weaker than the defaults. Spec 1.1. */
export function policySection(report: SetupReport): Section {
  const { policy, weaker } = report;
  const title =
    weaker.length === 0
      ? "The policy that you hold on to, whatever the folder says later (deaddrop config accept)"
      : "The policy that you hold on to, WEAKER than the defaults, as deaddrop doctor shows it";
  const defaults = new Set(defaultPolicy(report));
  // The first line of all names the id, and a dry run has none.
  const others = policy.filter((line) => !defaults.has(line) && !line.startsWith("wire_id: "));
  const shown = others.length === 0 ? ["all settings are the defaults"] : others;
  return [title, ...shown, ...weaker.map((line) => `WEAKER: ${line}`)];
}

/** What a new wire of the same agents has. */
function defaultPolicy({ wire_id: id, roster }: SetupReport): readonly string[] {
  const config = Buffer.from(newConfigText(id ?? "0".repeat(16), roster));
  return shownPolicy({ config, tiers: Buffer.from(shippedTiersText()) });
}

/** How the daemon is kept running. */
export function runSection(at: SetupReport): Section {
  return ["Run your daemon", daemonCommand(at)];
}

/** How the first word is said, and where the peer's first answer shows. Spec 8.6. */
export function helloSection({ wire_dir: wireDir, handle, peers }: SetupReport): Section {
  const to = peers.slice(0, 1).flatMap((peer) => ["--to", peer.handle]);
  return [
    "Say hello, and see what becomes of it until the other side has acked it",
    shellCommand("send", "hello", ...to, ...where(wireDir, handle)),
    shellCommand("sent", ...where(wireDir, handle)),
  ];
}

function daemonCommand(at: { readonly wire_dir: string; readonly handle: string }): string {
  return shellCommand("service", "install", ...where(at.wire_dir, at.handle));
}

function where(wireDir: string, handle: string): string[] {
  return ["--wire", wireDir, "--as", handle];
}
