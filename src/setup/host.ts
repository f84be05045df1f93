import { randomBytes } from "node:crypto";
import { homedir } from "node:os";
import { nodeDisk } from "../storage/disk/node-disk.ts";
import type { Disk } from "../storage/disk/disk.ts";
import { agentPaths, placesFrom, type AgentPaths, type Places } from "../storage/paths.ts";
import { resolveWireKey } from "../storage/private/private-folders.ts";

/** The machine that something is set up on. */
export interface SetupHost {
  readonly disk: Disk;
  readonly places: Places;
  readonly nowMs: number;
  random(bytes: number): Uint8Array;
}

/** This machine, seen through an environment. */
export function setupHost(env: NodeJS.ProcessEnv, nowMs: number): SetupHost {
  return {
    disk: nodeDisk(),
    places: placesFrom(env, env["HOME"] ?? homedir()),
    nowMs,
    random: (bytes) => new Uint8Array(randomBytes(bytes)),
  };
}

/** Spec 1.1. */
export function randomWireId({ random }: Pick<SetupHost, "random">): string {
  return Buffer.from(random(8)).toString("hex");
}

/** An agent on a wire. */
export interface AgentOnWire {
  readonly wireDir: string;
  readonly handle: string;
  /** Null or undefined: the wire has none, as far as is known. */
  readonly wireId: string | null | undefined;
}

/** Where everything private to an agent on this wire is, or will be. Spec 4.6. */
export function agentPathsOn(
  { disk, places }: Pick<SetupHost, "disk" | "places">,
  { wireDir, handle, wireId }: AgentOnWire,
): AgentPaths {
  const real = disk.stat(wireDir) === undefined ? wireDir : disk.realPath(wireDir);
  const wireKey = resolveWireKey(disk, places, handle, real, wireId ?? undefined);
  return agentPaths(places, { wireDir: real, wireKey, handle });
}
