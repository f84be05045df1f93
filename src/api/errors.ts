import type { StorageCode } from "../storage/disk/disk.ts";

/** What can go wrong for the one who called, and the exit code that says so to a script. Spec 8.6. */
export const EXIT_CODES = {
  usage: 1,
  refused: 1,
  unknown_recipient: 1,
  bad_draft: 1,
  unknown_id: 1,
  ambiguous_id: 1,
  config: 2,
  timeout: 3,
  safe_mode: 4,
  already_running: 5,
  storage: 6,
  internal: 70,
} as const;

export type ErrorCode = keyof typeof EXIT_CODES;

const CONFIG_TROUBLE: ReadonlySet<StorageCode> = new Set([
  "missing",
  "unsafe_mode",
  "not_a_wire",
  "corrupt",
]);

/** Files that are missing, unsafe or damaged are configuration, not a failing disk. Spec 8.6. */
export function codeOfStorage(code: StorageCode): "config" | "storage" {
  return CONFIG_TROUBLE.has(code) ? "config" : "storage";
}

interface Instead {
  readonly given: string;
  readonly meant: readonly string[];
}

/**
 * A failure that a person or a script can act on: what was wrong (message), what to do (hint),
 * and the exit code that belongs to it. It crosses the daemon's socket as {code, message, hint}.
 */
export class DeaddropError extends Error {
  override readonly name = "DeaddropError";
  readonly code: ErrorCode;
  readonly exitCode: number;
  readonly hint: string | undefined;
  /** A word that was given, and those that may have been meant. */
  readonly instead: Instead | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    about: {
      hint?: string | undefined;
      cause?: unknown;
      instead?: Instead | undefined;
    } = {},
  ) {
    super(message, about.cause === undefined ? undefined : { cause: about.cause });
    this.code = code;
    this.exitCode = EXIT_CODES[code];
    this.hint = about.hint;
    this.instead = about.instead;
  }
}

/** True for a code that this version knows: a newer daemon may answer an older client. */
export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(EXIT_CODES, code);
}
