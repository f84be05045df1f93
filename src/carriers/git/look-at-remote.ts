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
import { claimWire } from "./claim-wire.ts";
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
  readonly handle?: string;
}

/** Where a wire is in a repository: alone, or beside a project. */
const PREFIXES = ["", "_coordination/"] as const;
const CONFIG = "config.json";
const EMPTY: Tree = { files: [], odd: new Map(), isWhole: true };
/** Between two attempts to make a wire while others push too. */
const CLAIM_PAUSE_MS = 200;

/**
 * What a repository holds, before an operator says that a wire is shared through it. It was fetched into a folder
 * that `close` removes. Spec 5.2.
 */
export class LookedRemote {
  readonly remote: RemoteUrl;
  readonly branch: string;
  /** The present commit; undefined when the branch is not there. */
  readonly head: string | undefined;
  /** Where the wire is in it: "" or a folder with "/" at its end. Undefined: there is none. */
  readonly prefix: string | undefined;
  /** The bytes of the wire's `config.json`; undefined: it has none. */
  readonly config: Uint8Array | undefined;
  readonly #folder: string;
  readonly #repository: Repository;
  readonly #tree: Tree;

  private constructor(
    found: Pick<LookedRemote, "remote" | "branch" | "head" | "prefix" | "config">,
    { folder, repository, tree }: { folder: string; repository: Repository; tree: Tree },
  ) {
    this.remote = found.remote;
    this.branch = found.branch;
    this.head = found.head;
    this.prefix = found.prefix;
    this.config = found.config;
    this.#folder = folder;
    this.#repository = repository;
    this.#tree = tree;
  }

  /**
   * Fetches it.
   *
   * @param branch undefined: the repository's own
   * @throws TransportError
   */
  static async look(
    { disk, env, wallMs, handle = "nobody" }: Looking,
    remote: RemoteUrl,
    branch: string | undefined,
  ): Promise<LookedRemote> {
    const folder = mkdtempSync(join(tmpdir(), "deaddrop-remote-"));
    try {
      const { git } = await openGit({ folder, remote, env });
      const used = branch ?? (await defaultBranch(git, remote.url));
      const place = { folder, remote, branch: used, prefix: "", handle, wallMs };
      const repository = await Repository.open(disk, place, env);
      const head = await repository.fetch();
      const whole = head === undefined ? EMPTY : await repository.list(head, []);
      const prefix = PREFIXES.find((each) => hasWire(whole, each));
      const tree = below(whole, prefix ?? "");
      const config = tree.files.find(({ path }) => path === CONFIG);
      const bytes = config && (await repository.read(config.id, MAX_CONFIG_BYTES));
      const found = { remote, branch: used, head, prefix, config: bytes };
      return new LookedRemote(found, { folder, repository, tree });
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /**
   * Copies the documents of the wire into a folder, those of everybody, cards and state files, and the carriers of
   * all whom the layout knows. Where a file is, it stays.
   *
   * @throws TransportError @throws StorageError
   */
  async copyWire(disk: Disk, wireDir: string, layout: WireLayout): Promise<void> {
    const paths = new WirePaths(layout);
    const { folderMode, sharedMode, logMode } = sharingOf(disk, wireDir);
    for (const [path, id] of checkTree(this.#tree, paths, new Map()).files) {
      const at = join(wireDir, path);
      const is = paths.get(path)?.is;
      if ((is !== "document" && is !== "carrier") || disk.stat(at) !== undefined) continue;
      disk.makeFolder(dirname(at), folderMode);
      const mode = is === "document" ? sharedMode : logMode;
      await copyFile(disk, this.#repository, id, { at, mode });
    }
  }

  /**
   * Makes a wire of that `config.json` in an empty branch, or finds the one that somebody has just made there.
   * Returns the `config.json` that is there. @throws TransportError
   */
  claim(config: Uint8Array): Promise<Uint8Array> {
    return claimWire(this.#repository, config, (attempt) => after(attempt * CLAIM_PAUSE_MS));
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
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
