import { Buffer } from "node:buffer";
import type { AutomaticIncident } from "../../protocol/effects.ts";
import { dueChanges } from "../../protocol/members/due-changes.ts";
import { safeModeSignText } from "../../protocol/escalations/safe-mode-end.ts";
import { safeMode } from "../../protocol/incidents/safe-mode.ts";
import { lookOf, readWhole, StorageError, type Disk } from "../../storage/disk/disk.ts";
import { readPinned } from "../../storage/private/private-store.ts";
import { trustDrift } from "../../trust/cards/advertised.ts";
import { parseTrustFile } from "../../trust/trust-file.ts";
import { saysDefaults } from "../../trust/policy/default-policy.ts";
import { sha256Hex } from "../../wire/canonical.ts";
import { isExpected } from "../config/change-members.ts";
import type { Session } from "../session/session.ts";

/** Files beyond this are no configuration; they are not read. */
const MAX_SHARED_FILE_BYTES = 4 * 1_048_576;

/** What the shared files looked like when they were last compared, by path. */
export type WireGuard = Map<string, string>;

export function newWireGuard(): WireGuard {
  return new Map();
}

/**
 * Looks at the files of the wire that peers can write and that must change nothing for us. Returns
 * how they differ from what we pinned. Spec 1.1, 2.1, 3.5: told once, never followed.
 */
export function guardWire(
  session: Pick<Session, "world" | "place" | "memory" | "env">,
  guard: WireGuard,
): AutomaticIncident[] {
  const { wire } = session.place;
  return [
    ...whenChanged(session, guard, wire.config, () => configDrift(session, "config", wire.config)),
    ...whenChanged(session, guard, wire.tiers, () => configDrift(session, "tiers", wire.tiers)),
    ...whenChanged(session, guard, wire.trust, () => advertisedDrift(session)),
    ...safeModeSign(session, guard),
  ];
}

function whenChanged(
  { world: { disk } }: Pick<Session, "world">,
  guard: WireGuard,
  path: string,
  look: () => AutomaticIncident[],
): AutomaticIncident[] {
  const seen = lookOf(disk, path);
  if (guard.get(path) === seen) return [];
  guard.set(path, seen);
  return look();
}

/** Its bytes; a symlink, a device or a huge file in its place is as good as a changed one. */
function bytesOf(disk: Disk, path: string): Uint8Array | undefined | "unreadable" {
  try {
    return readWhole(disk, path, MAX_SHARED_FILE_BYTES);
  } catch (error) {
    if (error instanceof StorageError) return "unreadable";
    throw error;
  }
}

/** Whether another member has applied a change of members that ours may apply, too. Spec 3.11. */
function isDue(
  { memory, env }: Pick<Session, "memory" | "env">,
  pinned: Uint8Array,
  current: Uint8Array,
): boolean {
  const due = dueChanges(memory.state, env).flatMap(({ membership }) => membership ?? []);
  return isExpected(pinned, current, due);
}

function configDrift(
  session: Pick<Session, "world" | "place" | "memory" | "env">,
  which: "config" | "tiers",
  path: string,
): AutomaticIncident[] {
  const { world, place } = session;
  const pinned = readPinned(world.disk, place.paths, which);
  const current = bytesOf(world.disk, path);
  if (current === undefined || pinned === undefined) {
    // A wire without the file has the defaults.
    if (current === pinned) return [];
    if (current === undefined && pinned !== undefined && saysDefaults(which, pinned)) return [];
  } else if (current !== "unreadable" && Buffer.from(pinned).equals(current)) return [];
  else if (which === "config" && current !== "unreadable" && isDue(session, pinned, current)) {
    // The operator is told of the change of members itself.
    return [];
  }
  const what = current instanceof Uint8Array ? sha256Hex(current).slice(0, 16) : String(current);
  return [
    {
      key: `config_drift:${which}:${what}`,
      cause: "config_drift",
      subject: `${which}.json on the wire differs from what you pinned`,
      detail: `${path} was changed; nothing of it applies until you have looked: deaddrop config accept`,
      concernsWire: false,
    },
  ];
}

function advertisedDrift({ world, place }: Pick<Session, "world" | "place">): AutomaticIncident[] {
  const path = place.wire.trust;
  const bytes = bytesOf(world.disk, path);
  if (bytes === undefined) return [];
  const parsed =
    bytes === "unreadable" ? undefined : parseTrustFile(bytes, "trust.json", "UNTRUSTED");
  if (parsed?.ok !== true) {
    const detail = parsed?.detail ?? `${path} is no readable file`;
    return [drift("unreadable", undefined, detail)];
  }
  // Any writer chooses the names: only those of the roster have a limit of their own.
  const { roster } = place.layout;
  return trustDrift(place.store, parsed.document)
    .filter(({ cause }) => cause !== "earlier_key")
    .map(({ key, handle, detail }) =>
      drift(key, roster.includes(handle) ? handle : undefined, detail),
    );
}

function drift(key: string, peer: string | undefined, detail: string): AutomaticIncident {
  return {
    key: `trust_drift:${key}`,
    cause: "trust_drift",
    ...(peer === undefined ? {} : { peer }),
    subject: "the wire advertises a key that you did not pin",
    detail: `${detail}; it is not used. See: deaddrop trust list`,
    concernsWire: false,
  };
}

/**
 * SAFE_MODE is a sign for people. We write and remove it by what follows from the logs; a file that
 * another program put there starts no safe mode. Spec 3.5.
 */
function safeModeSign(
  session: Pick<Session, "world" | "place" | "memory" | "env">,
  guard: WireGuard,
): AutomaticIncident[] {
  const { world, place, memory, env } = session;
  const path = place.wire.safeMode;
  const mode = safeMode(memory.state.incidents, env);
  const isThere = world.disk.stat(path) !== undefined;
  const ours = guard.get(path) ?? "";
  try {
    if (mode !== undefined && !isThere) {
      world.disk.replace(path, Buffer.from(safeModeSignText(mode), "utf8"), 0o660);
      guard.set(path, "up");
      return [];
    }
    if (mode === undefined && isThere && ours === "up") {
      world.disk.remove(path);
      guard.set(path, "");
      return [];
    }
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    world.log.warn({ code: error.code }, `SAFE_MODE: ${error.message}`);
    // It is another user's, and only they or the folder's owner can remove it. It proves nothing.
    if (mode === undefined && error.code === "denied") guard.set(path, lookOf(world.disk, path));
    return [];
  }
  if (mode !== undefined) guard.set(path, "up");
  if (mode !== undefined || !isThere) return [];
  const look = lookOf(world.disk, path);
  if (ours === look) return [];
  guard.set(path, look);
  return [
    {
      key: `safe_mode_sign:${look}`,
      cause: "safe_mode_sign",
      subject: "a SAFE_MODE file is in the wire without a reason",
      detail: "safe mode follows from signed lines alone, and none calls for it; sending goes on",
      concernsWire: false,
    },
  ];
}
