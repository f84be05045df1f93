import { DeaddropError } from "../../api/errors.ts";
import { parsedConfig } from "../../agent/config/parsed-config.ts";
import { pendingPolicy } from "../../agent/config/pending-policy.ts";
import { savePinned } from "../../storage/private/private-store.ts";
import { defaultPolicyText } from "../../trust/policy/default-policy.ts";
import { DEFAULT_CONFIG } from "../../trust/policy/config.ts";
import { policyConflict } from "../../trust/policy/policy-drift.ts";
import { agentPlace, reloadDaemon, type AgentPlace } from "../agent-place.ts";
import { confirmOperator, type ConsentFlags } from "../input/confirm.ts";
import type { Cli, GlobalFlags } from "../context.ts";
import { emit } from "../output/output.ts";
import { sanitise } from "../../framing/sanitise.ts";

/** Flags of `config accept`. */
export type AcceptFlags = GlobalFlags & ConsentFlags;

/** `deaddrop config accept`: the operator agrees to what the wire says now. */
export async function accept(cli: Cli, flags: AcceptFlags): Promise<void> {
  const at = agentPlace(cli, flags);
  const { host, place } = at;
  const { lines, config, tiers } = pendingPolicy(host.disk, place);
  if (lines.length === 0) {
    emit(cli, flags, { accepted: false, differences: [] }, () => "There is nothing to accept.");
    return;
  }
  refuseConflict(at, config);
  const action = {
    action: "config accept",
    target: place.wire.folder,
    effect: lines,
    word: "accept",
  };
  await confirmOperator(cli, flags, action, place.paths.operatorJournal);
  // What was shown is what is kept, whatever is in the folder by now.
  savePinned(host.disk, place.paths, "config", config ?? Buffer.from(defaultPolicyText("config")));
  savePinned(host.disk, place.paths, "tiers", tiers ?? Buffer.from(defaultPolicyText("tiers")));
  await reloadDaemon(place.paths);
  emit(cli, flags, { accepted: true, differences: lines }, (paint) =>
    [paint("green", "accepted"), ...lines.map((line) => `  ${sanitise(line)}`)].join("\n"),
  );
}

function refuseConflict({ place }: AgentPlace, bytes: Uint8Array | undefined): void {
  const { config, wire, handle } = place;
  const next = bytes === undefined ? DEFAULT_CONFIG : parsedConfig(wire.config, bytes);
  const problem = policyConflict(config, next, handle);
  if (problem === undefined) return;
  throw new DeaddropError("config", problem, {
    hint: `have ${wire.config} put back as it was; your daemon goes on with what you accepted before`,
  });
}
