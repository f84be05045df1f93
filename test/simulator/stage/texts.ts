import { join } from "node:path";
import type { HeldLine } from "../../../src/store/store.ts";
import { timestampAt } from "../../model/reader-lines.ts";

export function textOf({ bytes }: Pick<HeldLine, "bytes">): string {
  return Buffer.from(bytes).toString();
}

export function inWire(folder: string, ...names: readonly string[]): string {
  return join(folder, ...names);
}

/** A timestamp of that millisecond, another one for each count up to 1,000. */
export function microsOf(nowMs: number, count: number): string {
  return timestampAt(nowMs).replace("000Z", `${String(count % 1_000).padStart(3, "0")}Z`);
}
