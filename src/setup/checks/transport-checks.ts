import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { sep } from "node:path";
import type { GitSettings } from "../../carriers/transport-settings.ts";
import { ok, warning, type Finding } from "./host-checks.ts";

const CHECK = "transport";
const PROGRAM_LIMIT_MS = 5_000;

/**
 * Whether a service of this user can reach the remote: it has no terminal, another environment than a
 * shell, and a /tmp of its own. Asks no other machine. Spec 5.2.
 */
export function checkTransport(
  { remote: { url, scheme }, branch }: GitSettings,
  env: NodeJS.ProcessEnv,
): readonly Finding[] {
  const version = said("git", ["--version"], env);
  if (version === undefined) {
    return [warning(CHECK, "git does not run here", "install git 2.32 or newer")];
  }
  const found = ok(CHECK, `${version}, ${url} (${branch})`);
  if (scheme === "ssh") return [found, ...checkSsh(url, env)];
  return scheme === "https" ? [found, ...checkHttps(url, env)] : [found];
}

function checkSsh(url: string, env: NodeJS.ProcessEnv): readonly Finding[] {
  const host = hostOf(url);
  const isKnown = host === undefined || said("ssh-keygen", ["-F", host], env) !== undefined;
  const socket = env["SSH_AUTH_SOCK"];
  return [
    ...(isKnown
      ? []
      : [
          warning(
            CHECK,
            `ssh does not know ${host}, and a service cannot be asked`,
            `connect once by hand, and compare its key: ssh -T ${host}`,
          ),
        ]),
    ...(socket?.startsWith(tmpdir() + sep) === true
      ? [
          warning(
            CHECK,
            `the SSH agent's socket is in ${tmpdir()}, which the service does not see`,
            "use a key without a passphrase for this host, or an agent of the service manager: systemctl --user enable --now ssh-agent.socket, then systemctl --user import-environment SSH_AUTH_SOCK",
          ),
        ]
      : []),
  ];
}

function checkHttps(url: string, env: NodeJS.ProcessEnv): readonly Finding[] {
  const helper = said("git", ["config", "--get-urlmatch", "credential.helper", url], env);
  if (helper !== undefined) return [];
  return [
    warning(
      CHECK,
      "git has no credential helper, and a service cannot be asked for a password",
      "configure one: git help credentials; or use an SSH URL",
    ),
  ];
}

/** A host in an URL or in `user@host:path`; with a port as ssh writes it. */
function hostOf(url: string): string | undefined {
  const scp = /^(?:[^@/]+@)?(\[[^\]]+\]|[^:/]+):(?!\/\/)/.exec(url)?.[1];
  if (scp !== undefined) return scp.replace(/^\[|\]$/g, "");
  try {
    const { hostname, port } = new URL(url);
    return port === "" ? hostname : `[${hostname}]:${port}`;
  } catch {
    return undefined;
  }
}

/** The first line that a program prints; undefined when it fails or cannot be run. */
function said(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): string | undefined {
  const run = spawnSync(program, args, { env, timeout: PROGRAM_LIMIT_MS, encoding: "utf8" });
  return run.status === 0 ? run.stdout.split("\n")[0] : undefined;
}
