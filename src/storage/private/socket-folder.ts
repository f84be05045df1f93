import fs from "node:fs";
import { join } from "node:path";
import { StorageError } from "../disk/disk.ts";

/** A Unix socket's path holds 104 bytes on macOS, 108 on Linux, with its final zero. */
const MAX_SOCKET_PATH_BYTES = 100;
const SOCKET_NAME = "daemon.sock";

/** The folder of a daemon's socket, checked, and open until it is closed. Spec 4.2. */
export interface SocketFolder {
  /**
   * Binds, connects or removes the socket: `use` gets a path of it that is short enough, which is
   * good for the moment of the call alone.
   */
  reach<T>(use: (path: string) => T): T;
  close(): void;
}

/**
 * Opens it for daemon and client alike: a folder that is not ours alone is refused, since another
 * user could listen there. Undefined when there is no such folder. However long its path is, the
 * socket is in it and nowhere else: it is reached from inside. `procFd`: where the system shows
 * the open files of a process as paths, if it does (Linux).
 */
export function openSocketFolder(
  folder: string,
  procFd = "/proc/self/fd",
): SocketFolder | undefined {
  const fd = openFolder(folder);
  if (fd === undefined) return undefined;
  try {
    requireOurs(folder, fs.fstatSync(fd));
  } catch (error) {
    fs.closeSync(fd);
    throw error;
  }
  const inside = join(procFd, String(fd));
  const plain = join(folder, SOCKET_NAME);
  const isShort = Buffer.byteLength(plain) <= MAX_SOCKET_PATH_BYTES;
  return {
    reach(use) {
      if (fs.existsSync(inside)) return use(join(inside, SOCKET_NAME));
      return isShort ? use(plain) : from(folder, () => use(SOCKET_NAME));
    },
    close: () => fs.closeSync(fd),
  };
}

function openFolder(folder: string): number | undefined {
  const { O_RDONLY, O_DIRECTORY } = fs.constants;
  try {
    // It may be a link: what counts is that the folder that is opened is ours alone.
    return fs.openSync(folder, O_RDONLY | O_DIRECTORY);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    // No folder, or one that we may not even look into.
    if (code === "ELOOP" || code === "ENOTDIR" || code === "EACCES") throw notOurs(folder);
    throw error;
  }
}

function requireOurs(folder: string, { uid, mode }: fs.Stats): void {
  if (uid !== process.getuid?.()) throw notOurs(folder);
  if ((mode & 0o077) === 0) return;
  throw new StorageError("unsafe_mode", folder, "others can enter the folder of the socket", {
    hint: `chmod 700 ${folder}`,
  });
}

function notOurs(folder: string): StorageError {
  return new StorageError("unsafe_mode", folder, "the folder of the socket is not our own", {
    hint: "it must be a folder of this user with mode 700; name another place with XDG_STATE_HOME, or remove it",
  });
}

/** The only way to a socket with a long path on a system without /proc. */
function from<T>(folder: string, use: () => T): T {
  const before = process.cwd();
  process.chdir(folder);
  try {
    // The path may lead elsewhere by now: what counts is where we are.
    requireOurs(folder, fs.statSync("."));
    return use();
  } finally {
    process.chdir(before);
  }
}
