import { Command } from "commander";
import { resolve } from "node:path";
import { DeaddropError } from "../../../api/errors.ts";
import { setupHost } from "../../../setup/host.ts";
import { joinWire, type JoinRequest } from "../../../setup/wire/join-wire.ts";
import { requireWire } from "../../../storage/wire-folder.ts";
import { findWire, type Cli } from "../../context.ts";
import { example } from "../../output/example.ts";
import { emit } from "../../output/output.ts";
import { addAcceptFlags, agreementOn, type AcceptFlags } from "../../input/policy-consent.ts";
import {
  addPartyFlags,
  ownHandle,
  peerHandles,
  peerKeys,
  setupText,
  type PartyFlags,
  type Section,
} from "../../output/setup-text.ts";
import { helloSection, digitsCommand, policySection, runSection } from "./init.ts";

export interface Flags extends PartyFlags, AcceptFlags {
  acceptWireTrust?: boolean;
  anew?: boolean;
}

/** `deaddrop join`: takes an agent onto a wire that is there. Spec 4.3. */
export function command(cli: Cli): Command {
  const join = new Command("join")
    .description(
      "Joins a wire that somebody else has made: your key, your logs, what you keep to yourself.\n" +
        "Nobody is believed because of it: that takes the digits that you compare (trust sas). Running it\n" +
        "again is safe.",
    )
    .argument("[folder]", "the wire's folder (default: the nearest _coordination/ upward)")
    .option("--accept-wire-trust", "pin the keys that the wire claims for your peers, at UNTRUSTED")
    .option(
      "--anew",
      "this is a new wire at the old place: ignore what was remembered of the old one",
    );
  return addPartyFlags(addAcceptFlags(join))
    .addHelpText("after", example("deaddrop join ./_coordination --me scribe --peer forge"))
    .action((folder: string | undefined, flags: Flags) => run(cli, folder, flags));
}

export async function run(cli: Cli, folder: string | undefined, flags: Flags): Promise<void> {
  if (folder !== undefined && /^[a-z][a-z0-9+.-]*:\/\//i.test(folder)) {
    throw new DeaddropError("usage", `${folder} is a URL; join takes a folder`, {
      hint: "clone or mount it first, and give the folder",
    });
  }
  const wireDir = folder === undefined ? findWire(cli, flags) : resolve(cli.cwd, folder);
  const peers = peerHandles(flags);
  const host = setupHost(cli.env, cli.clock.nowMs());
  const handle = ownHandle(cli, flags);
  const { anew } = flags;
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
    dryRun: flags.dryRun,
  };
  const report = joinWire(host, request, agrees);
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
