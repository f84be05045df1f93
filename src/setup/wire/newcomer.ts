import { join } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { listWire, makeWireLayout, type FolderListing } from "../../carriers/folder.ts";
import { readAllLines } from "../../carriers/reader.ts";
import { readMembersChange } from "../../protocol/asks/members-change.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import { identityPaths } from "../../storage/paths.ts";
import { parseObject } from "../../wire/json/json.ts";
import type { SetupHost } from "../host.ts";

const MEMBERS = Buffer.from('"members"');

interface Newcomer {
  readonly wireDir: string;
  /** The first members. */
  readonly roster: readonly string[];
  readonly handle: string;
}

/**
 * Whether somebody has proposed a roster with that handle in it. No signature is checked: it only tells a newcomer
 * from a handle that is mistyped. Who is a member follows from lines that are authentic. Spec 3.11.
 */
export function isProposed(disk: Disk, newcomer: Newcomer): boolean {
  const { carriers, unowned } = listFirstMembers(disk, newcomer);
  const files = [...carriers.map(({ name }) => name), ...unowned];
  return files.some((name) => {
    for (const line of readAllLines(disk, join(newcomer.wireDir, name))) {
      if (!Buffer.from(line).includes(MEMBERS)) continue;
      const parsed = parseObject(line);
      const change = parsed.ok ? readMembersChange(parsed.value["body"] ?? null) : undefined;
      if (change?.makes.has(newcomer.handle) === true) return true;
    }
    return false;
  });
}

/**
 * A handle whose lines are here names nobody else: its chain goes on with its own key.
 *
 * @throws DeaddropError when that key is not on this machine, and no new one is asked for
 */
export function refuseWithoutKey(
  { disk, places }: SetupHost,
  { newKey, ...newcomer }: Newcomer & { readonly newKey: boolean },
): void {
  const { handle, wireDir } = newcomer;
  if (newKey || disk.stat(identityPaths(places, handle).key) !== undefined) return;
  const hasWritten = listFirstMembers(disk, newcomer).carriers.some(
    ({ name, owner }) => owner === handle && (disk.stat(join(wireDir, name))?.size ?? 0) > 0,
  );
  if (!hasWritten) return;
  throw new DeaddropError("refused", `${handle} was on this wire before, and its key is not here`, {
    hint: "restore its key (deaddrop backup restore), or choose another handle. If you are that agent and the key is lost: --new-key",
  });
}

/** The files of a wire as its first members and that agent know them. */
export function listFirstMembers(disk: Disk, { wireDir, roster, handle }: Newcomer): FolderListing {
  const handles = [...new Set([...roster, handle])];
  return listWire(disk, wireDir, makeWireLayout({ handle, handles, members: new Map() }));
}
