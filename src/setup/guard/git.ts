import { spawnSync } from "node:child_process";
import { DeaddropError } from "../../api/errors.ts";

/** More than this of one answer of git is not read. */
const MAX_ANSWER_BYTES = 1_024 * 1_048_576;

/** Runs git to its end, and gives what it printed. Throws DeaddropError when it fails. */
export type Git = (args: readonly string[], input?: string) => Buffer;

/** git in that folder, with the environment as a hook has it: GIT_DIR, GIT_INDEX_FILE. No shell. */
export function gitIn(folder: string, env: NodeJS.ProcessEnv): Git {
  return (args, input) => {
    const run = spawnSync("git", ["-c", "core.quotepath=off", "--literal-pathspecs", ...args], {
      cwd: folder,
      env: { ...env, GIT_OPTIONAL_LOCKS: "0", LC_ALL: "C" },
      input: input ?? "",
      maxBuffer: MAX_ANSWER_BYTES,
    });
    const what = `git ${args[0] ?? ""}`;
    if (run.error !== undefined) {
      throw new DeaddropError("config", `${what} could not be run: ${run.error.message}`, {
        hint: "install git, or put it into PATH",
        cause: run.error,
      });
    }
    if (run.status === 0) return run.stdout;
    const said = run.stderr.toString("utf8").trim();
    throw new DeaddropError("refused", `${what} failed in ${folder}: ${said}`, {
      hint: "run it inside a git work tree; `git status` says more",
    });
  };
}
