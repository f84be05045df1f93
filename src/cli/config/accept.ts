import { DeaddropError } from "../../api/errors.ts";
import { checkWireTiers, parsedConfig } from "../../setup/wire/wire-config.ts";
import { readWhole } from "../../storage/disk/disk.ts";
import { savePinned } from "../../storage/private/private-store.ts";
import { defaultPolicyText } from "../../trust/policy/default-policy.ts";
import { DEFAULT_CONFIG, type WireConfig } from "../../trust/policy/config.ts";
import {
  DEFAULT_HEARTBEAT_TIERS,
  parseHeartbeatTiers,
} from "../../trust/policy/heartbeat-tiers.ts";
import { diffConfig, diffTiers, isLooser, lostPast } from "../../trust/policy/policy-drift.ts";
import { weaknesses } from "../../trust/policy/weak-policy.ts";
import type { AgentConfig } from "../../agent/config/agent-config.ts";
import { agentPlace, reloadDaemon, type AgentPlace } from "../agent-place.ts";
import { confirmOperator, type ConsentFlags } from "../input/confirm.ts";
import type { Cli, GlobalFlags } from "../context.ts";
import { emit } from "../output/output.ts";
import { sanitise } from "../output/sanitise.ts";

/** What the wire says now, against what this agent holds on to. Spec 1.1. */
interface Differences {
  readonly lines: readonly string[];
  readonly config: Uint8Array | undefined;
  readonly tiers: Uint8Array | undefined;
}

export function differences({ host, place }: AgentPlace): Differences {
  const { disk } = host;
  const config = readWhole(disk, place.wire.config);
  const tiers = readWhole(disk, place.wire.tiers);
  const newConfig = config === undefined ? DEFAULT_CONFIG : parsedConfig(place.wire.config, config);
  checkWireTiers(disk, place.wire.folder);
  const parsedTiers = tiers === undefined ? undefined : parseHeartbeatTiers(tiers);
  const newTiers = parsedTiers?.ok === true ? parsedTiers.tiers : DEFAULT_HEARTBEAT_TIERS;
  const lines = [
    ...diffConfig(place.config, newConfig),
    ...newWeaknesses(place, newConfig),
    ...diffTiers(place.tiers, newTiers),
  ];
  return { lines, config, tiers };
}

/** In what the new policy is weaker than the defaults and the held one is not. */
function newWeaknesses(
  { config, layout, handle }: AgentConfig,
  next: WireConfig,
): readonly string[] {
  const held = weaknesses(config, layout.roster, [handle]).map(({ detail }) => detail);
  const roster = [...new Set([...layout.roster, ...next.roster])];
  const isTold = isLooser(config.signing, next.signing);
  return weaknesses(next, roster, [handle])
    .filter(({ kind, detail }) => !held.includes(detail) && !(isTold && kind === "unsigned"))
    .map(({ detail }) => `WEAKER: ${detail}`);
}

/** `deaddrop config accept`: the operator agrees to what the wire says now. */
export async function accept(cli: Cli, flags: GlobalFlags & ConsentFlags): Promise<void> {
  const at = agentPlace(cli, flags);
  const { lines, config, tiers } = differences(at);
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

function refuseLostPast({ place }: AgentPlace, bytes: Uint8Array | undefined): void {
  const { config, settings, wire, handle } = place;
  const next = bytes === undefined ? DEFAULT_CONFIG : parsedConfig(wire.config, bytes);
  const roster = next.roster.length > 0 ? next.roster : [handle, ...settings.peers];
  const held = { ...config, roster: place.layout.roster };
  const problem = lostPast(held, { ...next, roster }, handle);
  if (problem === undefined) return;
  throw new DeaddropError("config", problem, {
    hint: `there is no command for that yet; have ${wire.config} put back as it was. Your daemon goes on with what you accepted before`,
  });
}
