import { sha256Hex } from "../../../src/wire/canonical.ts";

/** An event id for a line that a test does not write: always the same one for a name. */
export function eventId(name: string): string {
  return sha256Hex(Buffer.from(name, "utf8"));
}
