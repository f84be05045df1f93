import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import type { Disk } from "../../storage/disk/disk.ts";
import { sharingOf } from "../../storage/sharing.ts";
import { MAX_CONFIG_BYTES } from "../../wire/limits.ts";
import { TransportError, type WireLayout } from "../carrier.ts";
import { isBranch } from "../transport-settings.ts";
import { checkTree } from "./check-tree.ts";
import { openGit } from "./git-settings.ts";
import { copyFile } from "./mirror.ts";
import type { RemoteUrl } from "./remote-url.ts";
import { Repository, type Tree } from "./repository.ts";
import type { Git } from "./run-git.ts";
import { WirePaths } from "./wire-paths.ts";

/** With what a repository is looked at. */
export interface Looking {
  readonly disk: Disk;
  /** Of our process; git gets a part of it. */
  readonly env: NodeJS.ProcessEnv;
  wallMs(): number;
  /** Who signs what is claimed there. */
  readonly handle?: string | undefined;
}

/** Where a wire is in a repository: alone, or beside a project. */
const PREFIXES = ["", "_coordination/"] as const;
const CONFIG = "config.json";
const MAX_PUSHES = 8;
const EMPTY: Tree = { files: [], odd: new Map(), isWhole: true };
/** Between two attempts to make a wire while others push too. */
const CLAIM_PAUSE_MS = 200;

/**
 * What a repository holds, before an operator says that a wire is shared through it. It was fetched into a folder
 * that `close` removes. Spec 5.2.
 */
export interface LookedRemote {
  readonly remote: RemoteUrl;
  readonly branch: string;
  /** The present commit; undefined when the branch is not there. */
  readonly head: string | undefined;
  /** Where the wire is in it: "" or a folder with "/" at its end. Undefined: there is none. */
  readonly prefix: string | undefined;
  /** The bytes of the wire's `config.json`; undefined: it has none. */
  readonly config: Uint8Array | undefined;
  /**
   * Copies the documents of the wire into a folder, those of everybody, cards and state files, and the carriers of
   * all whom the layout knows. Where a file is, it stays.
   *
   * @throws TransportError @throws StorageError
   */
  copyWire(disk: Disk, wireDir: string, layout: WireLayout): Promise<void>;
  /**
   * Makes a wire of that `config.json` in an empty branch, or finds the one that somebody has just made there.
   * Returns the `config.json` that is there. @throws TransportError
   */
  claim(config: Uint8Array): Promise<Uint8Array>;
  close(): void;
}

/**
 * Fetches a repository and looks for a wire in it.
 *
 * @param chosen its branch; undefined: the repository's own
 * @throws TransportError
 */
export async function fetchRemote(
  { disk, env, wallMs, handle = "nobody" }: Looking,
  remote: RemoteUrl,
  chosen: string | undefined,
): Promise<LookedRemote> {
  const folder = mkdtempSync(join(tmpdir(), "deaddrop-remote-"));
  const close = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const { git } = await openGit({ folder, remote, env });
    const branch = chosen ?? (await defaultBranch(git, remote.url));
    const place = { folder, remote, branch, prefix: "", handle, wallMs };
    const repository = await Repository.open(disk, place, env);
    const head = await repository.fetch();
    const whole = head === undefined ? EMPTY : await repository.list(head, []);
    const prefix = PREFIXES.find((each) => hasWire(whole, each));
    const tree = below(whole, prefix ?? "");
    const found = tree.files.find(({ path }) => path === CONFIG);
    const config = found && (await repository.read(found.id, MAX_CONFIG_BYTES));
    return {
      ...{ remote, branch, head, prefix, config },
      copyWire: (...to) => copyTree(repository, tree, ...to),
      claim: (made) => claimWire(repository, made, (attempt) => after(attempt * CLAIM_PAUSE_MS)),
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

async function copyTree(
  repository: Repository,
  tree: Tree,
  ...[disk, wireDir, layout]: Parameters<LookedRemote["copyWire"]>
): Promise<void> {
  const paths = new WirePaths(layout);
  const { folderMode, sharedMode, logMode } = sharingOf(disk, wireDir);
  for (const [path, id] of checkTree(tree, paths, new Map()).files) {
    const at = join(wireDir, path);
    const is = paths.get(path)?.is;
    if ((is !== "document" && is !== "carrier") || disk.stat(at) !== undefined) continue;
    disk.makeFolder(dirname(at), folderMode);
    const mode = is === "document" ? sharedMode : logMode;
    await copyFile(disk, repository, id, { at, mode });
  }
}

/**
 * Makes a wire in the repository, or finds the one that is there: whose push of `config.json` is taken has made
 * it. Spec 1.1, 5.2.
 *
 * @param config of the wire that is to be made
 * @param pause waits before another attempt, that many more each time
 * @returns the `config.json` of the wire that is in the repository now
 * @throws TransportError
 * @internal
 */
export async function claimWire(
  repository: Repository,
  config: Uint8Array,
  pause: (attempt: number) => Promise<void>,
): Promise<Uint8Array> {
  for (let attempt = 1; attempt <= MAX_PUSHES; attempt += 1) {
    const head = await repository.fetch();
    if (head !== undefined) {
      const { files, odd } = await repository.list(head, [CONFIG]);
      const there = files.find(({ path }) => path === CONFIG);
      if (there !== undefined) return repository.read(there.id, MAX_CONFIG_BYTES);
      if (odd.has(CONFIG)) throw notPlain(odd.get(CONFIG));
    }
    const change = { path: CONFIG, bytes: config.length, pieces: [config] };
    const commit = await repository.commit(head, [change]);
    if (await repository.push(commit)) return config;
    await pause(attempt);
  }
  throw new TransportError("unreachable", "others push all the time", { hint: "try it again" });
}

function notPlain(what: string | undefined): TransportError {
  return new TransportError("stopped", `config.json in the repository is ${what ?? "no file"}`, {
    hint: "look at the repository: it is no wire, or somebody has tampered with it",
  });
}

async function defaultBranch(git: Git, url: string): Promise<string> {
  try {
    const printed = await git(["ls-remote", "--symref", "--", url, "HEAD"], { network: true });
    const [, name] = /^ref: refs\/heads\/(\S+)\tHEAD$/mu.exec(printed.toString("utf8")) ?? [];
    return name !== undefined && isBranch(name) ? name : "main";
  } catch (error) {
    // The fetch that follows says what is wrong, in words.
    if (error instanceof TransportError) throw error;
    return "main";
  }
}

function hasWire({ files }: Tree, prefix: string): boolean {
  const names = new Set(
    files.flatMap(({ path }) => (path.startsWith(prefix) ? [path.slice(prefix.length)] : [])),
  );
  const isMade = names.has(CONFIG) && (names.has("PROTOCOL.md") || names.has("tiers.json"));
  return (
    isMade ||
    names.has("PROTOCOL.md") ||
    [...names].some((name) => /^[^/]+_to_[^/]+\.jsonl$/u.test(name))
  );
}

function below({ files, odd, isWhole }: Tree, prefix: string): Tree {
  const within = <T>(entries: Iterable<readonly [string, T]>): [string, T][] =>
    [...entries].flatMap(([path, entry]) =>
      path.startsWith(prefix) ? [[path.slice(prefix.length), entry]] : [],
    );
  const inside = within(files.map((file) => [file.path, file] as const));
  return {
    files: inside.map(([path, file]) => ({ ...file, path })),
    ...{ odd: new Map(within(odd)), isWhole },
  };
}
