import { utf8 } from "../wire/vector-files.ts";
import type { Picker } from "./picker.ts";

/** What breaks readers: structure, escapes, numbers, bytes that are no UTF-8, keys of importance. */
const SNIPPETS: readonly Uint8Array[] = [
  ...['"', "\\", "{", "}", "[", "]", ",", ":", " ", "\n", "\t", "\r", "\u0000", "\u007f", "/"],
  ...["0", "-", "-0", "00", ".5", "e9", "E+9", "1e400", "1e-400", "0.1e1", "1.0", "9".repeat(30)],
  ...["\\u0000", "\\ud800", "\\udc00", "\\ud83d\\ude00", "\\u00E9", "\\/", "\\x41", "\\u12", "\\U"],
  ...["null", "true", "false", "NaN", "Infinity", "nul", "True", "//", "/**/", "'", "#"],
  ...['"__proto__":1,', '"seq":1,', '"a":', '"from":"bob",', '"signature":"",', '"type":"ack",'],
  ...["\u{10ffff}", "\ufeff", "\ue000", "\uffff", "\u2028", "\u00a0", "e\u0301", "\u00e9"],
]
  .map(utf8)
  .concat([
    Uint8Array.of(0xc0, 0x80),
    Uint8Array.of(0xed, 0xa0, 0x80),
    Uint8Array.of(0xf4, 0x90, 0x80, 0x80),
    Uint8Array.of(0xf8, 0x88, 0x80, 0x80, 0x80),
    Uint8Array.of(0xe2, 0x82),
    Uint8Array.of(0x80),
    Uint8Array.of(0xff, 0xfe),
  ]);

const join = (...parts: readonly Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts));

/** One to four changes that know nothing of what the bytes mean; `other` is another line. */
export function mutateBytes(line: Uint8Array, other: Uint8Array, pick: Picker): Uint8Array {
  let bytes = line;
  for (let times = 1 + pick.below(4); times > 0; times--) bytes = mutateOnce(bytes, other, pick);
  return bytes;
}

function mutateOnce(bytes: Uint8Array, other: Uint8Array, pick: Picker): Uint8Array {
  const at = pick.below(bytes.length + 1);
  const end = Math.min(bytes.length, at + 1 + pick.below(12));
  const head = bytes.subarray(0, at);
  const tail = bytes.subarray(at);
  switch (pick.below(9)) {
    case 0:
      return flipped(bytes, at, 1 << pick.below(8));
    case 1:
      return flipped(bytes, at, 1 + pick.below(255));
    case 2:
      return join(head, bytes.subarray(end));
    case 3:
      return join(bytes.subarray(0, end), tail);
    case 4:
      return pick.once(4) ? bytes.slice(0, Math.max(1, at)) : join(bytes, utf8(" "));
    case 5: {
      // Spliced: the beginning of one line, the end of another, or a piece of it in between.
      const from = pick.below(other.length + 1);
      const piece = other.subarray(from, pick.once(2) ? from + pick.below(40) : undefined);
      return pick.once(2) ? join(head, piece) : join(head, piece, tail);
    }
    case 6: {
      const place = pick.below(bytes.length + 1);
      const moved = bytes.slice(at, end);
      const rest = join(head, bytes.subarray(end));
      return join(rest.subarray(0, place), moved, rest.subarray(place));
    }
    default:
      return join(head, pick.one(SNIPPETS), tail);
  }
}

function flipped(bytes: Uint8Array, at: number, mask: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  if (at < copy.length) copy[at] = (copy[at] as number) ^ mask;
  return copy;
}
