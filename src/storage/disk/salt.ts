import { randomBytes } from "node:crypto";

/** 32 bits that nobody outside this process can know: for tables whose keys a peer chooses. */
export function freshSalt(): number {
  return randomBytes(4).readUInt32LE();
}
