import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { Disk } from "../../storage/disk/disk.ts";
import { PRIVATE_FOLDER } from "../../storage/disk/file-modes.ts";
import { openGit } from "./git-settings.ts";
import { isBehind, isMissingBranch, isOtherFormat, remoteTrouble } from "./git-trouble.ts";
import type { RemoteUrl } from "./remote-url.ts";
import { GitFailed, type Git } from "./run-git.ts";

/** A file of a commit. Paths are relative to the wire's folder in the repository. */
export interface TreeFile {
  readonly path: string;
  readonly id: string;
  readonly bytes: number;
}

export interface Tree {
  /** Regular files that cannot be executed. */
  readonly files: readonly TreeFile[];
  /** What is none: a link, a submodule, a program. By path: what it is. */
  readonly odd: ReadonlyMap<string, string>;
  /** False: there is too much, and only known paths were listed. */
  readonly isWhole: boolean;
}

/** What a path is to hold; the pieces are asked for once, and have that many bytes together. */
export interface Change {
  readonly path: string;
  readonly bytes: number;
  readonly pieces: Iterable<Uint8Array>;
}

export interface RepositoryPlace {
  readonly folder: string;
  readonly remote: RemoteUrl;
  readonly branch: string;
  /** Where the wire is in the repository: "" or a folder with "/" at its end. */
  readonly prefix: string;
  readonly handle: string;
  wallMs(): number;
}

const FETCHED = "refs/deaddrop/fetched";
const OURS = "refs/deaddrop/ours";
/** Some 100,000 files: far more than a wire has. */
const MAX_LISTED_BYTES = 8 * 1_048_576;
const MAX_LISTED_PATHS = 4_096;
/** Objects and packs, each with one commit of ours, before all become one pack. */
const MAX_LOOSE_OBJECTS = 400;
const MAX_PACKS = 32;

/**
 * The private bare repository. Nothing is ever checked out of it, and it may be deleted at any time. One
 * process uses it at once. Methods throw TransportError when the remote cannot be used, and GitFailed when
 * the repository itself is damaged. Spec 5.2.
 */
export class Repository {
  readonly #git: Git;
  readonly #place: RepositoryPlace;
  readonly #signs: boolean;
  #format: "sha1" | "sha256" = "sha1";

  private constructor(git: Git, place: RepositoryPlace, signs: boolean) {
    this.#git = git;
    this.#place = place;
    this.#signs = signs;
  }

  /** Makes one where there is none that works. @param env of our process; git gets a part of it */
  static async open(
    disk: Disk,
    place: RepositoryPlace,
    env: NodeJS.ProcessEnv,
    signal?: AbortSignal,
  ): Promise<Repository> {
    const { folder, remote } = place;
    disk.makeFolder(folder, PRIVATE_FOLDER);
    const { git, signs } = await openGit({ folder, remote, env, signal });
    const repository = new Repository(git, place, signs);
    await repository.#ensure();
    return repository;
  }

  /** False once somebody has deleted it: it has to be opened again. */
  exists(): boolean {
    return existsSync(join(this.#place.folder, "HEAD"));
  }

  /** The commit that the branch is at now; undefined when the remote has no such branch. */
  fetch(): Promise<string | undefined> {
    const fetch = (): Promise<string | undefined> => this.#fetch();
    return this.#inFormatOfRemote(fetch, fetch);
  }

  async isAncestor(older: string, newer: string): Promise<boolean> {
    if (older === newer) return true;
    try {
      await this.#git(["merge-base", "--is-ancestor", older, newer]);
      return true;
    } catch (error) {
      if (error instanceof GitFailed && error.why === "failed") return false;
      throw error;
    }
  }

  /** The files of a commit below the prefix; at least the known ones. */
  async list(commit: string, known: readonly string[]): Promise<Tree> {
    const { prefix } = this.#place;
    const list = (...args: readonly string[]): Promise<Buffer> =>
      this.#git(["ls-tree", "-z", "-l", "--full-tree", ...args], { maxBytes: MAX_LISTED_BYTES });
    try {
      return parseTree(await list("-r", commit), prefix, true);
    } catch (error) {
      if (!(error instanceof GitFailed) || error.why !== "too much") throw error;
      const paths = known.slice(0, MAX_LISTED_PATHS).map((path) => prefix + path);
      return parseTree(await list(commit, "--", ...paths), prefix, false);
    }
  }

  /** Writes the content of a file to a descriptor. */
  async copy(id: string, outputFd: number): Promise<void> {
    await this.#git(["cat-file", "blob", id], { outputFd });
  }

  /** The content of a small file. */
  read(id: string, maxBytes: number): Promise<Buffer> {
    return this.#git(["cat-file", "blob", id], { maxBytes });
  }

  /** The id of a file with that content. */
  idOf({ bytes, pieces }: Omit<Change, "path">): string {
    const hash = createHash(this.#format).update(`blob ${bytes}\0`);
    for (const piece of pieces) hash.update(piece);
    return hash.digest("hex");
  }

  /** Makes a commit of these changes on top of another one, or the first one. */
  async commit(parent: string | undefined, changes: readonly Change[]): Promise<string> {
    const { handle } = this.#place;
    const input = Readable.from(this.#fastImport(parent, changes), { objectMode: false });
    const printed = await this.#git(["fast-import", "--quiet", "--force", "--done"], { input });
    const id = printed.toString().trim();
    if (!this.#signs) return id;
    const signed = await this.#git([
      ...["-c", `user.name=${handle}`, "-c", `user.email=${handle}@deaddrop.invalid`],
      ...["commit-tree", "-S", `${id}^{tree}`, "-m", `deaddrop: ${handle}`],
      ...(parent === undefined ? [] : ["-p", parent]),
    ]);
    return signed.toString().trim();
  }

  /** False when the remote has moved on, or only now told its format. */
  push(commit: string): Promise<boolean> {
    const { remote, branch } = this.#place;
    const push = async (): Promise<boolean> => {
      try {
        await this.#git(
          [
            ...["push", "--quiet", "--no-verify", "--no-recurse-submodules", "--"],
            ...[remote.url, `${commit}:refs/heads/${branch}`],
          ],
          { network: true },
        );
        return true;
      } catch (error) {
        if (isBehind(error)) return false;
        throw error;
      }
    };
    return this.#inFormatOfRemote(push, () => Promise.resolve(false));
  }

  /**
   * Packs it when it has many objects or packs: versions of a file differ by what was appended, and each would
   * take its whole size for good. Commits that nothing refers to were made for a push that came too late.
   */
  async tidy(): Promise<void> {
    const printed = (await this.#git(["count-objects", "-v"])).toString();
    const count = (name: string): number =>
      Number(new RegExp(`^${name}: (\\d+)$`, "mu").exec(printed)?.[1] ?? 0);
    if (count("count") <= MAX_LOOSE_OBJECTS && count("packs") <= MAX_PACKS) return;
    await this.#git(["repack", "-a", "-d", "--quiet", "--window=3", "--depth=500", "--threads=1"]);
    await this.#git(["prune", "--expire=1.day.ago"]);
  }

  /** All that a repository is made of, but not what else is in the folder. */
  discard(): void {
    for (const name of ["HEAD", "config", "packed-refs", "refs", "objects", "info", "logs"])
      rmSync(join(this.#place.folder, name), { recursive: true, force: true });
  }

  async #ensure(): Promise<void> {
    this.#removeLocks();
    if (this.exists()) {
      try {
        const format = await this.#git(["rev-parse", "--show-object-format"]);
        this.#format = format.toString().trim() === "sha256" ? "sha256" : "sha1";
        return;
      } catch (error) {
        if (!(error instanceof GitFailed)) throw error;
      }
    }
    await this.#make("sha1");
  }

  async #make(format: "sha1" | "sha256"): Promise<void> {
    this.discard();
    this.#format = format;
    const { folder } = this.#place;
    await this.#git([
      "init",
      "--quiet",
      "--bare",
      "--template=",
      `--object-format=${format}`,
      folder,
    ]);
  }

  /** The remote decides with which hash ids are made; an empty one only tells when something is pushed. */
  async #inFormatOfRemote<T>(work: () => Promise<T>, again: () => Promise<T>): Promise<T> {
    try {
      try {
        return await work();
      } catch (error) {
        if (!isOtherFormat(error)) throw error;
        await this.#make(this.#format === "sha1" ? "sha256" : "sha1");
        return await again();
      }
    } catch (error) {
      throw remoteTrouble(error, this.#place.remote.url);
    }
  }

  async #fetch(): Promise<string | undefined> {
    const { remote, branch, folder } = this.#place;
    try {
      await this.#git(
        [
          ...["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"],
          ...["--no-auto-maintenance", "--no-show-forced-updates", "--", remote.url],
          `+refs/heads/${branch}:${FETCHED}`,
        ],
        { network: true },
      );
    } catch (error) {
      if (isMissingBranch(error)) return undefined;
      throw error;
    }
    // Saves a process, unless git keeps its references elsewhere.
    const file = join(folder, FETCHED);
    const text = existsSync(file) ? readFileSync(file, "latin1") : "";
    if (/^[0-9a-f]{40}(?:[0-9a-f]{24})?\n$/.test(text)) return text.trim();
    return (await this.#git(["rev-parse", "--verify", FETCHED])).toString().trim();
  }

  /** The input of `git fast-import`: it reads no more of the parent's tree than what it changes. */
  *#fastImport(parent: string | undefined, changes: readonly Change[]): Generator<Uint8Array> {
    const { handle, prefix, wallMs } = this.#place;
    const person = `${handle} <${handle}@deaddrop.invalid> ${Math.floor(wallMs() / 1_000)} +0000`;
    const message = `deaddrop: ${handle}`;
    const from = parent === undefined ? [] : [`from ${parent}`];
    const head = [
      ...["feature done", `reset ${OURS}`, ...from, "", `commit ${OURS}`, "mark :1"],
      ...[`author ${person}`, `committer ${person}`, `data ${message.length}`, message, ...from],
    ];
    yield Buffer.from(`${head.join("\n")}\n`);
    for (const { path, bytes, pieces } of changes) {
      yield Buffer.from(`M 100644 inline ${prefix}${path}\ndata ${bytes}\n`);
      yield* pieces;
      yield Buffer.from("\n");
    }
    yield Buffer.from("get-mark :1\ndone\n");
  }

  /** What a killed process has left. */
  #removeLocks(): void {
    const { folder } = this.#place;
    const refs = join(folder, "refs", "deaddrop");
    for (const at of [folder, refs]) {
      const names = existsSync(at) ? readdirSync(at) : [];
      for (const name of names.filter((each) => each.endsWith(".lock"))) rmSync(join(at, name));
    }
  }
}

const ODD: Readonly<Record<string, string>> = {
  "100755": "a program (it may be executed)",
  "120000": "a symbolic link",
  "160000": "a submodule",
};

/** The output of `git ls-tree -z -l`. */
function parseTree(printed: Buffer, prefix: string, isWhole: boolean): Tree {
  const files: TreeFile[] = [];
  const odd = new Map<string, string>();
  for (const row of printed.toString("utf8").split("\0")) {
    const [, mode = "", id = "", size = "", fullPath = ""] =
      /^(\d+) \w+ ([0-9a-f]+) +(\d+|-|BAD)\t([^]*)$/.exec(row) ?? [];
    if (fullPath === "" || !fullPath.startsWith(prefix)) continue;
    const path = fullPath.slice(prefix.length);
    const isPlain = mode === "100644" || mode === "100664";
    if (isPlain && size !== "BAD") files.push({ path, id, bytes: Number(size) });
    else if (mode !== "040000") odd.set(path, ODD[mode] ?? "no plain file");
  }
  return { files, odd, isWhole };
}
