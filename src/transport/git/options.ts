import type { ReplicaOptions } from "../copies/replica.ts";
import type { HostState } from "../host-state.ts";
import type { GitSettings } from "../transport-settings.ts";
import type { TransportWorld } from "../world.ts";

/** What a git transport is made of. */
export interface GitTransportOptions extends Omit<ReplicaOptions, "agreed"> {
  readonly world: TransportWorld;
  readonly settings: GitSettings;
  readonly host: HostState;
  readonly paths: { readonly repository: string; readonly seenRemote: string };
}
