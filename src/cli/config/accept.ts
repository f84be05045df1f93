import { DeaddropError } from "../../api/errors.ts";
import { parsedConfig, pendingPolicy } from "../../agent/config/pending-policy.ts";
import { savePinned } from "../../storage/private/private-store.ts";
import { defaultPolicyText } from "../../trust/policy/default-policy.ts";
import { DEFAULT_CONFIG, type WireConfig } from "../../trust/policy/config.ts";
import { changesLayout, lostPast } from "../../trust/policy/policy-drift.ts";
import { agentPlace, reloadDaemon, type AgentPlace } from "../agent-place.ts";
import { confirmOperator, type ConsentFlags } from "../input/confirm.ts";
import type { Cli, GlobalFlags } from "../context.ts";
import { emit } from "../output/output.ts";
import { sanitise } from "../../framing/sanitise.ts";

/** `deaddrop config accept`: the operator agrees to what the wire says now. */
export async function accept(cli: Cli, flags: GlobalFlags & ConsentFlags): Promise<void> {
  const at = agentPlace(cli, flags);
  const { lines, config, tiers } = pendingPolicy(at.host.disk, at.place);
  const { host, place } = at;
  if (lines.length === 0) {
    emit(cli, flags, { accepted: false, differences: [] }, () => "There is nothing to accept.");
    return;
  }
  refuseLostPast(at, config);
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

/** Which logs there are is agreed on by all agents, and taken by another command. Spec 1.1, 3.11. */
function refuseLayout({ config, wire }: AgentPlace["place"], next: WireConfig): void {
  if (!changesLayout(config, next)) return;
  const words =
    config.layout === next.layout
      ? "the closed logs would change"
      : `the layout would change from ${config.layout} to ${next.layout}`;
  throw new DeaddropError("config", `${words}: config accept does not take that`, {
    hint: `a wire moves with \`deaddrop layout outbox\` and \`deaddrop layout accept\`; if nobody has agreed on it, have ${wire.config} put back as it was`,
  });
}

function refuseLostPast({ place }: AgentPlace, bytes: Uint8Array | undefined): void {
  const { config, settings, wire, handle } = place;
  const next = bytes === undefined ? DEFAULT_CONFIG : parsedConfig(wire.config, bytes);
  const roster = next.roster.length > 0 ? next.roster : [handle, ...settings.peers];
  const held = { ...config, roster: place.layout.roster };
  refuseLayout(place, next);
  const problem = lostPast(held, { ...next, roster }, handle);
  if (problem === undefined) return;
  throw new DeaddropError("config", problem, {
    hint: `there is no command for that yet; have ${wire.config} put back as it was. Your daemon goes on with what you accepted before`,
  });
}
