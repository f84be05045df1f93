import { join } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { wholeLogs } from "../../storage/archive/whole-logs.ts";
import { readWhole, StorageError } from "../../storage/disk/disk.ts";
import { wirePaths } from "../../storage/paths.ts";
import { ONE_USER } from "../../storage/sharing.ts";
import { Replica } from "../../transport/copies/replica.ts";
import { wireFiles } from "../../transport/copies/wire-files.ts";
import { claimedWireId } from "../../wire/roster/claimed-wire-id.ts";
import { MAX_CONFIG_BYTES } from "../../wire/limits.ts";
import type { SetupHost } from "../host.ts";
import type { LookedRemote } from "./look-at-remote.ts";

/**
 * Makes the local folder of a wire that is in a remote: all of its files, our own logs too, if we
 * have been on it from another machine. Running it again completes what is there. Spec 5.2.
 */
export async function takeWire(
  { disk }: SetupHost,
  looked: LookedRemote,
  wireDir: string,
  roster: readonly string[],
): Promise<void> {
  refuseOtherFolder({ disk }, looked, wireDir);
  disk.makeFolder(wireDir, ONE_USER.folderMode);
  const { config } = looked;
  const layout = config?.layout ?? "pairwise";
  const wire = wireFiles(layout, roster, config?.closedLogs);
  const folders = layout === "outbox" ? ["trust", "archive", "outbox"] : ["trust", "archive"];
  for (const name of folders) disk.makeFolder(join(wireDir, name), ONE_USER.folderMode);
  const replica = new Replica({
    folder: {
      ...{ disk, whole: wholeLogs(disk, wireDir), wireDir, wire },
      handle: "",
      local: () => new Set(),
    },
    agreed: new Map(),
    grown: new Map(),
    today: () => "",
    isSigned: () => false,
    isWhole: () => true,
    keep: () => "",
  });
  const { failed } = await replica.bring(looked.filesOf(wire).remote, true);
  const [first] = failed;
  if (first !== undefined) throw first;
}

/** A folder that holds something else, or another wire, is left alone. */
function refuseOtherFolder(
  { disk }: Pick<SetupHost, "disk">,
  { config, remote }: LookedRemote,
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
  if (here !== undefined && here === config?.wireId) return;
  const strange = disk.list(wireDir).find((name) => !isOfWire(name));
  if (here === undefined && strange === undefined) return;
  const what = here === undefined ? `holds "${strange}"` : `is the wire ${here}`;
  throw new DeaddropError("config", `${wireDir} ${what}, and ${remote.url} is another wire`, {
    hint: "give an empty folder, or a path where one can be made: --wire DIR",
  });
}

/** What a join that was interrupted has left. */
function isOfWire(name: string): boolean {
  return (
    name.endsWith(".jsonl") ||
    name.endsWith("_state.json") ||
    ["trust", "archive", "outbox", "tiers.json", "PROTOCOL.md", "trust.json"].includes(name)
  );
}
