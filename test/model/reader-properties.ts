// What the text promises a reader, checked on one random reading.
import { isDeepStrictEqual } from "node:util";
import { parseObject } from "../../src/wire/json/json.ts";
import { randomReading, type RandomOptions } from "./random-reader.ts";
import {
  corruptCopy,
  LineWriter,
  resign,
  testKey,
  WIRE_ID,
  type SignedLine,
} from "./reader-lines.ts";
import { expectedOf, type Expected, type Reader, type ReaderEvent } from "./reader.ts";

type Found = Extract<ReaderEvent, { readonly kind: "found" }>;

const isFound = (event: ReaderEvent): event is Found => event.kind === "found";

/** All promises on the reading of this seed; `random` decides what is left out, copied and put in. */
export function findBrokenReadings(
  seed: number,
  options: RandomOptions,
  random: () => number,
): readonly string[] {
  const { reader, events } = randomReading(seed, options);
  const expected = expectedOf(reader, events);
  return [
    ...brokenMail(events, expected),
    ...brokenOrder(reader, events.filter(isFound), random),
    ...brokenCopies(reader, events.filter(isFound), random),
    ...brokenByOutsider(reader, events, expected, random),
  ];
}

/** Mail is delivered once, not behind a fork, not when it is struck; what is final stays. */
function brokenMail(
  events: readonly ReaderEvent[],
  expected: readonly Expected[],
): readonly string[] {
  const broken: string[] = [];
  const delivered = new Set<string>();
  for (const [index, { authors, lines, delivered: now, heads }] of expected.entries()) {
    const fail = (what: string): void => void broken.push(`${what} at event ${index}`);
    for (const id of now) {
      if (delivered.has(id)) fail(`mail twice: ${id}`);
      delivered.add(id);
      const { author, seq } = lines.get(id) ?? {};
      const chain = authors[author ?? ""];
      if (chain === undefined || seq === undefined || seq === null) continue;
      if (chain.struck.includes(id)) fail(`struck mail: ${id}`);
      if (chain.against.includes(id)) fail(`mail that was decided against: ${id}`);
      if (chain.forkAt !== null && seq >= chain.forkAt) fail(`mail behind a fork: ${id}`);
    }
    const mail = [...lines].filter(([, { verdict }]) => verdict.is === "mail");
    if (mail.length !== delivered.size || mail.some(([id]) => !delivered.has(id)))
      fail("what is mail and what was delivered differ");
    for (const [id, { verdict }] of expected[index - 1]?.lines ?? []) {
      const isFinal = verdict.is === "refused" && verdict.reason !== "untrusted_key";
      if (isFinal && !isDeepStrictEqual(lines.get(id)?.verdict, verdict))
        fail(`a new verdict: ${id}`);
    }
    for (const [author, { whole, linked, struck, against }] of Object.entries(authors)) {
      const isFine = whole === null || (linked.includes(whole[1]) && !struck.includes(whole[1]));
      if (!isFine || against.includes(whole?.[1] ?? "")) fail(`whole of ${author} does not count`);
      if ((heads[author]?.[0] ?? 0) > (whole?.[0] ?? 0)) fail(`the head of ${author} is ahead`);
    }
    if (events[index] === undefined) fail("no event");
  }
  return broken;
}

/** What is held at the end when these lines are found at one time, and no operator acts. */
function holdAll(reader: Reader, found: readonly Found[]): Expected | undefined {
  const atMs = Math.max(0, ...found.map((line) => line.atMs));
  return expectedOf(
    reader,
    found.map((line) => ({ ...line, atMs })),
  ).at(-1);
}

/** Without the one thing that the order of lines decides: which line of a fork came second. */
function withoutOrder(expected: Expected | undefined): Expected["authors"] {
  const authors = Object.entries(expected?.authors ?? {});
  return Object.fromEntries(
    authors.map(([author, chain]) => [author, { ...chain, tookSecond: null }]),
  );
}

/** Neither the order of lines nor copies of them change what is held, and fewer lines give less. */
function brokenOrder(
  reader: Reader,
  found: readonly Found[],
  random: () => number,
): readonly string[] {
  const broken: string[] = [];
  const held = (lines: readonly Found[]): Expected["authors"] =>
    withoutOrder(holdAll(reader, lines));
  const all = held(found);
  const shuffled = found
    .map((line) => ({ line, rank: random() }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ line }) => line);
  if (!isDeepStrictEqual(held(shuffled), all))
    broken.push("the order of lines changes what is held");
  if (!isDeepStrictEqual(held([...found, ...shuffled]), all))
    broken.push("copies change what is held");

  const some = held(found.filter(() => random() < 0.7));
  for (const [author, { authentic, linked }] of Object.entries(some)) {
    if (authentic.some((id) => all[author]?.authentic.includes(id) !== true))
      broken.push(`more lines take authenticity away from ${author}`);
    if (linked.some((id) => all[author]?.linked.includes(id) !== true))
      broken.push(`more lines unlink ${author}`);
  }
  return broken;
}

/** Copies that differ in the fields of next 1.5 harm nothing, also before the lines themselves. */
function brokenCopies(
  reader: Reader,
  found: readonly Found[],
  random: () => number,
): readonly string[] {
  const broken: string[] = [];
  const expected = holdAll(reader, found);
  const all = withoutOrder(expected);
  const corrupt: Found[] = [];
  const signedAgain: Found[] = [];
  for (const [index, event] of found.entries()) {
    const original = asSigned(event.line);
    const held = expected?.lines.get(original?.id ?? "");
    if (original === undefined || held === undefined || held.seq === null) continue;
    if (random() < 0.5) corrupt.push({ ...event, line: corruptCopy(original, index % 5) });
    // Of a line that nobody can verify an old key may be the only one that is known.
    if (random() < 0.5 && held.isVerified)
      signedAgain.push({ ...event, line: resign(original, testKey(held.author, 1)) });
  }
  if (!isDeepStrictEqual(withoutOrder(holdAll(reader, [...corrupt, ...found])), all))
    broken.push("copies with other signature fields change what is held");
  const after = holdAll(reader, [...signedAgain, ...found])?.authors ?? {};
  for (const [author, { struck }] of Object.entries(after)) {
    if (struck.some((id) => all[author]?.struck.includes(id) !== true))
      broken.push(`an old key strikes lines of ${author}`);
  }
  return broken;
}

/** Nothing that somebody without a key writes, into any carrier, changes anything. */
function brokenByOutsider(
  reader: Reader,
  events: readonly ReaderEvent[],
  expected: readonly Expected[],
  random: () => number,
): readonly string[] {
  const mixed: { readonly event: ReaderEvent; readonly original: number | null }[] = [];
  for (const [index, event] of events.entries()) {
    mixed.push({ event, original: index });
    if (random() < 0.7) continue;
    for (const put of outsiderLines(events.slice(0, index + 1), expected[index], random))
      mixed.push({ event: { ...put, atMs: event.atMs }, original: null });
  }
  const withOutsider = expectedOf(
    reader,
    mixed.map(({ event }) => event),
  );
  for (const [index, { original }] of mixed.entries()) {
    const now = withOutsider[index];
    if (original === null) {
      if (now?.delivered.length !== 0) return [`an outsider's line delivers at event ${index}`];
    } else if (!isDeepStrictEqual(comparable(now), comparable(expected[original]))) {
      return [`an outsider changes something at event ${original}`];
    }
  }
  return [];
}

/** Without the numbers of events. */
function comparable(expected: Expected | undefined): unknown {
  const lines = [...(expected?.lines ?? [])].map(([id, line]) => ({
    id,
    ...line,
    verdict: { ...line.verdict, event: 0 },
  }));
  return { ...expected, lines: lines.toSorted((a, b) => (a.id < b.id ? -1 : 1)) };
}

/** A line as it was signed, of the bytes that were found. */
function asSigned(bytes: Uint8Array): SignedLine | undefined {
  const parsed = parseObject(bytes);
  if (!parsed.ok) return undefined;
  const { event_id: id, public_key_id: _, signature: __, ...fields } = parsed.value;
  const seq = typeof fields["seq"] === "number" ? fields["seq"] : null;
  return typeof id === "string" ? { id, seq, line: bytes, fields } : undefined;
}

function outsiderLines(
  events: readonly ReaderEvent[],
  expected: Expected | undefined,
  random: () => number,
): readonly Omit<Found, "atMs">[] {
  const below = (count: number): number => Math.floor(random() * count);
  const some = events.filter(isFound)[below(events.length)];
  const original = some === undefined ? undefined : asSigned(some.line);
  const handle = original?.fields["from"];
  const isHeld = original !== undefined && expected?.lines.has(original.id) === true;
  if (!isHeld || typeof handle !== "string") return [];
  const { seq } = original;
  const chain = expected.authors[handle];
  const stranger = new LineWriter(handle, testKey(handle, 1_000));
  stranger.last = chain?.whole ?? null;
  const elsewhere = new LineWriter(handle);
  elsewhere.last = stranger.last;
  // Else their lines could be copies of what the author wrote.
  stranger.nowMs -= 500;
  elsewhere.nowMs -= 500;
  const lines: readonly Uint8Array[] = [
    Buffer.from("junk"),
    original.line,
    corruptCopy(original, below(6)),
    original.line.subarray(0, below(original.line.length)),
    stranger.say("heartbeat", { body: { heads: { [handle]: [9, "0".repeat(64), 9] } } }).line,
    stranger.say("proposal", { body: { action: "add_key" } }).line,
    stranger.sayLoose("ship", { to: [] }).line,
    elsewhere.say("ship", { wire: "ffffffffffffffff" }).line,
    elsewhere.sayLoose("ship", { wire: "ffffffffffffffff" }).line,
    elsewhere.say("ship", { wire: WIRE_ID, log: "outbox" }).line,
  ];
  // A copy of an unchained line in another file of its author is for that one's reader as well.
  const owner = seq === null || random() < 0.5 ? "mallory" : handle;
  const reader = random() < 0.5 ? null : "forge";
  const line = lines[below(lines.length)];
  if (line === undefined) return [];
  // Where policy takes unsigned lines, whoever writes into a file of their author writes in its name.
  const unsigned = stranger.sayUnsigned("ship").line;
  return [
    { kind: "found", carrier: { owner, reader }, line, isHistorical: false },
    { kind: "found", carrier: { owner: "mallory", reader }, line: unsigned, isHistorical: false },
  ];
}
