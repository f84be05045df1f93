import { execFileSync } from "node:child_process";
import { DeaddropError } from "../../api/errors.ts";
import { MINUTE_MS } from "../../wire/durations.ts";

/** Runs `gh` with these arguments, and answers what it printed. Throws DeaddropError. */
export type Gh = (...args: readonly string[]) => string;

export interface NewRepository {
  /** Without its owner, who is signed in. */
  readonly name: string;
  /** The user on GitHub who is invited, if one is. */
  readonly peer: string | undefined;
}

const NAME = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/;
const USER = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})$/;
const GITHUB_LIMIT_MS = 2 * MINUTE_MS;

/** The operator's `gh`, found on PATH. It asks nothing, and gets no shell. */
export function ghIn(env: NodeJS.ProcessEnv): Gh {
  return (...args) => {
    try {
      return execFileSync("gh", args, {
        env: { ...env, GH_PROMPT_DISABLED: "1", NO_COLOR: "1" },
        encoding: "utf8",
        stdio: ["ignore", "pipe", "pipe"],
        timeout: GITHUB_LIMIT_MS,
      }).trim();
    } catch (error) {
      throw ghTrouble(error, args);
    }
  };
}

/**
 * Makes that private repository, unless the user has one of that name already, invites the peer, and
 * answers the URL that git is to use. Spec 8.6. Throws DeaddropError.
 */
export function makeRepository(gh: Gh, { name, peer }: NewRepository): string {
  checkNames({ name, peer });
  const owner = gh("api", "user", "--jq", ".login");
  if (!USER.test(owner)) throw notSignedIn();
  const repository = `${owner}/${name}`;
  if (!isThere(gh, repository)) gh("repo", "create", repository, "--private");
  if (peer !== undefined) {
    const invited = `repos/${repository}/collaborators/${peer}`;
    gh("api", "--method", "PUT", invited, "-f", "permission=push", "--silent");
  }
  const isOverSsh = gh("config", "get", "git_protocol", "--host", "github.com") === "ssh";
  return isOverSsh ? `git@github.com:${repository}.git` : `https://github.com/${repository}.git`;
}

/** Throws DeaddropError ("usage") for what is no name on GitHub: both become part of a path. */
export function checkNames({ name, peer }: NewRepository): void {
  if (!NAME.test(name) || name.endsWith(".git")) {
    throw new DeaddropError("usage", `--repo-name ${name}: that is no name of a repository`);
  }
  if (peer !== undefined && !USER.test(peer)) {
    throw new DeaddropError("usage", `--peer-github ${peer}: that is no user on GitHub`);
  }
}

function isThere(gh: Gh, repository: string): boolean {
  const names = gh(
    "repo",
    "list",
    "--limit",
    "1000",
    "--json",
    "nameWithOwner",
    "--jq",
    ".[].nameWithOwner",
  );
  return names.split("\n").some((each) => each.toLowerCase() === repository.toLowerCase());
}

function notSignedIn(): DeaddropError {
  return new DeaddropError("config", "gh is not signed in to GitHub", {
    hint: "gh auth login; or make a private repository yourself, and give --remote URL",
  });
}

function ghTrouble(error: unknown, args: readonly string[]): DeaddropError {
  const { code, stderr = "" } = error as NodeJS.ErrnoException & { stderr?: string };
  if (code === "ENOENT") {
    return new DeaddropError("config", "--github needs the program gh, which is not on PATH", {
      hint: "install gh from cli.github.com; or make a private repository yourself, and give --remote URL",
      cause: error,
    });
  }
  if (/gh auth login|authentication|HTTP 401/i.test(stderr)) return notSignedIn();
  const said = stderr
    .replaceAll(/[^\P{C}\n]/gu, "")
    .trim()
    .split("\n")
    .slice(-3)
    .join("; ");
  return new DeaddropError("storage", `gh ${args.slice(0, 2).join(" ")}: ${said || String(code)}`, {
    hint: "it is safe to run the command again",
    cause: error,
  });
}
