import { Buffer } from "node:buffer";
import { dirname, join } from "node:path";
import { openIfThere, type Disk } from "../../../src/storage/disk/disk.ts";

interface SavedIntake {
  readonly name: string;
  readonly admission: {
    readonly chain: unknown;
    readonly mayBeginLate: boolean;
    readonly seen: { readonly runs: readonly { readonly count: number }[] };
  };
}

const ROW_BYTES = 24;

/** The chain, the hold and the known ids of every log, as a checkpoint and its rows keep them. */
export function savedAdmission(disk: Disk, path: string): unknown {
  const lines = Buffer.from(wholeFile(disk, path)).toString("utf8").split("\n");
  const { intakes } = JSON.parse(lines[0] ?? "") as { intakes: readonly SavedIntake[] };
  const lately = new Map<string, string>();
  for (const line of lines.slice(1, lines.indexOf("", 1))) {
    const part = JSON.parse(line) as { log: string; lately?: string };
    lately.set(part.log, (lately.get(part.log) ?? "") + (part.lately ?? ""));
  }
  return intakes.map(({ name, admission }) => {
    const { runs } = admission.seen;
    const count = runs.reduce((sum, run) => sum + run.count, 0);
    // The first row is the file's mark, another one whenever it is begun.
    const rows =
      count === 0
        ? ""
        : Buffer.from(wholeFile(disk, join(dirname(path), "shown", `${name}.rows`)))
            .subarray(ROW_BYTES, (count + 1) * ROW_BYTES)
            .toString("hex");
    return { name, admission: { ...admission, seen: runs }, rows, lately: lately.get(name) ?? "" };
  });
}

function wholeFile(disk: Disk, path: string): Uint8Array {
  const file = openIfThere(disk, path);
  if (file === undefined) throw new Error(`${path}: no such file was written`);
  try {
    return file.read(file.stat().size, 0);
  } finally {
    file.close();
  }
}
