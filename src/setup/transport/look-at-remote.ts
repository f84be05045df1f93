import { parsedConfig } from "../../agent/config/parsed-config.ts";
import { DeaddropError } from "../../api/errors.ts";
import { TransportError } from "../../carriers/carrier.ts";
import { fetchRemote, type LookedRemote } from "../../carriers/git/look-at-remote.ts";
import { readRemoteUrl, type RemoteUrl } from "../../carriers/git/remote-url.ts";
import { isBranch } from "../../carriers/transport-settings.ts";
import type { WireConfig } from "../../trust/policy/config.ts";
import type { SetupHost } from "../host.ts";

/** A URL that the operator has given. Throws DeaddropError ("usage") when it may not be a remote. */
export function givenRemote(text: string): RemoteUrl {
  const read = readRemoteUrl(text);
  if (read.ok) return read.remote;
  throw new DeaddropError("usage", `the remote cannot be used: ${read.problem}`, {
    hint: "for example: git@host:team/wire.git, https://host/team/wire.git or /srv/git/wire.git",
  });
}

/** Fetches what the remote holds. The caller closes it. @throws DeaddropError with what git says */
export function lookAtRemote(
  { disk, nowMs }: SetupHost,
  env: NodeJS.ProcessEnv,
  remote: RemoteUrl,
  branch: string | undefined,
  handle?: string,
): Promise<LookedRemote> {
  if (branch !== undefined && !isBranch(branch)) {
    throw new DeaddropError("usage", `--branch ${branch}: that is no name of a branch`);
  }
  const looking = { disk, env, wallMs: () => nowMs, handle };
  return explained(fetchRemote(looking, remote, branch));
}

/** What the wire in a remote says of itself; undefined: it has no `config.json`, or there is no wire. */
export function configIn({ config }: Pick<LookedRemote, "config">): WireConfig | undefined {
  return config === undefined ? undefined : parsedConfig("config.json in the remote", config);
}

/** Passes a result on; trouble with a remote becomes what a person has to correct. */
export async function explained<T>(result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    throw error instanceof TransportError ? asDeaddropError(error) : error;
  }
}

/** For a command: what a person has to correct. */
export function asDeaddropError(error: TransportError): DeaddropError {
  const { code, message } = error;
  const kind = code === "no_git" || code === "stopped" ? "config" : "storage";
  // A daemon tries again by itself; a command does not.
  const hint =
    code === "unreachable" || code === "local"
      ? "check the host's name and your connection, then run the command again"
      : error.hint;
  return new DeaddropError(kind, message, { hint, cause: error });
}
