import { parsedConfig } from "../../agent/config/parsed-config.ts";
import { DeaddropError } from "../../api/errors.ts";
import { identityPaths, wirePaths } from "../../storage/paths.ts";
import { readPinned, savePinned } from "../../storage/private/private-store.ts";
import type { WireConfig } from "../../trust/policy/config.ts";
import { lostPast } from "../../trust/policy/policy-drift.ts";
import { hasEverLeft, isAway } from "../../wire/roster/members.ts";
import { agentPathsOn, type SetupHost } from "../host.ts";
import type { Step } from "../steps.ts";
import type { AgentSide } from "./agent-steps.ts";

/**
 * A handle that left names nobody else: it comes back once a member lets it, and with its own key. Spec
 * 3.11.
 */
export function refuseGone(
  { disk, places }: SetupHost,
  { left }: WireConfig,
  { handle, newKey }: { readonly handle: string; readonly newKey?: boolean | undefined },
): void {
  if (isAway(left, handle)) {
    throw new DeaddropError("refused", `${handle} has left this wire`, {
      hint: `a member lets it come back: deaddrop member add ${handle}; or join with another handle`,
    });
  }
  const isHere = disk.stat(identityPaths(places, handle).key) !== undefined;
  if (!hasEverLeft(left, handle) || isHere || newKey === true) return;
  throw new DeaddropError("refused", `${handle} was on this wire before, and its key is not here`, {
    hint: "restore its key (deaddrop restore), or choose another handle. If you are that agent and the key is lost: --new-key",
  });
}

/** Only for an agent that was here before, on a wire that says that it has been away. */
export function comeBackSteps(host: SetupHost, side: AgentSide): Step[] {
  const { left } = parsedConfig(wirePaths(side.wireDir).config, side.policy.config);
  const { pinnedConfig } = agentPathsOn(host, side.wireDir, side.handle, side.wireId);
  const wasHere = host.disk.stat(pinnedConfig) !== undefined;
  return wasHere && left.has(side.handle) ? [comeBackStep(host, side)] : [];
}

/** What this agent has pinned says that it left, and the wire says that it is back. */
function comeBackStep(host: SetupHost, side: AgentSide): Step {
  const paths = () => agentPathsOn(host, side.wireDir, side.handle, side.wireId);
  const pinned = (): WireConfig | undefined => {
    const bytes = readPinned(host.disk, paths(), "config");
    return bytes === undefined ? undefined : parsedConfig(paths().pinnedConfig, bytes);
  };
  return {
    what: `take the configuration in which ${side.handle} is a member again`,
    needed: () => {
      const held = pinned();
      if (held === undefined || !isAway(held.left, side.handle)) return false;
      const next = parsedConfig(wirePaths(side.wireDir).config, side.policy.config);
      return lostPast(held, next, side.handle) === undefined;
    },
    run: () => {
      savePinned(host.disk, paths(), "config", side.policy.config);
    },
  };
}
