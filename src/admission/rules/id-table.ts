/** 128 bits of the id, a 32-bit tag of the bytes that carried it, its place in the chain (53 bits). */
const WORDS_PER_ENTRY = 7;
const BYTES_PER_ENTRY = WORDS_PER_ENTRY * 4;
const FIRST_CAPACITY = 16;
/** Of one piece of text: a multiple of three, so that pieces of base64 can be put together. */
const ENTRIES_PER_PIECE = 2_304;
const TWO_TO_32 = 2 ** 32;

/** One id, as it is kept. */
export interface IdEntry {
  readonly words: Words;
  readonly tag: number;
  /** The place in the chain that its line states; 0 for none. */
  readonly seq: number;
}

/** The first 128 bits of an id: to make two ids collide in them takes 2^64 hashes. */
export type Words = readonly [number, number, number, number];

/**
 * A set of ids, and for each a tag and the place that its line states, in order of arrival.
 *
 * Kept in two typed arrays (the entries, and an open-addressing index over them): 36 to 72 bytes an
 * id. Their author can search for ids that share some bits, so where an id belongs in the index depends
 * on a salt that the author does not know.
 */
export class IdTable {
  readonly #salt: number;
  #entries = new Uint32Array(FIRST_CAPACITY * WORDS_PER_ENTRY);
  /** Entry number + 1 for each slot, 0 for none. Always twice as many slots as entries. */
  #slots = new Uint32Array(FIRST_CAPACITY * 2);
  #size = 0;
  #probes = 0;

  /** @param salt 32 random bits, drawn where files are read */
  constructor(salt: number) {
    this.#salt = salt >>> 0;
  }

  /** It changes no answer and is not saved: a restored set may have another. */
  get salt(): number {
    return this.#salt;
  }

  /** How many slots have been looked at so far: the cost of all questions. */
  get probes(): number {
    return this.#probes;
  }

  get size(): number {
    return this.#size;
  }

  /** The tag that an id was added with, or `undefined`. */
  tagOf(words: Words): number | undefined {
    const entry = this.#slots[this.#slotFor(words)] ?? 0;
    return entry === 0 ? undefined : this.#word(entry - 1, 4);
  }

  /** An id that is known keeps its first tag. `tag` is an unsigned 32-bit number. */
  add({ words, tag, seq }: IdEntry): void {
    let slot = this.#slotFor(words);
    if (this.#slots[slot] !== 0) return;
    if ((this.#size + 1) * WORDS_PER_ENTRY > this.#entries.length) {
      this.#grow();
      slot = this.#slotFor(words);
    }
    const at = this.#size * WORDS_PER_ENTRY;
    this.#entries[at] = words[0];
    this.#entries[at + 1] = words[1];
    this.#entries[at + 2] = words[2];
    this.#entries[at + 3] = words[3];
    this.#entries[at + 4] = tag;
    this.#entries[at + 5] = Math.floor(seq / TWO_TO_32);
    this.#entries[at + 6] = seq % TWO_TO_32;
    this.#size += 1;
    this.#slots[slot] = this.#size;
  }

  /** In order of arrival. */
  *entries(): Generator<IdEntry> {
    for (let entry = 0; entry < this.#size; entry += 1) {
      const word = (of: number): number => this.#word(entry, of);
      yield {
        words: [word(0), word(1), word(2), word(3)],
        tag: word(4),
        seq: word(5) * TWO_TO_32 + word(6),
      };
    }
  }

  /** As base64, for the checkpoint; in this machine's byte order, which it never leaves. */
  serialise(): string {
    return [...this.pieces()].join("");
  }

  /** The same piece by piece, since of a long log it is many megabytes. */
  *pieces(): Generator<string> {
    for (let from = 0; from < this.#size; from += ENTRIES_PER_PIECE) {
      const count = Math.min(ENTRIES_PER_PIECE, this.#size - from);
      const bytes = Buffer.from(
        this.#entries.buffer,
        from * BYTES_PER_ENTRY,
        count * BYTES_PER_ENTRY,
      );
      yield bytes.toString("base64");
    }
  }

  /** What `serialise` gave, or `undefined` when the text is no such thing. */
  static restore(text: string, salt: number): IdTable | undefined {
    const bytes = Buffer.from(text, "base64");
    if (bytes.length % BYTES_PER_ENTRY !== 0 || bytes.toString("base64") !== text) return undefined;
    const table = new IdTable(salt);
    table.#size = bytes.length / BYTES_PER_ENTRY;
    let capacity = FIRST_CAPACITY;
    while (capacity < table.#size) capacity *= 2;
    table.#entries = new Uint32Array(capacity * WORDS_PER_ENTRY);
    new Uint8Array(table.#entries.buffer).set(bytes);
    table.#index(capacity * 2);
    return table;
  }

  /** The slot with the entry of these words, or the free one where they belong. */
  #slotFor(words: Words): number {
    const mask = this.#slots.length - 1;
    let slot = mixed(this.#salt, ...words) & mask;
    for (;;) {
      this.#probes += 1;
      const entry = this.#slots[slot] ?? 0;
      if (entry === 0 || this.#holds(entry - 1, words)) return slot;
      slot = (slot + 1) & mask;
    }
  }

  #word(entry: number, of: number): number {
    return this.#entries[entry * WORDS_PER_ENTRY + of] ?? 0;
  }

  #holds(entry: number, words: Words): boolean {
    const at = entry * WORDS_PER_ENTRY;
    return (
      this.#entries[at] === words[0] &&
      this.#entries[at + 1] === words[1] &&
      this.#entries[at + 2] === words[2] &&
      this.#entries[at + 3] === words[3]
    );
  }

  /** The slot, before the mask, of the entry whose words begin there. */
  #home(at: number): number {
    const word = (of: number): number => this.#entries[at + of] ?? 0;
    return mixed(this.#salt, word(0), word(1), word(2), word(3));
  }

  #grow(): void {
    const larger = new Uint32Array(this.#entries.length * 2);
    larger.set(this.#entries);
    this.#entries = larger;
    this.#index(this.#slots.length * 2);
  }

  #index(slots: number): void {
    this.#slots = new Uint32Array(slots);
    const mask = slots - 1;
    for (let entry = 0; entry < this.#size; entry += 1) {
      const at = entry * WORDS_PER_ENTRY;
      let slot = this.#home(at) & mask;
      this.#probes += 1;
      while (this.#slots[slot] !== 0) {
        this.#probes += 1;
        slot = (slot + 1) & mask;
      }
      this.#slots[slot] = entry + 1;
    }
  }
}

/**
 * All bits of an id and the salt in one number: a peer that chooses some of the bits cannot choose
 * the number.
 */
function mixed(salt: number, a: number, b: number, c: number, d: number): number {
  const mix = stirred(stirred(stirred(stirred(salt, a), b), c), d);
  return (mix ^ (mix >>> 16)) >>> 0;
}

function stirred(mix: number, word: number): number {
  const product = Math.imul(mix ^ word, 0x85ebca6b);
  return product ^ (product >>> 13);
}

/** Of 64 hex digits. */
export function wordsOf(id: string): Words {
  return [word(id, 0), word(id, 8), word(id, 16), word(id, 24)];
}

function word(id: string, at: number): number {
  return Number.parseInt(id.slice(at, at + 8), 16);
}
