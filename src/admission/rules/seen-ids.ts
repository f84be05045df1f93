/** 128 bits of the id, then a 32-bit tag of the bytes that carried it. */
const WORDS_PER_ENTRY = 5;
const BYTES_PER_ENTRY = WORDS_PER_ENTRY * 4;
const FIRST_CAPACITY = 16;
/** In the place of a tag: the line is known by its id alone, and any bytes of it are a duplicate. */
export const UNKNOWN_BYTES = 0;
/** Of one piece of text: a multiple of three, so that pieces of base64 can be put together. */
const ENTRIES_PER_PIECE = 3_072;

/**
 * The ids that a log has shown, and a tag of the line that showed each: enough to tell a
 * byte-identical duplicate from the same content in other bytes. Spec 2.4 (replay).
 *
 * Kept in two typed arrays (entries in order of arrival, and an open-addressing index over them):
 * 28 to 56 bytes an id. Ids are cut to 128 bits: to make two of
 * them collide takes 2^64 hashes. Their author can search for ids that share some bits, so where an
 * id belongs in the index depends on a salt that the author does not know.
 */
export class SeenIds {
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

  has(id: string): boolean {
    return this.tagOf(id) !== undefined;
  }

  /** The tag of the line that first showed `id` (64 hex digits), or `undefined`. */
  tagOf(id: string): number | undefined {
    const entry = this.#slots[this.#slotFor(prefix(id))] ?? 0;
    return entry === 0 ? undefined : this.#entries[entry * WORDS_PER_ENTRY - 1];
  }

  /** Remembers `id`. An id that is known keeps its first tag. `tag` is an unsigned 32-bit number. */
  add(id: string, tag: number): void {
    const words = prefix(id);
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
    this.#size += 1;
    this.#slots[slot] = this.#size;
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
  static restore(text: string, salt: number): SeenIds | undefined {
    const bytes = Buffer.from(text, "base64");
    if (bytes.length % BYTES_PER_ENTRY !== 0 || bytes.toString("base64") !== text) return undefined;
    const seen = new SeenIds(salt);
    seen.#size = bytes.length / BYTES_PER_ENTRY;
    let capacity = FIRST_CAPACITY;
    while (capacity < seen.#size) capacity *= 2;
    seen.#entries = new Uint32Array(capacity * WORDS_PER_ENTRY);
    new Uint8Array(seen.#entries.buffer).set(bytes);
    seen.#index(capacity * 2);
    return seen;
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

type Words = readonly [number, number, number, number];

function prefix(id: string): Words {
  return [word(id, 0), word(id, 8), word(id, 16), word(id, 24)];
}

function word(id: string, at: number): number {
  return Number.parseInt(id.slice(at, at + 8), 16);
}

/**
 * Whether an unchained line is in a log that it was not written to. The same unchained content once
 * in each addressee's log is a broadcast (spec 2.4); in the log of an agent that it does not name,
 * while an agent that it names has a log of its own from this sender, it is a copy from that one.
 * Told from the line alone, so the order in which logs are read does not matter. Names outside the
 * roster have no log to be copied from and are passed over.
 *
 * @param to the recipients as the line states them; absent means the addressee of the log
 * @param addressee whom the log addresses; absent in layout `outbox`, where one log serves all
 * @param otherAddressees whom the sender's other logs address
 */
export function isStrayCopy(
  to: readonly string[] | undefined,
  addressee: string | undefined,
  otherAddressees: readonly string[],
): boolean {
  if (to === undefined || addressee === undefined) return false;
  if (to.includes("*") || to.includes(addressee)) return false;
  return to.some((name) => otherAddressees.includes(name));
}
