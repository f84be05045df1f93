import { resolve } from "node:path";
import { setupHost, type SetupHost } from "../../setup/host.ts";
import type { SetupReport } from "../../setup/report.ts";
import type { StepReport } from "../../setup/steps.ts";
import { joinWire, type JoinRequest } from "../../setup/wire/join-wire.ts";
import { requireWire } from "../../storage/wire-folder.ts";
import { define, type FlagsOf, type Options } from "../command.ts";
import { requireWireHere, type Cli } from "../context.ts";
import { ACCEPT_OPTIONS, agreementOn } from "../input/policy-consent.ts";
import { emit } from "../output/output.ts";
import {
  PARTY_OPTIONS,
  ownHandle,
  peerHandles,
  peerKeys,
  setupText,
  stepsText,
  type Section,
} from "../output/setup-text.ts";
import { isRemote, shareThrough, wireFromRemote } from "../transport/sharing-by-remote.ts";
import { helloSection, digitsCommand, policySection, runSection } from "./init.ts";

const OPTIONS = {
  "--wire <folder>": "where a wire from a repository goes (default: _coordination here)",
  "--branch <name>": "the branch in the repository (default: its own)",
  "--accept-wire-trust": "pin the keys that the wire claims for your peers, at UNTRUSTED",
  "--new-key": "this handle was on the wire before, and its key is lost",
  "--anew": "this is a new wire at the old place: ignore what was remembered of the old one",
  ...ACCEPT_OPTIONS,
  ...PARTY_OPTIONS,
} as const satisfies Options;
type Flags = FlagsOf<typeof OPTIONS>;

/** Takes an agent onto a wire that is there. Spec 8.6. */
export const join = define({
  about:
    "Joins a wire that somebody else has made: your key, your logs, what you keep to yourself. " +
    "Nobody is believed because of it: that takes the digits that you compare (trust sas). Running it " +
    "again is safe.",
  args: {
    "[folder|url]":
      "the wire's folder (default: the nearest _coordination/ upward), or the git repository that it is shared through",
  },
  options: OPTIONS,
  examples: ["deaddrop join ./_coordination --me scribe --peer forge"],
  async run(cli, flags, { "folder|url": folder }) {
    const host = setupHost(cli.env, cli.clock.nowMs());
    if (folder !== undefined && isRemote(cli, folder)) {
      await joinRemote(cli, host, folder, flags);
      return;
    }
    const wireDir = folder === undefined ? requireWireHere(cli, flags) : resolve(cli.cwd, folder);
    show(cli, flags, await joinFolder(cli, host, wireDir, flags));
  },
});

/** A wire that is shared through a git repository. Spec 5.2. */
async function joinRemote(cli: Cli, host: SetupHost, url: string, flags: Flags): Promise<void> {
  const wireDir = remoteWireDir(cli, flags);
  const who = { handle: ownHandle(cli, flags), peers: peerHandles(flags) };
  const dryRun = flags.dryRun === true;
  const at = { ...who, wireDir, branch: flags.branch, dryRun };
  const looked = await wireFromRemote(cli, host, url, at);
  try {
    if (dryRun) {
      wouldJoin(cli, flags, looked.remote.url);
      return;
    }
    const made = await joinFolder(cli, host, wireDir, flags);
    show(cli, flags, await shareThrough(cli, host, looked, made));
  } finally {
    looked.close();
  }
}

/** What a dry run can say of a wire that is not here yet. */
function wouldJoin(cli: Cli, flags: Flags, url: string): void {
  const folder = remoteWireDir(cli, flags);
  const steps: StepReport[] = [
    { step: `make ${folder} from ${url}`, outcome: "would" },
    { step: `join it as ${ownHandle(cli, flags)}`, outcome: "would" },
    { step: `share the wire through ${url}`, outcome: "would" },
  ];
  emit(cli, flags, { dry_run: true, folder, steps }, (paint) => stepsText(steps, paint));
}

/** Where a wire goes that comes from a repository. */
function remoteWireDir(cli: Cli, flags: Flags): string {
  return resolve(cli.cwd, flags.wire ?? "_coordination");
}

async function joinFolder(
  cli: Cli,
  host: SetupHost,
  wireDir: string,
  flags: Flags,
): Promise<SetupReport> {
  const peers = peerHandles(flags);
  const handle = ownHandle(cli, flags);
  const { anew, newKey } = flags;
  requireWire(host.disk, wireDir);
  const asked = { command: "join", wireDir, handles: [handle], peers, anew };
  const agrees = await agreementOn(cli, flags, host, asked);
  const request: JoinRequest = {
    wireDir,
    handle,
    peers,
    peerKeys: peerKeys(cli, flags, peers),
    track: flags.track,
    acceptWireTrust: flags.acceptWireTrust,
    anew,
    newKey,
    dryRun: flags.dryRun,
  };
  return joinWire(host, request, agrees);
}

function show(cli: Cli, flags: Flags, report: SetupReport): void {
  const low = report.peers.filter(({ tier }) => tier === null || tier === "UNTRUSTED");
  const digits = low.map((peer) => digitsCommand(report.wire_dir, report.handle, peer.handle));
  const sections: Section[] = [policySection(report), runSection(report), helloSection(report)];
  if (digits.length > 0) {
    sections.unshift([
      "Compare six digits with the other side's operator, over a channel that you trust",
      ...digits,
    ]);
  }
  emit(cli, flags, report, (paint) => setupText([report], paint, sections));
}
