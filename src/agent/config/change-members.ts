import { Buffer } from "node:buffer";
import { DeaddropError } from "../../api/errors.ts";
import type { Membership } from "../../protocol/members/due-changes.ts";
import { readWhole, StorageError, type Disk } from "../../storage/disk/disk.ts";
import { readPinned, savePinned } from "../../storage/private/private-store.ts";
import { sharingOf } from "../../storage/sharing.ts";
import { withMembership } from "../../trust/policy/changed-members.ts";
import { MAX_CONFIG_BYTES } from "../../wire/limits.ts";
import type { AgentConfig } from "./agent-config.ts";

/** What became of the wire's own `config.json`. `differs`: somebody changed it, and it was left alone. */
export type WireFileAfter = "written" | "same" | "differs" | "denied";

/**
 * Applies a change of members: first to the wire's `config.json`, where newcomers read who is a member,
 * then to our private copy, from which on it holds. Whatever stops this between the two, repeating it
 * ends it. The wire's file is written only while it is what we have pinned. Spec 1.1, 3.11.
 */
export function applyMembership(
  disk: Disk,
  place: Pick<AgentConfig, "paths" | "wire">,
  change: Membership,
  only?: "private",
): WireFileAfter {
  const { paths, wire } = place;
  const pinned = readPinned(disk, paths, "config");
  if (pinned === undefined) throw new Error("no configuration is pinned");
  const next = changed(pinned, change);
  const after = only === "private" ? "same" : writeWire(disk, wire, pinned, next);
  savePinned(disk, paths, "config", next);
  return after;
}

function changed(pinned: Uint8Array, change: Membership): Uint8Array {
  try {
    return withMembership(pinned, change);
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    throw new DeaddropError("config", `members cannot change: ${detail}`);
  }
}

function writeWire(
  disk: Disk,
  wire: AgentConfig["wire"],
  pinned: Uint8Array,
  next: Uint8Array,
): WireFileAfter {
  const current = readWhole(disk, wire.config, MAX_CONFIG_BYTES);
  if (current !== undefined && Buffer.from(next).equals(current)) return "same";
  if (current === undefined || !Buffer.from(pinned).equals(current)) return "differs";
  try {
    disk.replace(wire.config, next, sharingOf(disk, wire.folder).sharedMode);
    return "written";
  } catch (error) {
    // In a folder of two users only the owner of a file replaces it: that operator applies it, too.
    if (error instanceof StorageError && error.code === "denied") return "denied";
    throw error;
  }
}

/** Whether the wire's file is what a change makes of our copy: a peer's operator was faster than ours. */
export function isExpected(
  pinned: Uint8Array,
  current: Uint8Array,
  due: readonly Membership[],
): boolean {
  return due.some((change) => {
    try {
      return Buffer.from(withMembership(pinned, change)).equals(current);
    } catch {
      return false;
    }
  });
}
