import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Change } from "../copies/changes.ts";
import { commitInput, messageOf } from "./commit-input.ts";
import { isBehind, isMissingBranch, isOtherFormat, remoteTrouble } from "./git-trouble.ts";
import { ObjectReader } from "./object-reader.ts";
import type { RemoteUrl } from "../../carriers/git/remote-url.ts";
import { GitFailed, type Git } from "./run-git.ts";
import { readTree, type Tree } from "./tree.ts";

/** The private bare repository in which fetched commits and our own are. It may be deleted. Spec 5.2. */
export interface Repository {
  /** The remote's present commit; undefined when it has no such branch. Throws TransportError. */
  fetch(): Promise<string | undefined>;
  isAncestor(older: string, newer: string): Promise<boolean>;
  /** Every file of a commit, or at least those `known`. */
  tree(commit: string, known: readonly string[]): Promise<Tree>;
  /** The bytes of a blob, as they come. */
  blob(id: string, into: (chunk: Buffer) => void): Promise<void>;
  /** Begins to read objects; what is fetched after it is found as well. The caller closes it. */
  reader(): ObjectReader;
  /** A commit of these changes on top of `parent`. */
  commit(parent: string | undefined, changes: readonly Change[]): Promise<string>;
  /** False when the remote has moved on. Throws TransportError. */
  push(commit: string): Promise<boolean>;
  /** Packs it again when it has many objects or packs: each would hold a whole version of a log for good. */
  tidy(): Promise<void>;
  /** The name of the hash that ids are made with. */
  readonly format: "sha1" | "sha256";
  /** Removes all of it: something in it is damaged. */
  discard(): void;
}

export interface RepositoryPlace {
  readonly folder: string;
  readonly remote: RemoteUrl;
  readonly branch: string;
  readonly handle: string;
  readonly signs: boolean;
  wallMs(): number;
}

const FETCHED = "refs/deaddrop/fetched";

/** Opens the repository in that folder, or makes it. */
export async function openRepository(git: Git, place: RepositoryPlace): Promise<Repository> {
  let format = await ensure(git, place);
  const { url } = place.remote;

  /** The remote decides which ids are used; of an empty one only a push tells. */
  async function inItsFormat<T>(work: () => Promise<T>, again: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!isOtherFormat(error)) throw remoteTrouble(error, url);
      format = format === "sha1" ? "sha256" : "sha1";
      clear(place);
      await make(git, place, format);
    }
    return again().catch((error: unknown) => {
      throw remoteTrouble(error, url);
    });
  }

  return {
    get format() {
      return format;
    },
    fetch: () =>
      inItsFormat(
        () => fetchHead(git, place),
        () => fetchHead(git, place),
      ),
    isAncestor: (older, newer) => isAncestor(git, older, newer),
    tree: (commit, known) => readTree(git, commit, known),
    async blob(id, into) {
      await git(["cat-file", "blob", id], { into });
    },
    reader: () => new ObjectReader(git),
    commit: (parent, changes) => commit(git, place, parent, changes),
    // The commit has gone with its ids: it is made again.
    push: (id) =>
      inItsFormat(
        () => push(git, place, id),
        () => Promise.resolve(false),
      ),
    tidy: () => tidy(git),
    discard: () => clear(place),
  };
}

async function ensure(git: Git, place: RepositoryPlace): Promise<"sha1" | "sha256"> {
  const { folder } = place;
  removeLocks(folder);
  if (existsSync(join(folder, "HEAD"))) {
    try {
      const said = await git(["rev-parse", "--show-object-format"]);
      return said.toString("utf8").trim() === "sha256" ? "sha256" : "sha1";
    } catch (error) {
      if (!(error instanceof GitFailed)) throw error;
      clear(place);
    }
  }
  await make(git, place, "sha1");
  return "sha1";
}

async function make(git: Git, { folder }: RepositoryPlace, format: string): Promise<void> {
  await git(["init", "--quiet", "--bare", "--template=", `--object-format=${format}`, folder]);
}

/** What a killed process has left: this repository is used by this process alone. */
function removeLocks(folder: string): void {
  const refs = join(folder, "refs", "deaddrop");
  for (const [at, names] of [
    [folder, ["HEAD.lock", "config.lock", "packed-refs.lock", "shallow.lock"]],
    [refs, existsSync(refs) ? readdirSync(refs).filter((name) => name.endsWith(".lock")) : []],
  ] as const) {
    for (const name of names) rmSync(join(at, name), { force: true });
  }
}

/** All that a repository is made of, but not what is beside it in the folder. */
function clear({ folder }: RepositoryPlace): void {
  for (const name of ["HEAD", "config", "packed-refs", "refs", "objects", "info", "logs"]) {
    rmSync(join(folder, name), { recursive: true, force: true });
  }
}

async function fetchHead(
  git: Git,
  { folder, remote, branch }: RepositoryPlace,
): Promise<string | undefined> {
  try {
    await git(
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
  const head =
    fetchedHead(folder) ?? (await git(["rev-parse", "--verify", FETCHED])).toString("utf8");
  return head.trim();
}

/** Without a call of git: what it has just written is a file, unless it keeps its references elsewhere. */
function fetchedHead(folder: string): string | undefined {
  const at = join(folder, FETCHED);
  const text = existsSync(at) ? readFileSync(at, "utf8") : "";
  return /^[0-9a-f]{40}(?:[0-9a-f]{24})?\n$/.test(text) ? text : undefined;
}

async function isAncestor(git: Git, older: string, newer: string): Promise<boolean> {
  if (older === newer) return true;
  try {
    await git(["merge-base", "--is-ancestor", older, newer]);
    return true;
  } catch (error) {
    if (error instanceof GitFailed && error.why === "failed") return false;
    throw error;
  }
}

async function commit(
  git: Git,
  place: RepositoryPlace,
  parent: string | undefined,
  changes: readonly Change[],
): Promise<string> {
  const input = commitInput({ parent, changes, author: place.handle, atMs: place.wallMs() });
  const said = await git(["fast-import", "--quiet", "--force", "--done"], { input });
  const id = said.toString("utf8").trim();
  if (!place.signs) return id;
  const signed = await git([
    ...["-c", `user.name=${place.handle}`, "-c", `user.email=${place.handle}@deaddrop.invalid`],
    ...["commit-tree", "-S", `${id}^{tree}`, "-m", messageOf(place.handle)],
    ...(parent === undefined ? [] : ["-p", parent]),
  ]);
  return signed.toString("utf8").trim();
}

/** Single objects, and packs with one commit of ours each, before all are one pack. */
const MAX_LOOSE_OBJECTS = 400;
const MAX_PACKS = 32;

/**
 * Versions of a log differ by what was appended, so each is kept as its difference from the next one,
 * and the newest one whole. What no reference leads to was made for a push that came late; a signed commit has
 * none until the next fetch.
 */
async function tidy(git: Git): Promise<void> {
  const said = (await git(["count-objects", "-v"])).toString("utf8");
  const count = (name: string): number =>
    Number(new RegExp(`^${name}: (\\d+)$`, "mu").exec(said)?.[1] ?? 0);
  if (count("count") <= MAX_LOOSE_OBJECTS && count("packs") <= MAX_PACKS) return;
  await git(["repack", "-a", "-d", "--quiet", "--window=3", "--depth=500", "--threads=1"]);
  await git(["prune", "--expire=1.day.ago"]);
}

async function push(git: Git, { remote, branch }: RepositoryPlace, id: string): Promise<boolean> {
  try {
    await git(
      [
        ...["-c", "advice.pushUpdateRejected=false", "push", "--quiet", "--no-verify"],
        ...["--no-recurse-submodules", "--", remote.url, `${id}:refs/heads/${branch}`],
      ],
      { network: true },
    );
    return true;
  } catch (error) {
    if (isBehind(error)) return false;
    throw error;
  }
}
