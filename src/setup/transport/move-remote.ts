import type { AgentConfig } from "../../agent/config/agent-config.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { LookedRemote } from "../../carriers/git/look-at-remote.ts";
import {
  forgetRemote,
  saveTransportSettings,
  type TransportPaths,
} from "../../carriers/transport-settings.ts";
import type { SetupHost } from "../host.ts";
import { configIn } from "./look-at-remote.ts";

/**
 * Pins another remote for a wire, or none, for all agents of this user on it. What was last seen of the
 * old one is forgotten. Spec 5.4. Throws DeaddropError when the remote is another wire.
 */
export function movePin(
  { disk }: SetupHost,
  { config }: Pick<AgentConfig, "config">,
  at: TransportPaths,
  looked: LookedRemote | undefined,
): void {
  const there = looked === undefined ? undefined : configIn(looked)?.wireId;
  if (there !== undefined && there !== config.wireId) {
    throw new DeaddropError("config", `${looked?.remote.url ?? ""} is another wire (${there})`, {
      hint: "give an empty repository, or one that holds this wire",
    });
  }
  if (looked?.head !== undefined && looked.prefix === undefined) {
    throw new DeaddropError("config", `${looked.remote.url} holds something else than a wire`, {
      hint: "give an empty repository, or a branch of its own: --branch deaddrop",
    });
  }
  forgetRemote(at);
  saveTransportSettings(
    disk,
    at.settings,
    looked && { remote: looked.remote, branch: looked.branch, prefix: looked.prefix ?? "" },
  );
}
