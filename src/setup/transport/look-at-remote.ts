import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parsedConfig } from "../../agent/config/parsed-config.ts";
import { DeaddropError } from "../../api/errors.ts";
import { wholeOf, type RemoteFiles } from "../../transport/copies/remote-files.ts";
import { wireFiles, type WireFiles } from "../../transport/copies/wire-files.ts";
import { openGit } from "../../transport/git/git-settings.ts";
import { remoteTree } from "../../transport/git/remote-tree.ts";
import { readRemoteUrl, type RemoteUrl } from "../../carriers/git/remote-url.ts";
import { openRepository } from "../../transport/git/repository.ts";
import { type Git } from "../../transport/git/run-git.ts";
import { EMPTY_TREE, type Tree } from "../../transport/git/tree.ts";
import { TransportError, type TransportTrouble } from "../../transport/port.ts";
import { isBranch } from "../../transport/transport-settings.ts";
import type { WireConfig } from "../../trust/policy/config.ts";
import { MAX_CONFIG_BYTES } from "../../wire/limits.ts";
import type { SetupHost } from "../host.ts";

/** What a remote holds, before anything of it is used. It is in a folder that `close` removes. */
export interface LookedRemote {
  readonly remote: RemoteUrl;
  readonly branch: string;
  /** The present commit; undefined when the branch is not there. */
  readonly head: string | undefined;
  /** Where the wire is in it: "" or a folder with "/". Undefined: there is none. */
  readonly prefix: string | undefined;
  /** Undefined: the wire has none (the Python reference made it), or there is no wire. */
  readonly config: WireConfig | undefined;
  /** The files of the wire in there, and what does not belong to it. */
  filesOf(wire: WireFiles): {
    readonly remote: RemoteFiles;
    readonly troubles: readonly TransportTrouble[];
  };
  /** Whether it has a log with that path. */
  hasFile(path: string): boolean;
  close(): void;
}

/** Where a wire is in a repository: alone, or beside a project. */
const PREFIXES = ["", "_coordination/"] as const;

/** A URL that the operator has given. Throws DeaddropError ("usage") when it may not be a remote. */
export function givenRemote(text: string): RemoteUrl {
  const read = readRemoteUrl(text);
  if (read.ok) return read.remote;
  throw new DeaddropError("usage", `the remote cannot be used: ${read.problem}`, {
    hint: "for example: git@host:team/wire.git, https://host/team/wire.git or /srv/git/wire.git",
  });
}

/** Fetches what the remote holds. Throws DeaddropError with what git says. Spec 5.2. */
export async function lookAtRemote(
  { disk, nowMs }: SetupHost,
  env: NodeJS.ProcessEnv,
  remote: RemoteUrl,
  branch: string | undefined,
): Promise<LookedRemote> {
  if (branch !== undefined && !isBranch(branch)) {
    throw new DeaddropError("usage", `--branch ${branch}: that is no name of a branch`);
  }
  const folder = mkdtempSync(join(tmpdir(), "deaddrop-remote-"));
  const close = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const { git } = await openGit(disk, { folder, remote, env });
    const used = branch ?? (await defaultBranch(git, remote.url));
    const repository = await openRepository(git, {
      ...{ folder, remote, branch: used, handle: "nobody", signs: false },
      wallMs: () => nowMs,
    });
    const head = await repository.fetch();
    const tree = head === undefined ? EMPTY_TREE : await repository.tree(head, []);
    const prefix = PREFIXES.find((each) => hasWire(tree, each));
    const filesOf: LookedRemote["filesOf"] = (wire) =>
      remoteTree(tree, prefix ?? "", wire, repository);
    const config = await configIn(filesOf(wireFiles("pairwise", [])).remote);
    const hasFile = (path: string): boolean => tree.files.has(`${prefix ?? ""}${path}`);
    return { remote, branch: used, head, prefix, config, filesOf, hasFile, close };
  } catch (error) {
    close();
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

async function defaultBranch(git: Git, url: string): Promise<string> {
  try {
    const said = await git(["ls-remote", "--symref", "--", url, "HEAD"], { network: true });
    const [, name] = /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(said.toString("utf8")) ?? [];
    return name !== undefined && isBranch(name) ? name : "main";
  } catch {
    // The fetch that follows says what is wrong, in words.
    return "main";
  }
}

function hasWire({ files }: Tree, prefix: string): boolean {
  return [...files.keys()].some((path) => {
    if (!path.startsWith(prefix)) return false;
    const name = path.slice(prefix.length);
    if (name === "config.json")
      return files.has(`${prefix}PROTOCOL.md`) || files.has(`${prefix}tiers.json`);
    return name === "PROTOCOL.md" || /^[^/]+_to_[^/]+\.jsonl$/.test(name);
  });
}

async function configIn(remote: RemoteFiles): Promise<WireConfig | undefined> {
  const found = remote.files.get("config.json");
  if (found === undefined) return undefined;
  if (found.bytes > MAX_CONFIG_BYTES) {
    throw new DeaddropError("config", "config.json in the remote is too large to be one");
  }
  return parsedConfig("config.json in the remote", await wholeOf(remote, ["config.json"]));
}
