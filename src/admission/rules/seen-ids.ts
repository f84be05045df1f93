import { IdTable, wordsOf, type IdEntry } from "./id-table.ts";

/** In the place of a tag: the line is known by its id alone, and any bytes of it are a duplicate. */
export const UNKNOWN_BYTES = 0;
/** Of one log: an honest one has a run for each of its gaps. What belongs to no run stays in memory. */
const MAX_RUNS = 64;

/** A line, as far as this file looks at it. The id is over all that the line says, its `seq` too. */
interface ShownLine {
  readonly id: string;
  readonly seq?: number | undefined;
}

/** Lines with places in the chain that follow each other, at rows that follow each other. */
export interface ShownRun {
  readonly first: number;
  readonly count: number;
}

/** Rows on a disk, so that a long log costs no memory: what a log has shown, one line a row. */
export interface ShownRows {
  /** Another one whenever row 0 is written again; "" while there is none. */
  readonly mark: string;
  /** Throws when it cannot be read, or is not what was written. */
  at(row: number): Omit<IdEntry, "seq">;
  /** Puts these behind the first `kept`, in the place of whatever was there, and syncs them. */
  write(kept: number, rows: readonly IdEntry[]): void;
}

/** What is saved of the ids of a log: with its rows it is all of them. Plain JSON. */
export interface SavedIds {
  readonly runs: readonly ShownRun[];
  readonly mark: string;
  /** Base64 of what is in memory. */
  readonly lately: string;
}

/**
 * The ids that a log has shown, and a tag of the line that showed each: enough to tell a
 * byte-identical duplicate from the same content in other bytes. Spec 2.4 (replay).
 *
 * What came lately is in memory. `settle` moves lines to rows outside it, where they are found by the
 * place in the chain that they state: two lines that state different places have different ids.
 */
export class SeenIds {
  #lately: IdTable;
  #runs: readonly ShownRun[];
  #rows: ShownRows | undefined;

  /** @param salt 32 random bits, drawn where files are read */
  constructor(salt: number) {
    this.#lately = new IdTable(salt);
    this.#runs = [];
  }

  /** See `IdTable`. It is not saved: a restored set may have another. */
  get salt(): number {
    return this.#lately.salt;
  }

  /** Also those that are not in memory. */
  get size(): number {
    return this.#settled + this.#lately.size;
  }

  /** What of it is in memory. */
  get lately(): number {
    return this.#lately.size;
  }

  has(line: ShownLine): boolean {
    return this.tagOf(line) !== undefined;
  }

  /** The tag of the line that first showed this id, or `undefined`. */
  tagOf({ id, seq = 0 }: ShownLine): number | undefined {
    const words = wordsOf(id);
    let row = 0;
    for (const { first, count } of this.#runs) {
      if (first <= seq && seq < first + count) {
        const shown = this.#rows?.at(row + seq - first);
        if (shown?.words.every((word, at) => word === words[at]) === true) return shown.tag;
      }
      row += count;
    }
    return this.#lately.tagOf(words);
  }

  /** Remembers a line. One that is known keeps its first tag. `tag` is an unsigned 32-bit number. */
  add({ id, seq = 0 }: ShownLine, tag: number): void {
    this.#lately.add({ words: wordsOf(id), tag, seq });
  }

  /** Moves what states a place out of memory. `fresh` is where the rows of this log begin. */
  settle(fresh: ShownRows): void {
    const runs = this.#runs.map((run) => ({ ...run }));
    const moved: IdEntry[] = [];
    const rest = new IdTable(this.#lately.salt);
    for (const entry of this.#lately.entries()) {
      if (goesOn(runs, entry.seq)) moved.push(entry);
      else rest.add(entry);
    }
    if (moved.length === 0) return;
    const rows = this.#runs.length === 0 ? fresh : (this.#rows ?? fresh);
    rows.write(this.#settled, moved);
    this.#rows = rows;
    this.#runs = runs;
    this.#lately = rest;
  }

  /** Takes all of it back into memory, where an id is found without its place. */
  unsettle(): void {
    if (this.#runs.length === 0) return;
    const all = new IdTable(this.#lately.salt);
    let row = 0;
    for (const { first, count } of this.#runs) {
      for (let seq = first; seq < first + count; seq += 1, row += 1) {
        if (this.#rows !== undefined) all.add({ ...this.#rows.at(row), seq });
      }
    }
    for (const entry of this.#lately.entries()) all.add(entry);
    this.#lately = all;
    this.#runs = [];
  }

  /** What is saved of it; `lately` is left out where `pieces` are written apart. */
  save(): SavedIds {
    return { ...this.saveApart(), lately: this.#lately.serialise() };
  }

  saveApart(): SavedIds {
    return { runs: this.#runs, mark: this.#rows?.mark ?? "", lately: "" };
  }

  /** What is in memory as base64, piece by piece: it may be many megabytes. */
  pieces(): Generator<string> {
    return this.#lately.pieces();
  }

  /**
   * From what `save` gave, or `undefined` when that is damaged.
   *
   * @param rows those with the saved mark; undefined where none were written
   */
  static restore({ runs, lately }: SavedIds, salt: number, rows?: ShownRows): SeenIds | undefined {
    const table = IdTable.restore(lately, salt);
    if (table === undefined || (runs.length > 0 && rows === undefined)) return undefined;
    const seen = new SeenIds(salt);
    seen.#lately = table;
    seen.#runs = runs;
    seen.#rows = rows;
    return seen;
  }

  get #settled(): number {
    return this.#runs.reduce((sum, { count }) => sum + count, 0);
  }
}

/** Whether a line is moved behind the others: its place follows theirs, or begins another run. */
function goesOn(runs: { first: number; count: number }[], seq: number): boolean {
  if (seq === 0) return false;
  const last = runs.at(-1);
  if (last !== undefined && seq === last.first + last.count) {
    last.count += 1;
    return true;
  }
  if (runs.length >= MAX_RUNS) return false;
  runs.push({ first: seq, count: 1 });
  return true;
}
