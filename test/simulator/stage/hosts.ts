import { wholeLogs } from "../../../src/storage/archive/whole-logs.ts";
import { openIfThere, type Disk } from "../../../src/storage/disk/disk.ts";
import type { Places } from "../../../src/storage/paths.ts";
import { MemoryDisk, type MemoryProcess } from "../../support/disk/memory-disk.ts";
import { makeScene, WIRE, type SceneOptions } from "../../support/scenes/scene-folder.ts";

/** A log or shared file as all who read it on one host see it. */
export interface Whole {
  readonly ino: number;
  readonly size: number;
  readonly failedSyncs: number;
  read(length: number, position: number): Uint8Array;
}

/** A machine: its disk, with its copy of the wire's folder, and who lives there. */
export class Host {
  readonly name: string;
  readonly disk: MemoryDisk;
  readonly places: ReadonlyMap<string, Places>;
  powerCuts = 0;
  /** Something was archived here: a log is more than its live file. */
  hasArchives = false;
  /** When the last fetch was asked for that has ended, monotonic ms. */
  fetchedMs = -Infinity;
  #eye: { readonly process: MemoryProcess; readonly disk: Disk } | undefined;

  constructor(name: string, disk: MemoryDisk, places: ReadonlyMap<string, Places>) {
    this.name = name;
    this.disk = disk;
    this.places = places;
  }

  /** What is in a log or shared file, archived or not. */
  whole(path: string): Whole | undefined {
    const live = this.disk.lookUp(path);
    if (!this.hasArchives) return live;
    if (this.#eye?.process.alive !== true) {
      const process = this.disk.process();
      this.#eye = { process, disk: wholeLogs(process, WIRE) };
    }
    const { disk } = this.#eye;
    const file = openIfThere(disk, path);
    if (file === undefined) return undefined;
    const { size } = file.stat();
    const bytes = file.read(size, 0);
    file.close();
    return {
      ino: live?.ino ?? 0,
      size,
      failedSyncs: live?.failedSyncs ?? 0,
      read: (length, at) => bytes.subarray(at, at + length),
    };
  }

  /** Its text; empty while it is missing. */
  text(path: string): string {
    const whole = this.whole(path);
    return whole === undefined ? "" : Buffer.from(whole.read(whole.size, 0)).toString("utf8");
  }
}

interface HostsWorld {
  readonly random: () => number;
  readonly nowMs: () => number;
  readonly options: SceneOptions;
  readonly seeds: ReadonlyMap<string, Uint8Array>;
}

/** Machines with the same wire on each. One alone gives each member a home of its own. */
export function makeHosts(
  roster: readonly string[],
  groups: readonly (readonly string[])[],
  { random, nowMs, options, seeds }: HostsWorld,
): Host[] {
  return groups.map((members, at) => {
    const name = `host${at}`;
    const disk = new MemoryDisk({ random, nowMs });
    // Agents that share a transport are one user.
    const ground =
      groups.length === 1 ? undefined : { wireDir: WIRE, members, homeOf: () => `/home/${name}` };
    return new Host(name, disk, makeScene(disk.process(), roster, options, seeds, ground));
  });
}
