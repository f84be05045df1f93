import { createHash } from "node:crypto";
import { readWhole, type Disk } from "./disk.ts";

// One JSON object `{"sha256":"<64 hex>","state":<state>}`, taken apart by position: the checksum
// is over the bytes of the state as they stand.
const HEAD = /^\{"sha256":"([0-9a-f]{64})","state":/;
const HEAD_LENGTH = '{"sha256":"'.length + 64 + '","state":'.length;

function checksum(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex");
}

/** Atomically replaces the checkpoint. `state` is plain JSON. */
export function saveCheckpoint(disk: Disk, path: string, state: unknown): void {
  const text = JSON.stringify(state);
  const whole = `{"sha256":"${checksum(text)}","state":${text}}\n`;
  disk.replace(path, Buffer.from(whole, "utf8"), 0o600);
}

/**
 * The state that was saved; undefined when there is none or it cannot be trusted. Losing a
 * checkpoint costs a replay and changes nothing else (spec 4.1), so damage is no error.
 */
export function loadCheckpoint(disk: Disk, path: string): unknown {
  const bytes = readWhole(disk, path, Number.MAX_SAFE_INTEGER);
  if (bytes === undefined) return undefined;
  const whole = Buffer.from(bytes).toString("utf8");
  const expected = HEAD.exec(whole)?.[1];
  if (expected === undefined || !whole.endsWith("}\n")) return undefined;
  const text = whole.slice(HEAD_LENGTH, -2);
  return checksum(text) === expected ? (JSON.parse(text) as unknown) : undefined;
}
