import { readFileSync } from "node:fs";
import { readLine } from "../../src/protocol/admit/read-line.ts";
import { verifyEach } from "../../src/wire/signature.ts";
import { WIRE_ID, type LiveWire } from "./processes/live-wire.ts";

/** Where a carrier of `owner` is not one signed chain without a gap: in words, a line each. */
export function brokenPlaces(wire: LiveWire, owner: string, file: string): string[] {
  const { publicKey } = wire.paths(owner).identity;
  const { key } = JSON.parse(readFileSync(publicKey, "utf8")) as Record<string, string>;
  const text = wire.text(file);
  const broken = text.endsWith("\n") || text === "" ? [] : ["it ends in a torn line"];
  let head: { seq: number; id: string } | undefined;
  for (const [at, bytes] of text.split("\n").slice(0, -1).entries()) {
    const read = readLine(Buffer.from(bytes), WIRE_ID);
    if (!read.ok) {
      broken.push(`line ${at + 1}: ${read.problem.reason}: ${read.problem.detail}`);
      continue;
    }
    const { line } = read;
    // Beats in no chain lie between others.
    if (line.seq === null) continue;
    const { bytes: signed, signature } = line.signed;
    const check = { publicKey: Buffer.from(String(key), "base64"), bytes: signed, signature };
    if (verifyEach([check])[0] !== true)
      broken.push(`line ${at + 1}: its signature is not that of ${owner}`);
    if (line.seq !== (head?.seq ?? 0) + 1 || (line.prev ?? undefined) !== head?.id)
      broken.push(`line ${at + 1}: seq ${line.seq} does not follow ${head?.seq ?? 0}`);
    head = { seq: line.seq, id: line.id };
  }
  return broken;
}
