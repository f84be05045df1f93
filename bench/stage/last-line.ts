import { closeSync, existsSync, fstatSync, openSync, readSync } from "node:fs";

/** Above any line that is looked for. */
const TAIL_BYTES = 65_536;

/** The last whole line of a file, however long that is; undefined while there is none. */
export function lastLine(path: string): string | undefined {
  if (!existsSync(path)) return undefined;
  const file = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(TAIL_BYTES);
    const from = Math.max(0, fstatSync(file).size - TAIL_BYTES);
    const text = bytes.toString("utf8", 0, readSync(file, bytes, 0, TAIL_BYTES, from));
    return text.split("\n").at(-2);
  } finally {
    closeSync(file);
  }
}
