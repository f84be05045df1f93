import { randomBytes } from "node:crypto";
import { DeaddropError } from "../../api/errors.ts";
import { agentPathsOn, type SetupHost } from "../../setup/host.ts";
import { checkNames, ghIn, makeRepository } from "../../setup/transport/github.ts";
import { presentSettings } from "../../setup/transport/set-up-transport.ts";
import { readWireConfig } from "../../setup/wire/wire-config.ts";
import type { Cli } from "../context.ts";
import type { RemoteFlags } from "./sharing-by-remote.ts";

/** The flags with which `init` makes the repository itself. */
export interface GithubFlags extends RemoteFlags {
  github?: boolean;
  peerGithub?: string;
  repoName?: string;
  dryRun?: boolean;
}

/**
 * The remote that `init` is to use: the one that was given, or a private repository on GitHub, made
 * once. Undefined: none. In a dry run nothing is made, and `would` says what. Spec 8.6.
 */
export function remoteToUse(
  cli: Cli,
  host: SetupHost,
  flags: GithubFlags,
  at: { readonly wireDir: string; readonly handle: string },
): { readonly url: string | undefined; readonly would: string | undefined } {
  const isMade = flags.github === true || flags.peerGithub !== undefined;
  if (!isMade) {
    if (flags.repoName !== undefined) throw alone("--repo-name", "give --github with it");
    return { url: flags.remote, would: undefined };
  }
  if (flags.remote !== undefined) throw alone("--github", "leave out --remote or --github");
  const present = pinnedRemote(host, at);
  if (present !== undefined) return { url: present, would: undefined };
  // Nobody can have made one of that name before.
  const name = flags.repoName ?? `deaddrop-${randomBytes(4).toString("hex")}`;
  const wish = { name, peer: flags.peerGithub };
  checkNames(wish);
  if (flags.dryRun === true) {
    return { url: undefined, would: `make the private repository ${name} on GitHub, with gh` };
  }
  return { url: makeRepository(ghIn(cli.env), wish), would: undefined };
}

/** Through which this wire is shared already: a repeated call makes no second repository. */
function pinnedRemote(
  host: SetupHost,
  { wireDir, handle }: { readonly wireDir: string; readonly handle: string },
): string | undefined {
  const config = readWireConfig(host.disk, wireDir);
  if (config === undefined) return undefined;
  const { wireKey } = agentPathsOn(host, { wireDir, handle, wireId: config.wireId });
  return presentSettings(host, wireKey)?.remote.url;
}

function alone(flag: string, hint: string): DeaddropError {
  return new DeaddropError("usage", `${flag} cannot be used like this`, { hint });
}
