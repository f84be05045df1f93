import { join } from "node:path";
import { compressSegments } from "../../../src/storage/archive/compress.ts";
import { StorageError } from "../../../src/storage/disk/disk.ts";
import { Crashed } from "../../support/disk/memory-disk.ts";
import { BEGIN_MS, WIRE } from "../../support/scenes/scene-folder.ts";
import type { Play } from "../play.ts";
import type { Member } from "./stage.ts";

/** The years of a play are as long as an agent says: what begins in this one is archived. */
const THIS_YEAR = new Date(BEGIN_MS).getUTCFullYear();

/** An agent moves its logs and the shared files into the archive. */
export async function closeYear({ stage }: Play, who: Member): Promise<void> {
  who.host.hasArchives = true;
  await stage.ask(who, (agent) => agent.archive(THIS_YEAR));
}

/** Its operator compresses what is there, in a process of its own that may die of it. */
export async function compress({ stage, luck }: Play, who: Member): Promise<void> {
  const process = who.host.disk.process();
  if (luck.chance(0.5)) process.failAt(luck.between(1, 12), luck.pick(["crash", "EIO", "ENOSPC"]));
  try {
    const name = luck.pick([...stage.logs.map((log) => log.name), "decisions", "incident_log"]);
    for (const _segment of compressSegments(process, join(WIRE, "archive"), name)) continue;
  } catch (error) {
    if (!(error instanceof Crashed) && !(error instanceof StorageError)) throw error;
  }
  process.kill();
  return Promise.resolve();
}
