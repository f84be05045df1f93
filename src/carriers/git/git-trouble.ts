import { TransportError, type TransportCode } from "../carrier.ts";
import { GitFailed } from "./run-git.ts";

/** Error messages of git about a remote; the first pattern that matches counts. */
const REMOTE_ERRORS: readonly (readonly [pattern: RegExp, code: TransportCode, hint: string])[] = [
  [
    /dubious ownership/i,
    "denied",
    "a repository on this machine must be your own; reach that of another user by ssh://",
  ],
  [
    /hook declined|protected branch|read-only|insufficient permission|permission to .* denied|not allowed to push|unpacker error|write access/i,
    "read_only",
    "ask the owner of the repository to let you push, or see what its hooks say",
  ],
  [
    /permission denied|authentication failed|could not read (?:username|password)|invalid credentials|access denied|403|401|host key verification failed/i,
    "denied",
    "`deaddrop doctor` says how git signs in here: an SSH agent or key, a credential helper, known hosts",
  ],
  [
    /does not appear to be a git repository|repository .*not found|not a git repository|no such file or directory|404/i,
    "no_remote",
    "check the URL, and that you may see the repository",
  ],
];
const UNREACHABLE = [/^/, "unreachable", "it is retried automatically; offline is normal"] as const;
/** The remote sent an object that `transfer.fsckObjects` refuses. */
const REFUSED_OBJECT = /fsck error in packed object/i;
/** Objects are missing or broken: as a rule in our repository, after a crash. */
const DAMAGE =
  /could not read [0-9a-f]{40}|did not receive expected object|did not send all necessary objects|bad (?:object|tree|ref)|object file .* is empty|loose object|corrupt|unable to read|unresolved deltas|index-pack failed/i;
/** The remote has commits that ours does not follow. */
const BEHIND =
  /\[rejected\]|cannot lock ref|failed to update ref|incorrect old value|reference already exists/i;
/** The ids of the remote are made with the other hash. */
const OTHER_FORMAT = /mismatched (?:algorithms|object format)|hash algorithm|object[- ]format/i;

/**
 * The error of a command that talked to the remote, as trouble of the remote. Damage of our own repository stays
 * a GitFailed, and any other error stays what it is.
 */
export function remoteTrouble(error: unknown, remote: string): unknown {
  if (!(error instanceof GitFailed)) return error;
  const { stderr, message } = error;
  if (REFUSED_OBJECT.test(stderr)) {
    const detail = `its history holds an object that git refuses: ${message}`;
    return new TransportError("stopped", `${remote}: ${detail}`, {
      hint: "nothing is taken or pushed: remove that object from the history of the repository, then deaddrop transport accept",
      trouble: { cause: "wire_tampered", where: remote, detail },
      cause: error,
    });
  }
  if (DAMAGE.test(stderr)) return error;
  const [, code, hint] = REMOTE_ERRORS.find(([pattern]) => pattern.test(stderr)) ?? UNREACHABLE;
  return new TransportError(code, `${remote}: ${message}`, { hint, cause: error });
}

export function isBehind(error: unknown): boolean {
  return error instanceof GitFailed && BEHIND.test(error.stderr);
}

export function isOtherFormat(error: unknown): boolean {
  return error instanceof GitFailed && OTHER_FORMAT.test(error.stderr);
}

/** The remote has no such branch; it may be empty. */
export function isMissingBranch(error: unknown): boolean {
  return error instanceof GitFailed && /couldn't find remote ref/i.test(error.stderr);
}

/** A write of git's has failed: the repository is not to blame. */
export function isFullDisk({ stderr }: GitFailed): boolean {
  return /no space left|disk quota|read-only file system/i.test(stderr);
}
