/** What is kept of the note on one line. */
export interface LineNote {
  /** When the line was received, ms. */
  readonly at: number;
  /** Bytes of the line without its newline. */
  readonly length: number;
  /** 52 bits of the id, as a number holds them; 0 of a line that proved nothing. */
  readonly tag: number;
}

const FIRST_LINES = 256;
const GROWTH = 1.25;
/** A line further behind the others than this is no next line: a damaged journal names it. */
const MAX_SKIPPED_LINES = 65_536;

/**
 * Notes by line, in columns outside the heap of V8: of a million lines they take 20 MiB, and the garbage
 * collector neither looks at them nor lets the heap grow for them.
 */
export class NoteColumns {
  /** NaN: there is no note. */
  #at = new Float64Array(0);
  #length = new Uint32Array(0);
  #tag = new Float64Array(0);
  /** Of lines that do not follow the others. */
  readonly #far = new Map<number, LineNote>();

  at(line: number): LineNote | undefined {
    const at = this.#at[line];
    if (at === undefined || Number.isNaN(at)) return this.#far.get(line);
    return { at, length: this.#length[line] ?? 0, tag: this.#tag[line] ?? 0 };
  }

  set(line: number, note: LineNote): void {
    if (line >= this.#at.length + MAX_SKIPPED_LINES) {
      this.#far.set(line, note);
      return;
    }
    if (line >= this.#at.length) this.#growTo(line + 1);
    this.#at[line] = note.at;
    this.#length[line] = note.length;
    this.#tag[line] = note.tag;
  }

  /** No time is later than this. */
  lower(to: number): void {
    for (const [line, at] of this.#at.entries()) if (at > to) this.#at[line] = to;
    for (const [line, note] of this.#far)
      if (note.at > to) this.#far.set(line, { ...note, at: to });
  }

  #growTo(lines: number): void {
    const size = Math.max(FIRST_LINES, lines, Math.ceil(this.#at.length * GROWTH));
    const at = new Float64Array(size).fill(Number.NaN);
    at.set(this.#at);
    const length = new Uint32Array(size);
    length.set(this.#length);
    const tag = new Float64Array(size);
    tag.set(this.#tag);
    [this.#at, this.#length, this.#tag] = [at, length, tag];
  }
}
