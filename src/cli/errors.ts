import { tmpdir } from "node:os";
import { CommanderError } from "commander";
import { codeOfStorage, DeaddropError, EXIT_CODES } from "../api/errors.ts";
import { RESUME_COMMAND } from "../protocol/escalations/safe-mode-end.ts";
import { readerOf, type Cli } from "./context.ts";
import { painter, writeExact } from "./output/output.ts";
import { safeJson, sanitiseLines } from "../framing/sanitise.ts";

interface Report {
  code: string;
  message: string;
  hint: string | undefined;
  exitCode: number;
}

/**
 * Prints what was wrong and what to do, and returns the exit code (spec 8.6). With `json` it is
 * one line `{"error":{"code","message","hint"}}` on standard error.
 */
export async function reportError(
  error: unknown,
  cli: Pick<Cli, "env" | "stdin" | "stderr">,
  json: boolean,
): Promise<number> {
  // Help and version: commander has printed them, and they are no failure.
  if (error instanceof CommanderError) return error.exitCode;
  const report = await read(error, cli.env);
  const { code, message, exitCode } = report;
  const hint = code === "safe_mode" ? safeModeHint(report.hint, cli) : report.hint;
  if (json) {
    writeExact(cli.stderr, `${safeJson({ error: { code, message, hint: hint ?? null } })}\n`);
    return exitCode;
  }
  const paint = painter(cli.stderr, cli.env);
  const [first = "", ...rest] = sanitiseLines(message);
  const lines = [`${paint("red", "deaddrop:")} ${first}`, ...rest.map((line) => `  ${line}`)];
  if (hint !== undefined) lines.push(...sanitiseLines(hint).map((line) => `  ${line}`));
  cli.stderr.write(`${lines.join("\n")}\n`);
  return exitCode;
}

/** The agent does not know who reads it, so its hint does not give the operator's command. Spec 3.5. */
function safeModeHint(hint: string | undefined, cli: Pick<Cli, "env" | "stdin" | "stderr">) {
  if (readerOf(cli) === "agent") return hint;
  return [...(hint === undefined ? [] : [hint]), `as the operator: ${RESUME_COMMAND}`].join("\n");
}

/** A file that may not be written is no trouble of the disk where a sandbox is what forbids it. */
async function inSandbox(error: unknown, env: NodeJS.ProcessEnv): Promise<unknown> {
  const cause = error instanceof DeaddropError ? error.cause : error;
  // Loaded only when something went wrong: a command that works does not pay for it.
  const { StorageError } = await import("../storage/disk/disk.ts");
  if (!(cause instanceof StorageError) || !["read_only", "denied"].includes(cause.code))
    return error;
  const { sandboxOf, writeRefused } = await import("../client/sandbox.ts");
  return sandboxOf(env) === undefined ? error : writeRefused(env, cause.message);
}

async function read(given: unknown, env: NodeJS.ProcessEnv): Promise<Report> {
  const error = await inSandbox(given, env);
  if (error instanceof DeaddropError) {
    const { code, message, hint, exitCode } = error;
    return { code, message, hint, exitCode };
  }
  const { StorageError } = await import("../storage/disk/disk.ts");
  if (error instanceof StorageError) {
    const code = codeOfStorage(error.code);
    return { code, message: error.message, hint: error.hint, exitCode: EXIT_CODES[code] };
  }
  if (isSystemError(error)) return systemReport(error, env);
  const trace = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return {
    code: "internal",
    message: `this is a bug in deaddrop\n${trace}`,
    hint: "nothing is lost: logs and keys are as they were. Please report it with the lines above",
    exitCode: 70,
  };
}

/** What a machine refuses: a missing or closed folder, a full disk, a limit. Others are our bug. */
const SYSTEM_TROUBLE = new Set(
  "EACCES EPERM ENOENT ENOTDIR EROFS ENOSPC EDQUOT EIO EMFILE ENFILE ENOMEM ELOOP EAGAIN".split(
    " ",
  ),
);

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return (
    error instanceof Error &&
    "syscall" in error &&
    "code" in error &&
    SYSTEM_TROUBLE.has(String(error.code))
  );
}

function systemReport(error: NodeJS.ErrnoException, env: NodeJS.ProcessEnv): Report {
  const folder = tmpdir();
  const isTemporary = error.path?.startsWith(env["TMPDIR"] ?? folder) === true;
  return {
    code: "storage",
    message: error.message,
    hint: isTemporary
      ? "set TMPDIR to a folder that exists and that you can write to"
      : "nothing is lost: logs and keys are as they were. Correct what the system refuses, then run it again",
    exitCode: EXIT_CODES.storage,
  };
}
