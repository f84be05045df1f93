import type { SqlValue } from "./database.ts";

/** 52 bits are the most that a number holds with room to add to them. */
export const START_DIGITS = 13;

/** An event id as it is stored. */
export function idBytes(id: string): Uint8Array {
  if (!/^[0-9a-f]{64}$/.test(id)) throw new Error(`${id} is no event id`);
  return Buffer.from(id, "hex");
}

export function idText(blob: SqlValue | undefined): string {
  return Buffer.from(blob as Uint8Array).toString("hex");
}

/** The beginning of an id, which an index compares faster than the whole. */
export function idStart(id: string): number {
  return Number.parseInt(id.slice(0, START_DIGITS), 16);
}
