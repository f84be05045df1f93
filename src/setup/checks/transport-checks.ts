import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { sep } from "node:path";
import type { GitSettings } from "../../carriers/transport-settings.ts";
import { trouble, type TroubleView } from "../../api/troubles.ts";
import { ok, type Finding } from "./host-checks.ts";

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
    return [trouble("git_missing", {})];
  }
  const found = ok("transport", `${version}, ${url} (${branch})`);
  if (scheme === "ssh") return [found, ...checkSsh(url, env)];
  return scheme === "https" ? [found, ...checkHttps(url, env)] : [found];
}

function checkSsh(url: string, env: NodeJS.ProcessEnv): readonly TroubleView[] {
  const host = hostOf(url);
  const isKnown = host === undefined || said("ssh-keygen", ["-F", host], env) !== undefined;
  const socket = env["SSH_AUTH_SOCK"];
  const isHidden = socket?.startsWith(tmpdir() + sep) === true;
  return [
    ...(isKnown ? [] : [trouble("ssh_host_unknown", { host })]),
    ...(isHidden ? [trouble("ssh_agent_hidden", { folder: tmpdir() })] : []),
  ];
}

function checkHttps(url: string, env: NodeJS.ProcessEnv): readonly TroubleView[] {
  const helper = said("git", ["config", "--get-urlmatch", "credential.helper", url], env);
  return helper === undefined ? [trouble("no_credential_helper", {})] : [];
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
