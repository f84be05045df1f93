import { TransportError, type TransportCode } from "../carrier.ts";
import { GitFailed } from "./run-git.ts";

/** What git says of a remote, and what that is. The first that fits counts. */
const SAID: readonly (readonly [pattern: RegExp, code: TransportCode, hint: string])[] = [
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

/** What git says of an object that the remote sent and that it does not take. */
const REFUSED_OBJECT = /fsck error in packed object/i;

function refusedObject(error: GitFailed, remote: string): TransportError {
  const detail = `its history holds an object that git refuses: ${error.message}`;
  return new TransportError("stopped", `${remote}: ${detail}`, {
    hint: "nothing is taken or pushed: remove that object from the history of the repository, then deaddrop transport accept",
    trouble: { cause: "wire_tampered", where: remote, detail },
    cause: error,
  });
}

/** What git says when objects are missing or broken: as a rule our own, after a crash. */
const DAMAGE =
  /could not read [0-9a-f]{40}|did not receive expected object|did not send all necessary objects|bad (?:object|tree|ref)|object file .* is empty|loose object|corrupt|unable to read|unresolved deltas|index-pack failed/i;

/**
 * A remote that cannot be used, from what git said of it. Any other error stays what it is, damage of our
 * own repository too.
 */
export function remoteTrouble(error: unknown, remote: string): unknown {
  if (!(error instanceof GitFailed)) return error;
  if (REFUSED_OBJECT.test(error.stderr)) return refusedObject(error, remote);
  if (DAMAGE.test(error.stderr)) return error;
  const [, code, hint] = SAID.find(([pattern]) => pattern.test(error.stderr)) ?? [
    undefined,
    "unreachable" as const,
    "it is tried again by itself; offline is normal",
  ];
  return new TransportError(code, `${remote}: ${error.message}`, { hint, cause: error });
}

/** The remote has commits that ours does not follow. */
export function isBehind(error: unknown): boolean {
  return (
    error instanceof GitFailed &&
    /\[rejected\]|cannot lock ref|failed to update ref|incorrect old value|reference already exists/i.test(
      error.stderr,
    )
  );
}

/** The remote's ids are of the other kind (SHA-256 or SHA-1) than those of our repository. */
export function isOtherFormat(error: unknown): boolean {
  return (
    error instanceof GitFailed &&
    /mismatched (?:algorithms|object format)|hash algorithm|object[- ]format/i.test(error.stderr)
  );
}

/** The remote has no such branch; it may be empty. */
export function isMissingBranch(error: unknown): boolean {
  return error instanceof GitFailed && /couldn't find remote ref/i.test(error.stderr);
}

/** A write of git's has failed: the repository is not to blame. */
export function isFullDisk({ stderr }: GitFailed): boolean {
  return /no space left|disk quota|read-only file system/i.test(stderr);
}
