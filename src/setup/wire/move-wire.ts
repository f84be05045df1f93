import { join } from "node:path";
import type { AgentConfig } from "../../agent/config/agent-config.ts";
import { parsedConfig } from "../../agent/config/parsed-config.ts";
import { readWhole, StorageError, type Disk } from "../../storage/disk/disk.ts";
import { readPinned, savePinned } from "../../storage/private/private-store.ts";
import { sharingOf } from "../../storage/sharing.ts";
import { changesLayout } from "../../trust/policy/policy-drift.ts";
import { closedProblems, makeLayout, ownLogs, pairNames } from "../../wire/layout.ts";
import { MAX_CONFIG_BYTES } from "../../wire/limits.ts";
import { protocolDocument } from "./protocol-document.ts";
import { refuseAnothers, share } from "./sharing.ts";
import { protocolSubject } from "./wire-config.ts";

/** The layout of a wire that has moved to outboxes, as its configuration names it. Spec 1.1. */
interface MovedLayout {
  readonly kind: "outbox";
  readonly closed: readonly string[];
}

/** Why a wire of that roster cannot move to outboxes; empty when it can. Spec 1.1. */
export function moveProblems({ layout: { roster } }: Pick<AgentConfig, "layout">): string[] {
  return closedProblems(roster, pairNames(roster)).map((words) => `the layout ${words}`);
}

/**
 * Takes the layout `outbox` for one agent: its outbox, the configuration that it pins, and the
 * wire's own `config.json` and `PROTOCOL.md`. The pinned configuration comes last: a crash before it
 * leaves the wire as it was for this agent, and the same again completes all of it. Answers which of
 * the wire's files could not be written, because they are another user's. Spec 3.11.
 */
export function takeOutboxLayout(disk: Disk, place: AgentConfig): readonly string[] {
  const { roster } = place.layout;
  const layout: MovedLayout = { kind: "outbox", closed: pairNames(roster) };
  makeOwnOutbox(disk, place);
  const denied = [
    ...whereAllowed(place.wire.config, () => moveSharedConfig(disk, place, layout)),
    ...whereAllowed(place.wire.protocol, () => writeProtocol(disk, place, layout)),
  ];
  const pinned = readPinned(disk, place.paths, "config");
  savePinned(disk, place.paths, "config", configWith(pinned, layout, roster));
  return denied;
}

function makeOwnOutbox(disk: Disk, { wire, layout, handle }: AgentConfig): void {
  const sharing = sharingOf(disk, wire.folder);
  if (disk.stat(wire.outbox) === undefined) {
    disk.makeFolder(wire.outbox, sharing.folderMode);
    share(disk, wire.outbox, sharing.folderMode, sharing);
  }
  for (const log of ownLogs(makeLayout("outbox", layout.roster), handle)) {
    const path = join(wire.folder, log.path);
    refuseAnothers(disk, path, sharing);
    if (disk.stat(path) !== undefined) continue;
    disk.open(path, "append", sharing.logMode).close();
    share(disk, path, sharing.logMode, sharing);
  }
}

/** What others have accepted already stays as it is. */
function moveSharedConfig(disk: Disk, place: AgentConfig, layout: MovedLayout): void {
  const path = place.wire.config;
  const bytes = readWhole(disk, path, MAX_CONFIG_BYTES);
  const next = configWith(bytes, layout, place.layout.roster);
  const [from, to] = [bytes ?? Buffer.from("{}"), next].map((each) => parsedConfig(path, each));
  if (from !== undefined && to !== undefined && !changesLayout(from, to)) return;
  replaceShared(disk, place, path, next);
}

function writeProtocol(disk: Disk, place: AgentConfig, { kind, closed }: MovedLayout): void {
  const subject = protocolSubject({ ...place.config, layout: kind, closedLogs: closed });
  const text = protocolDocument({ ...subject, roster: place.layout.roster });
  replaceShared(disk, place, place.wire.protocol, Buffer.from(text, "utf8"));
}

function replaceShared(disk: Disk, place: AgentConfig, path: string, bytes: Uint8Array): void {
  const before = readWhole(disk, path, MAX_CONFIG_BYTES);
  if (before !== undefined && Buffer.from(before).equals(bytes)) return;
  const sharing = sharingOf(disk, place.wire.folder);
  disk.replace(path, bytes, sharing.sharedMode);
  share(disk, path, sharing.sharedMode, sharing);
}

/** The path, when another user's file is in the way. */
function whereAllowed(path: string, write: () => void): string[] {
  try {
    write();
    return [];
  } catch (error) {
    if (!(error instanceof StorageError) || error.code !== "denied") throw error;
    return [path];
  }
}

/** A configuration with that layout; all else in it stays, whatever it is. */
function configWith(
  bytes: Uint8Array | undefined,
  layout: MovedLayout,
  roster: readonly string[],
): Uint8Array {
  const text = bytes === undefined ? "{}" : Buffer.from(bytes).toString("utf8");
  const config = JSON.parse(text) as Record<string, unknown>;
  const named = Array.isArray(config["roster"]) ? {} : { roster };
  return Buffer.from(`${JSON.stringify({ ...config, ...named, layout }, null, 2)}\n`, "utf8");
}
