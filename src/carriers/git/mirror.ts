import { closeSync, fsyncSync, openSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  lookOf,
  readWhole,
  StorageError,
  temporaryPrefix,
  type Disk,
} from "../../storage/disk/disk.ts";
import { calling } from "../../storage/disk/errno.ts";
import { PRIVATE_FILE, PRIVATE_FOLDER } from "../../storage/disk/file-modes.ts";
import { chunksOf } from "../../storage/disk/line-splitter.ts";
import { TransportError } from "../carrier.ts";
import type { Change, Repository } from "./repository.ts";

/** A file that was taken: the id of its content, and how the mirror's file looked then. */
interface Taken {
  readonly id: string;
  readonly look: string;
}

const MAX_STATE_BYTES = 64 * 1_048_576;

/**
 * The files of the repository as plain files in a private folder, for the daemons of one machine. They are read
 * like those of the wire's folder, and ours are appended to; what was not pushed is dropped and appended again.
 * It may be deleted at any time. Only the holder of its lock changes it.
 */
export class Mirror {
  readonly folder: string;
  /** The last commit that was seen, and when the last fetch began that ended well (wall ms). */
  head: string | undefined;
  fetchedMs: number | undefined;
  /** A commit that was seen and is not in the remote's history; until the operator accepts that. */
  lost: string | undefined;
  files = new Map<string, Taken>();
  /** What the content of each document was when folder and repository had the same. */
  agreed = new Map<string, string>();
  readonly #disk: Disk;
  readonly #state: string;
  readonly #remote: string;
  #text = "";
  #look = "";

  constructor(disk: Disk, folder: string, remote: string) {
    this.folder = join(folder, "mirror");
    this.#disk = disk;
    this.#state = join(folder, "mirror.json");
    this.#remote = remote;
  }

  at(path: string): string {
    return join(this.folder, path);
  }

  /** Whether another process has changed it since it was loaded or saved. */
  isStale(): boolean {
    return lookOf(this.#disk, this.#state) !== this.#look;
  }

  /**
   * Reads what other daemons may have changed. @throws StorageError @throws TransportError (`stopped`) when it is
   * that of another remote: the operator says that the wire has moved, which deletes it.
   */
  load(): void {
    if (!this.isStale()) return;
    const look = lookOf(this.#disk, this.#state);
    const bytes = readWhole(this.#disk, this.#state, MAX_STATE_BYTES);
    const text = bytes === undefined ? "" : Buffer.from(bytes).toString("utf8");
    const state = text === "" ? { remote: this.#remote } : parseState(this.#state, text);
    if (state.remote !== this.#remote) throw otherRemote(this.#remote, state.remote);
    this.head = state.head;
    this.lost = state.lost;
    this.fetchedMs = state.fetchedMs;
    this.files = new Map(Object.entries(state.files ?? {}));
    this.agreed = new Map(Object.entries(state.agreed ?? {}));
    this.#text = text;
    this.#look = look;
  }

  /** @throws StorageError */
  save(): void {
    const [files, agreed] = [Object.fromEntries(this.files), Object.fromEntries(this.agreed)];
    const { head, lost, fetchedMs } = this;
    const state: State = { remote: this.#remote, head, lost, fetchedMs, files, agreed };
    const text = `${JSON.stringify(state)}\n`;
    if (text === this.#text) return;
    this.#disk.replace(this.#state, Buffer.from(text), PRIVATE_FILE);
    this.#text = text;
    this.#look = lookOf(this.#disk, this.#state);
  }

  /** Paths of the files that exist. @throws StorageError */
  list(): string[] {
    const years = this.#disk.list(this.at("archive")).map((year) => `archive/${year}/`);
    return ["", "outbox/", "trust/", ...years].flatMap((folder) =>
      this.#disk.list(this.at(folder)).map((name) => folder + name),
    );
  }

  /**
   * Makes it hold these files, whatever it holds; those that `isKnown` refuses are left to other daemons.
   *
   * @throws StorageError
   */
  async reset(
    repository: Repository,
    files: ReadonlyMap<string, string>,
    isKnown: (path: string) => boolean,
  ): Promise<void> {
    this.#disk.makeFolder(this.folder, PRIVATE_FOLDER);
    for (const path of this.files.keys())
      if (!files.has(path) && isKnown(path)) this.files.delete(path);
    for (const path of this.list())
      if (!this.files.has(path) && !files.has(path) && !FOLDERS.has(path))
        this.#disk.remove(this.at(path));
    for (const [path, id] of files) {
      const taken = this.files.get(path);
      if (taken?.id === id && taken.look === lookOf(this.#disk, this.at(path))) continue;
      this.#disk.makeFolder(dirname(this.at(path)), PRIVATE_FOLDER);
      await copyFile(this.#disk, repository, id, { at: this.at(path), mode: PRIVATE_FILE });
      this.note(path, id);
    }
  }

  /** The file has that content now. */
  note(path: string, id: string): void {
    this.files.set(path, { id, look: lookOf(this.#disk, this.at(path)) });
  }

  /**
   * What differs from what was taken, of the files that `isOurs` names; those that were refused are put back.
   *
   * @throws StorageError
   */
  *changes(
    repository: Repository,
    isOurs: (path: string) => boolean,
    refused: ReadonlySet<string>,
  ): Generator<Change & { id: string }> {
    for (const path of this.list()) {
      const taken = this.files.get(path);
      const isSame = lookOf(this.#disk, this.at(path)) === taken?.look && !refused.has(path);
      if (isSame || !isOurs(path)) continue;
      const file = this.#disk.open(this.at(path), "read");
      const bytes = file.stat().size;
      file.close();
      const id = repository.idOf({ bytes, pieces: this.#pieces(path, bytes) });
      if (id === taken?.id && !refused.has(path)) this.note(path, id);
      else yield { path, bytes, id, pieces: this.#pieces(path, bytes) };
    }
  }

  *#pieces(path: string, bytes: number): Generator<Uint8Array> {
    const file = this.#disk.open(this.at(path), "read");
    try {
      yield* chunksOf(file, 0, bytes);
    } finally {
      file.close();
    }
  }
}

/** Makes a file what the repository has under that id, whatever it was. Its folder exists. @throws StorageError */
export async function copyFile(
  disk: Disk,
  repository: Repository,
  id: string,
  { at, mode }: { readonly at: string; readonly mode: number },
): Promise<void> {
  const temporary = join(dirname(at), `${temporaryPrefix(at)}new`);
  disk.remove(temporary);
  const fd = calling(temporary, "creating", () => openSync(temporary, "wx", mode));
  try {
    await repository.copy(id, fd);
    calling(temporary, "syncing", () => fsyncSync(fd));
  } finally {
    closeSync(fd);
  }
  calling(at, "replacing", () => renameSync(temporary, at));
  disk.syncFolder(dirname(at));
}

const FOLDERS: ReadonlySet<string> = new Set(["outbox", "trust", "archive"]);

interface State {
  readonly remote: string;
  readonly head?: string | undefined;
  readonly lost?: string | undefined;
  readonly fetchedMs?: number | undefined;
  readonly files?: Readonly<Record<string, Taken>>;
  readonly agreed?: Readonly<Record<string, string>>;
}

/** Damage must not make us forget in silence which remote was pinned. */
function parseState(path: string, text: string): State {
  try {
    const state = JSON.parse(text) as Partial<State> | null;
    if (typeof state?.remote === "string") return { ...state, remote: state.remote };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new StorageError("corrupt", path, "it is damaged: it says which remote was pinned", {
    hint: "look at the remote, then pin it again: deaddrop transport switch git --remote URL",
  });
}

function otherRemote(now: string, pinned: string): TransportError {
  return new TransportError("stopped", `the remote is ${now} now, and ${pinned} was pinned here`, {
    hint: "if the wire has moved, say so: deaddrop transport switch git --remote URL",
  });
}
