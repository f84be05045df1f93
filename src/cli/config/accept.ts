import { DeaddropError } from "../../daemon/errors.ts";
import { checkWireTiers, parsedConfig } from "../../setup/wire-config.ts";
import { readWhole } from "../../storage/disk.ts";
import { savePinned } from "../../storage/private-store.ts";
import { defaultPolicyText } from "../../trust/default-policy.ts";
import { DEFAULT_CONFIG } from "../../trust/config.ts";
import { DEFAULT_HEARTBEAT_TIERS, parseHeartbeatTiers } from "../../trust/heartbeat-tiers.ts";
import { diffConfig, diffTiers } from "../../trust/policy-drift.ts";
import { agentPlace, reloadDaemon, type AgentPlace } from "../agent-place.ts";
import { confirmOperator, type ConsentFlags } from "../confirm.ts";
import type { Cli, GlobalFlags } from "../context.ts";
import { emit } from "../output.ts";
import { sanitise } from "../sanitise.ts";

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
  const lines = [...diffConfig(place.config, newConfig), ...diffTiers(place.tiers, newTiers)];
  return { lines, config, tiers };
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
  refuseWithoutUs(at, config);
  const action = {
    action: "config accept",
    target: place.wire.folder,
    effect: lines,
    word: "accept",
  };
  await confirmOperator(cli, flags, action, place.paths.operatorJournal);
  // What was shown is what is kept, whatever stands in the folder by now.
  savePinned(host.disk, place.paths, "config", config ?? Buffer.from(defaultPolicyText("config")));
  savePinned(host.disk, place.paths, "tiers", tiers ?? Buffer.from(defaultPolicyText("tiers")));
  await reloadDaemon(place.paths);
  emit(cli, flags, { accepted: true, differences: lines }, (paint) =>
    [paint("green", "accepted"), ...lines.map((line) => `  ${sanitise(line)}`)].join("\n"),
  );
}

function refuseWithoutUs({ place }: AgentPlace, bytes: Uint8Array | undefined): void {
  const roster = bytes === undefined ? [] : parsedConfig(place.wire.config, bytes).roster;
  if (roster.length === 0 || roster.includes(place.handle)) return;
  throw new DeaddropError("config", `the roster there (${roster.join(", ")}) leaves you out`, {
    hint: `ask who changed ${place.wire.config}; your daemon goes on with what you accepted before`,
  });
}
