import { PassThrough } from "node:stream";
import { NEWLINE } from "../../storage/disk/line-splitter.ts";
import type { Git } from "./run-git.ts";

/** An object of a repository. */
export interface GitObject {
  readonly type: string;
  readonly size: number;
  /** Undefined: it is too large to be kept. */
  readonly bytes: Buffer | undefined;
}

/** What is larger is passed over: only its size is known then. */
const MAX_KEPT_BYTES = 512 * 1_024;
/** Of all that is asked for; with more of it the reader ends. */
const MAX_ANSWERED_BYTES = 4 * 1_048_576;

/**
 * One process of git that reads one object after the other; it finds those too that come after it was
 * begun. It may end by itself: too much was asked for, or something is wrong with the repository. What
 * it has not read then has to be looked at in another way, which says what is wrong.
 */
export class ObjectReader {
  readonly #asked = new PassThrough();
  readonly #waiting: ((object: GitObject | undefined) => void)[] = [];
  #hasEnded = false;
  #total = 0;
  /** The beginning of a row. */
  #row = Buffer.alloc(0);
  /** The object whose bytes come, and how many of them, with the newline behind, are still to come. */
  #coming:
    { readonly type: string; readonly size: number; kept: Buffer[]; left: number } | undefined;

  constructor(git: Git) {
    const end = (): void => this.#end();
    git(["cat-file", "--batch"], {
      input: this.#asked,
      into: (chunk) => this.#take(chunk),
    }).then(end, end);
  }

  /** Undefined: it is not there, or the reader has ended. `id`: hexadecimal, whole. */
  read(id: string): Promise<GitObject | undefined> {
    if (this.#hasEnded) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#asked.write(`${id}\n`);
    });
  }

  close(): void {
    this.#asked.end();
  }

  #end(): void {
    this.#hasEnded = true;
    for (const answer of this.#waiting.splice(0)) answer(undefined);
  }

  #take(chunk: Buffer): void {
    for (let rest = chunk; rest.length > 0;) {
      rest = this.#coming === undefined ? this.#takeRow(rest) : this.#takeBytes(rest);
    }
  }

  /** git answers `<id> <type> <size>`, the bytes and a newline; or `<id> missing`. */
  #takeRow(chunk: Buffer): Buffer {
    const end = chunk.indexOf(NEWLINE);
    this.#row = Buffer.concat([this.#row, end < 0 ? chunk : chunk.subarray(0, end)]);
    if (end < 0) return chunk.subarray(chunk.length);
    const row = this.#row.toString("latin1");
    this.#row = Buffer.alloc(0);
    const [, type, digits] = /^[0-9a-f]+ (\w+) (\d+)$/.exec(row) ?? [];
    if (type === undefined) {
      this.#answer(undefined);
    } else {
      const size = Number(digits);
      this.#total += row.length + size;
      if (this.#total > MAX_ANSWERED_BYTES)
        throw new Error("more is asked for than may be read at once");
      this.#coming = { type, size, kept: [], left: size + 1 };
    }
    return chunk.subarray(end + 1);
  }

  #takeBytes(chunk: Buffer): Buffer {
    const coming = this.#coming;
    if (coming === undefined) return chunk;
    const taken = chunk.subarray(0, coming.left);
    coming.left -= taken.length;
    const isKept = coming.size <= MAX_KEPT_BYTES;
    if (isKept) coming.kept.push(taken);
    if (coming.left === 0) {
      const { type, size, kept } = coming;
      this.#coming = undefined;
      this.#answer({
        type,
        size,
        bytes: isKept ? Buffer.concat(kept).subarray(0, size) : undefined,
      });
    }
    return chunk.subarray(taken.length);
  }

  #answer(object: GitObject | undefined): void {
    this.#waiting.shift()?.(object);
  }
}
