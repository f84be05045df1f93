import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { makeWireLayout } from "../../carriers/folder.ts";
import type { LookedRemote } from "../../carriers/git/look-at-remote.ts";
import { readWhole, StorageError } from "../../storage/disk/disk.ts";
import { wirePaths } from "../../storage/paths.ts";
import { ONE_USER } from "../../storage/sharing.ts";
import { claimedWireId } from "../../wire/claimed-wire-id.ts";
import { MAX_CONFIG_BYTES } from "../../wire/limits.ts";
import type { SetupHost } from "../host.ts";
import { isProposed } from "../wire/newcomer.ts";
import { configIn, explained } from "./look-at-remote.ts";

const FOLDERS = ["trust", "archive", "outbox"];

/**
 * Makes the local folder of a wire that is in a remote: its documents and its carriers, ours too, if we have been on
 * it from another machine. Running it again completes what is there. Spec 5.2.
 */
export async function takeWire(
  { disk }: SetupHost,
  looked: LookedRemote,
  wireDir: string,
  roster: readonly string[],
): Promise<void> {
  refuseOtherFolder({ disk }, looked, wireDir);
  disk.makeFolder(wireDir, ONE_USER.folderMode);
  for (const name of FOLDERS) disk.makeFolder(join(wireDir, name), ONE_USER.folderMode);
  const layout = makeWireLayout({ handle: "", handles: roster, members: new Map() });
  await explained(looked.copyWire(disk, wireDir, layout));
}

/**
 * Who of these that the first roster lacks was proposed as a member since, by lines in the remote: no folder is made
 * for a handle that is mistyped.
 */
export async function findNewcomers(
  host: SetupHost,
  looked: LookedRemote,
  roster: readonly string[],
  handles: readonly string[],
): Promise<ReadonlySet<string>> {
  const strangers = handles.filter((handle) => !roster.includes(handle));
  if (roster.length === 0 || strangers.length === 0) return new Set();
  const folder = mkdtempSync(join(tmpdir(), "deaddrop-newcomer-"));
  try {
    await takeWire(host, looked, folder, [...roster, ...strangers]);
    const isFound = (handle: string): boolean =>
      isProposed(host.disk, { wireDir: folder, roster, handle });
    return new Set(strangers.filter(isFound));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A folder that holds something else, or another wire, is left alone. */
function refuseOtherFolder(
  { disk }: Pick<SetupHost, "disk">,
  looked: LookedRemote,
  wireDir: string,
): void {
  const stat = disk.stat(wireDir);
  if (stat === undefined) return;
  if (stat.kind !== "folder") {
    throw new StorageError("not_a_wire", wireDir, "is not a folder", {
      hint: "give a path where a folder can be made: --wire DIR",
    });
  }
  const here = claimedWireId(readWhole(disk, wirePaths(wireDir).config, MAX_CONFIG_BYTES));
  if (here !== undefined && here === configIn(looked)?.wireId) return;
  const strange = disk.list(wireDir).find((name) => !isOfWire(name));
  if (here === undefined && strange === undefined) return;
  const what = here === undefined ? `holds "${strange}"` : `is the wire ${here}`;
  throw new DeaddropError(
    "config",
    `${wireDir} ${what}, and ${looked.remote.url} is another wire`,
    {
      hint: "give an empty folder, or a path where one can be made: --wire DIR",
    },
  );
}

/** What a join that was interrupted has left. */
function isOfWire(name: string): boolean {
  return (
    name.endsWith(".jsonl") ||
    name.endsWith("_state.json") ||
    [...FOLDERS, "tiers.json", "PROTOCOL.md", "trust.json"].includes(name)
  );
}
