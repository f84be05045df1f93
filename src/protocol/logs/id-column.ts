const EVENT_ID_BYTES = 32;
const IDS_PER_CHUNK = 512;
const EVENT_ID = /^[0-9a-f]{64}$/u;
/** Places for each id in the table that finds it, at least. */
const SPACING = 1.5;
const FEWEST_SLOTS = 16;
const FREE = 0;
const NO_CHUNK = Buffer.alloc(0);
/** Of the second word of an id, the bits that belong to its first 13 digits. */
const KEY_BITS = 20;
/**
 * Odd factors of the hash by which ids are found: of the first word, and of what follows of the first 13
 * digits. They are others in each process: who writes ids that fall together makes searches slow. No
 * answer depends on them.
 */
const [HIGH_FACTOR = 1, LOW_FACTOR = 1] = crypto
  .getRandomValues(new Uint32Array(2))
  .map((each) => each | 1);

/**
 * Event ids in the order in which they came: 64 lower-case hexadecimal digits each, held as 32 bytes. A
 * state remembers hundreds of thousands of ids, and as text each takes 80 bytes.
 */
export class IdColumn {
  #chunks: Buffer[] = [];
  /** Ids that are left out at the beginning of the first chunk. */
  #left = 0;
  #length = 0;
  /** Places plus one by the hashes of their ids, open addressing; made when an id is looked for. */
  #slots: Uint32Array | undefined;

  /** @internal */
  static of(ids: Iterable<string>): IdColumn {
    const column = new IdColumn();
    for (const id of ids) column.push(id);
    return column;
  }

  get length(): number {
    return this.#length;
  }

  /** @throws TypeError for a text that is no event id */
  push(id: string): void {
    if (!EVENT_ID.test(id)) throw new TypeError(`no event id: ${id}`);
    const [room, offset] = this.#next();
    room.write(id, offset, "hex");
    if (this.#slots === undefined) return;
    if (this.#length * SPACING > this.#slots.length) this.#slots = undefined;
    else this.#note(this.#slots, this.#length - 1);
  }

  /** All ids as texts of base64, some hundreds in each: a checkpoint has hundreds of thousands. */
  *pieces(): Generator<string> {
    for (let place = 0; place < this.#length;) {
      const [chunk, offset] = this.#where(place);
      const count = Math.min(this.#length - place, IDS_PER_CHUNK - offset / EVENT_ID_BYTES);
      yield chunk.toString("base64", offset, offset + count * EVENT_ID_BYTES);
      place += count;
    }
  }

  /** Adds the ids of such a piece; false, and none, when it is something else. */
  pushPiece(piece: unknown): boolean {
    const bytes = typeof piece === "string" ? Buffer.from(piece, "base64") : NO_CHUNK;
    if (bytes.length === 0 || bytes.length % EVENT_ID_BYTES !== 0) return false;
    if (bytes.toString("base64") !== piece) return false;
    for (let at = 0; at < bytes.length; at += EVENT_ID_BYTES) {
      const [room, offset] = this.#next();
      bytes.copy(room, offset, at, at + EVENT_ID_BYTES);
    }
    this.#slots = undefined;
    return true;
  }

  /** The id at that place; counted from the end when it is negative. */
  at(place: number): string | undefined {
    const from = place < 0 ? this.#length + place : place;
    if (from < 0 || from >= this.#length) return undefined;
    const [chunk, offset] = this.#where(from);
    return chunk.toString("hex", offset, offset + EVENT_ID_BYTES);
  }

  /** Where that id is, first places first: in one place at most, but for a log that was rewritten. */
  placesOf(id: string): number[] {
    if (this.#length === 0 || !EVENT_ID.test(id)) return [];
    const bytes = Buffer.from(id, "hex");
    const places: number[] = [];
    for (const [place, chunk, offset] of this.#near(bytes.readUInt32BE(0), lowOf(bytes, 0))) {
      if (chunk.compare(bytes, 0, EVENT_ID_BYTES, offset, offset + EVENT_ID_BYTES) === 0)
        places.push(place);
    }
    return places;
  }

  /** Whether an id is there whose first 13 digits are this number: 52 bits. */
  hasKey(key: number): boolean {
    if (this.#length === 0) return false;
    const high = Math.floor(key / 2 ** KEY_BITS);
    const low = key % 2 ** KEY_BITS;
    for (const [, chunk, offset] of this.#near(high, low)) {
      if (chunk.readUInt32BE(offset) === high && lowOf(chunk, offset) === low) return true;
    }
    return false;
  }

  /** Forgets so many of the first ids; what comes after them moves to the front. */
  dropFirst(count: number): void {
    const dropped = Math.min(Math.max(count, 0), this.#length);
    if (dropped === 0) return;
    const left = this.#left + dropped;
    this.#chunks = this.#chunks.slice(Math.floor(left / IDS_PER_CHUNK));
    this.#left = left % IDS_PER_CHUNK;
    this.#length -= dropped;
    this.#slots = undefined;
  }

  /** A column of those ids whose places are kept. */
  filter(isKept: (place: number) => boolean): IdColumn {
    const kept = new IdColumn();
    for (let place = 0; place < this.#length; place += 1) {
      if (!isKept(place)) continue;
      const [chunk, offset] = this.#where(place);
      const [room, at] = kept.#next();
      chunk.copy(room, at, offset, offset + EVENT_ID_BYTES);
    }
    return kept;
  }

  *[Symbol.iterator](): Generator<string> {
    for (let place = 0; place < this.#length; place += 1) yield this.at(place) ?? "";
  }

  /** Makes room for one more. */
  #next(): [room: Buffer, offset: number] {
    const [chunk, offset] = this.#where(this.#length);
    const room = chunk === NO_CHUNK ? Buffer.alloc(IDS_PER_CHUNK * EVENT_ID_BYTES) : chunk;
    if (chunk === NO_CHUNK) this.#chunks.push(room);
    this.#length += 1;
    return [room, offset];
  }

  /** The ids that may have these first 13 digits. */
  *#near(high: number, low: number): Generator<[place: number, chunk: Buffer, offset: number]> {
    const slots = (this.#slots ??= this.#indexed());
    let slot = slotOf(high, low, slots);
    for (; slots[slot] !== FREE; slot = (slot + 1) & (slots.length - 1)) {
      const place = (slots[slot] ?? FREE) - 1;
      yield [place, ...this.#where(place)];
    }
  }

  #where(place: number): [chunk: Buffer, offset: number] {
    const at = this.#left + place;
    return [
      this.#chunks[Math.floor(at / IDS_PER_CHUNK)] ?? NO_CHUNK,
      (at % IDS_PER_CHUNK) * EVENT_ID_BYTES,
    ];
  }

  #indexed(): Uint32Array {
    let size = FEWEST_SLOTS;
    while (size < SPACING * this.#length) size *= 2;
    const slots = new Uint32Array(size);
    for (let place = 0; place < this.#length; place += 1) this.#note(slots, place);
    return slots;
  }

  #note(slots: Uint32Array, place: number): void {
    const [chunk, offset] = this.#where(place);
    const mask = slots.length - 1;
    let slot = slotOf(chunk.readUInt32BE(offset), lowOf(chunk, offset), slots);
    while (slots[slot] !== FREE) slot = (slot + 1) & mask;
    slots[slot] = place + 1;
  }
}

function lowOf(bytes: Buffer, offset: number): number {
  return bytes.readUInt32BE(offset + 4) >>> (32 - KEY_BITS);
}

/** Where the search for an id begins: the upper bits of a sum of products. */
function slotOf(high: number, low: number, { length }: Uint32Array): number {
  const sum = (Math.imul(high, HIGH_FACTOR) + Math.imul(low, LOW_FACTOR)) >>> 0;
  return sum >>> (Math.clz32(length) + 1);
}
