import { StorageError, type StorageCode } from "./disk.ts";

interface Meaning {
  readonly code: StorageCode;
  readonly problem: string;
  readonly hint: string;
}

const FULL: Meaning = {
  code: "disk_full",
  problem: "disk full",
  hint: "free space on that filesystem, or raise the quota",
};
const DENIED: Meaning = {
  code: "denied",
  problem: "permission denied",
  hint: "give the user that runs deaddrop access to it (ls -l shows the owner and mode; id shows your groups, and a new one counts after the next login)",
};
const NOT_A_FILE: Meaning = {
  code: "not_a_file",
  problem: "not a regular file",
  hint: "there is something else where a file belongs; look at it and move it away",
};

const MEANINGS: Readonly<Record<string, Meaning>> = {
  ENOENT: { code: "missing", problem: "no such file or folder", hint: "check the path" },
  ENOTDIR: { code: "missing", problem: "a parent is not a folder", hint: "check the path" },
  EEXIST: { code: "exists", problem: "exists already", hint: "move it away first" },
  ENOSPC: FULL,
  EDQUOT: FULL,
  EROFS: {
    code: "read_only",
    problem: "the filesystem is read-only",
    hint: "mount it writable, or move the wire to a writable place",
  },
  EACCES: DENIED,
  EPERM: DENIED,
  ELOOP: {
    code: "not_a_file",
    problem: "a symbolic link where a file belongs",
    hint: "files of a wire are never links: put the file itself there",
  },
  EISDIR: NOT_A_FILE,
  ENXIO: NOT_A_FILE,
  ENODEV: NOT_A_FILE,
  EMFILE: {
    code: "io",
    problem: "too many open files",
    hint: "raise the limit (ulimit -n) or close other programs",
  },
};

/** The errno of a system error, if it is one. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** What a failed system call means to a person. Anything that is no system error is our bug: as it is. */
export function fromErrno(error: unknown, path: string, doing: string): unknown {
  const errno = errnoOf(error);
  if (errno === undefined || error instanceof StorageError) return error;
  const meaning = MEANINGS[errno] ?? {
    code: "io" as const,
    problem: `input/output error ${errno}`,
    hint: "the disk or its mount is in trouble: look at the system log (dmesg)",
  };
  return new StorageError(meaning.code, path, `${meaning.problem} (${doing})`, {
    hint: meaning.hint,
    cause: error,
  });
}

/** Runs system calls and turns their errors into `StorageError`. */
export function calling<T>(path: string, doing: string, call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw fromErrno(error, path, doing);
  }
}
