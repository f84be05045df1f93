import { closeSync, existsSync, openSync, readSync } from "node:fs";

const BUFFER_BYTES = 65_536;

/** How many lines a file has; none while there is no file. */
export function linesIn(path: string): number {
  if (!existsSync(path)) return 0;
  const file = openSync(path, "r");
  const bytes = Buffer.alloc(BUFFER_BYTES);
  let lines = 0;
  for (let read = readSync(file, bytes); read > 0; read = readSync(file, bytes)) {
    for (const byte of bytes.subarray(0, read)) if (byte === 0x0a) lines += 1;
  }
  closeSync(file);
  return lines;
}
