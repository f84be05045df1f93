import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { dirname, join } from "node:path";
import { temporaryPrefix } from "./disk.ts";
import { calling, fromErrno } from "./errno.ts";

/** Writes a new file beside it, synced, and puts that in its place. The folder is not synced yet. */
export function replaceFile(path: string, pieces: Iterable<Uint8Array>, mode: number): void {
  const temporary = temporaryFor(path);
  calling(path, "replacing", () => {
    try {
      const fd = openNew(temporary, mode);
      try {
        for (const bytes of pieces) fs.writeFileSync(fd, bytes);
        fs.fsyncSync(fd);
      } finally {
        fs.closeSync(fd);
      }
      fs.renameSync(temporary, path);
    } catch (error) {
      fs.rmSync(temporary, { force: true });
      throw error;
    }
  });
}

/** The same; other work goes on while a piece is awaited, and while the file is synced. */
export async function replaceFileSlowly(
  path: string,
  pieces: AsyncIterable<Uint8Array>,
  mode: number,
): Promise<void> {
  const temporary = temporaryFor(path);
  try {
    const fd = openNew(temporary, mode);
    try {
      for await (const bytes of pieces) fs.writeFileSync(fd, bytes);
      await synced(fd);
    } finally {
      fs.closeSync(fd);
    }
    fs.renameSync(temporary, path);
  } catch (error) {
    fs.rmSync(temporary, { force: true });
    throw fromErrno(error, path, "replacing");
  }
}

/** A name that begins as `temporaryPrefix` says. */
function temporaryFor(path: string): string {
  return join(dirname(path), `${temporaryPrefix(path)}${randomBytes(6).toString("hex")}`);
}

function openNew(path: string, mode: number): number {
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = fs.constants;
  const fd = fs.openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  fs.fchmodSync(fd, mode);
  return fd;
}

function synced(fd: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fs.fsync(fd, (error) => (error === null ? resolve() : reject(error)));
  });
}
