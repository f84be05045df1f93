/** What is looked for in bytes. */
export interface BytePattern {
  /** Where it begins first, at or after `from`; -1 when it is not there. */
  firstIn(bytes: Uint8Array, from: number): number;
}

/** What JSON writes as it is, in one way only: no space is put beside it, and no writer escapes it. */
const PLAIN = /[a-z0-9_.;!?()@#$%^*+=|~`-]+(?: [a-z0-9_.;!?()@#$%^*+=|~`-]+)*/g;
/** Of a longer part its beginning is looked for: bytes that are nearly it cost no more for each of them. */
const LONGEST_WORD = 32;
const ESCAPES = 0x5c;
const FIRST_BEYOND_ASCII = 0x80;

/** Each byte, capitals of ASCII as small letters. */
const FOLDED = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte,
);

/**
 * What the bytes of a line have if its text may hold `needle`, which is in lower case: the longest part
 * of it that JSON writes as it is, in small letters or capitals. Without such a part every line may
 * that has something else than ASCII, or an escape.
 */
export function patternFor(needle: string): BytePattern {
  if (needle === "") return { firstIn: ({ length }, from) => (from < length ? from : -1) };
  const parts = [...needle.matchAll(PLAIN)].map(([part]) => part);
  const [longest] = parts.sort((a, b) => b.length - a.length);
  return longest === undefined ? ESCAPED_OR_NOT_ASCII : wordPattern(longest.slice(0, LONGEST_WORD));
}

const ESCAPED_OR_NOT_ASCII: BytePattern = {
  firstIn(bytes, from) {
    for (let at = from; at < bytes.length; at += 1) {
      const byte = bytes[at] as number;
      if (byte >= FIRST_BEYOND_ASCII || byte === ESCAPES) return at;
    }
    return -1;
  },
};

/** Boyer, Moore and Horspool: most bytes are never looked at, and nothing is allocated. */
function wordPattern(text: string): BytePattern {
  const word = Buffer.from(text, "latin1");
  const last = word.length - 1;
  /** By how much the word moves on when that byte is where its last one should be. */
  const moves = new Uint32Array(256).fill(word.length);
  for (let at = 0; at < last; at += 1) setForBoth(moves, word[at] as number, last - at);
  /** The same, but 0 for the last byte of the word. */
  const searches = moves.slice();
  setForBoth(searches, word[last] as number, 0);
  const isAt = (bytes: Uint8Array, begin: number): boolean => {
    for (let at = 0; at < last; at += 1) {
      if (FOLDED[bytes[begin + at] as number] !== word[at]) return false;
    }
    return true;
  };
  return {
    firstIn(bytes, from) {
      const { length } = bytes;
      for (let end = from + last; end < length;) {
        const move = searches[bytes[end] as number] as number;
        if (move === 0 && isAt(bytes, end - last)) return end - last;
        end += move === 0 ? (moves[bytes[end] as number] as number) : move;
      }
      return -1;
    },
  };
}

/** For a small letter and its capital. */
function setForBoth(table: Uint32Array, letter: number, value: number): void {
  for (const [byte, folded] of FOLDED.entries()) if (folded === letter) table[byte] = value;
}
