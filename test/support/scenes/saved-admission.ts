import { Buffer } from "node:buffer";
import { openIfThere, type Disk } from "../../../src/storage/disk/disk.ts";

interface SavedIntake {
  readonly name: string;
  readonly admission: { readonly chain: unknown; readonly mayBeginLate: boolean };
}

/** The chain, the hold and the known ids of every log, as a checkpoint keeps them. */
export function savedAdmission(disk: Disk, path: string): unknown {
  const file = openIfThere(disk, path);
  if (file === undefined) throw new Error(`${path}: no checkpoint was written`);
  const lines = Buffer.from(file.read(file.stat().size, 0)).toString("utf8").split("\n");
  file.close();
  const { intakes } = JSON.parse(lines[0] ?? "") as { intakes: readonly SavedIntake[] };
  const seen = new Map<string, string>();
  for (const line of lines.slice(1, lines.indexOf("", 1))) {
    const part = JSON.parse(line) as { log: string; seen?: string };
    seen.set(part.log, (seen.get(part.log) ?? "") + (part.seen ?? ""));
  }
  return intakes.map(({ name, admission }) => ({ name, admission, seen: seen.get(name) ?? "" }));
}
