import { join } from "node:path";
import type { AdmissionContext } from "../../admission/context.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import { readNewLines } from "../../storage/files/tail.ts";
import { makeLayout, openLogs } from "../../wire/layout.ts";
import { MAX_LINE_BYTES } from "../../wire/limits.ts";
import type { AgentConfig } from "../config/agent-config.ts";
import { ownLine } from "./environment.ts";
import type { World } from "./world.ts";

/**
 * Why nothing is written to our logs while we pin a layout from before our own move: our outbox has
 * begun, so its closed logs take no line any more. Reading goes on. Spec 3.11.
 */
export function begunOutbox(
  { disk }: Pick<World, "disk">,
  { layout, handle, wire }: Pick<AgentConfig, "layout" | "handle" | "wire">,
  ctx: AdmissionContext,
): StorageError | undefined {
  if (layout.kind !== "pairwise") return undefined;
  for (const { name, path } of openLogs(makeLayout("outbox", layout.roster), handle)) {
    const { lines } = readNewLines(disk, join(wire.folder, path), undefined, MAX_LINE_BYTES, {
      maxLines: 1,
    });
    const [first] = lines;
    if (first?.kind !== "line" || ownLine(name, first.bytes, ctx) === undefined) continue;
    const problem = `${handle} has moved to it, and your configuration is from before that`;
    return new StorageError("rolled_back", path, problem, { hint: "deaddrop layout accept" });
  }
  return undefined;
}
