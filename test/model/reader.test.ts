import { describe, expect, it } from "vitest";
import { LineWriter, START_MS, testKey, WIRE_ID, type SignedLine } from "./reader-lines.ts";
import {
  expectedOf,
  type Carrier,
  type Expected,
  type PinnedAgent,
  type Reader,
  type ReaderEvent,
  type Verdict,
} from "./reader.ts";

const OUTBOX: Carrier = { owner: "scribe", reader: null };
const ANN_TO_FORGE: Carrier = { owner: "ann", reader: "forge" };
const ANN_TO_SCRIBE: Carrier = { owner: "ann", reader: "scribe" };

function pinned(handle: string, changed: Partial<PinnedAgent> = {}): PinnedAgent {
  return {
    tier: "VERIFIED",
    isBlocked: false,
    isUnchainedAllowed: false,
    isUnsignedAllowed: false,
    keys: [{ key: testKey(handle, 1).base64, isActive: true, last: null }],
    ...changed,
  };
}

/** Forge reads what scribe, who chains, and ann, who does not, write. */
function forge(changed: Partial<Reader> = {}): Reader {
  return {
    handle: "forge",
    wireId: WIRE_ID,
    roster: ["forge", "scribe", "ann"],
    unchained: ["ann"],
    epoch: 0,
    policy: {
      enforceSigned: true,
      allowUnsignedFrom: [],
      maxMessageBodyKb: 64,
      maxClockSkewSeconds: 300,
      maxRefs: 64,
    },
    agents: { scribe: pinned("scribe"), ann: pinned("ann") },
    ...changed,
  };
}

const MINUTE_MS = 60_000;
type Said = SignedLine | Uint8Array;

function found(said: Said, minutes = 1, carrier = OUTBOX): ReaderEvent {
  const line = said instanceof Uint8Array ? said : said.line;
  return {
    kind: "found",
    atMs: START_MS + minutes * MINUTE_MS,
    carrier,
    line,
    isHistorical: false,
  };
}

const at = (minutes: number): { readonly atMs: number } => ({
  atMs: START_MS + minutes * MINUTE_MS,
});

/** What is expected after the last event. */
function last(reader: Reader, events: readonly ReaderEvent[]): Expected {
  const expected = expectedOf(reader, events).at(-1);
  if (expected === undefined) throw new Error("there are no events");
  return expected;
}

/** A verdict in a word or two: `mail`, `refused schema`, `waits gap`. */
function word(verdict: Verdict | undefined): string {
  if (verdict?.is === "refused") return `refused ${verdict.reason}`;
  if (verdict?.is === "waits") return `waits ${verdict.for}`;
  return verdict?.is ?? "not held";
}

const wordsOf = (expected: Expected, lines: readonly SignedLine[]): readonly string[] =>
  lines.map(({ id }) => word(expected.lines.get(id)?.verdict));

describe("a chain (next 1.6)", () => {
  it("is mail in its order, and whole", () => {
    const scribe = new LineWriter("scribe");
    const lines = [scribe.say("ship"), scribe.say("heartbeat"), scribe.say("ship")];
    const expected = last(
      forge(),
      lines.map((line) => found(line)),
    );
    expect(wordsOf(expected, lines)).toEqual(["mail", "accepted", "mail"]);
    expect(expected.authors["scribe"]).toMatchObject({
      whole: [3, lines[2]?.id],
      forkAt: null,
      ahead: [],
    });
    expect(expected.heads).toEqual({ scribe: [3, lines[2]?.id] });
  });

  it("waits ahead of a gap for 10 minutes, and is delivered then", () => {
    const scribe = new LineWriter("scribe");
    const [first, lost, third] = [scribe.say("ship"), scribe.say("ship"), scribe.say("ship")];
    const events = [found(first), found(third), { kind: "clock", ...at(12) } as const];
    expect(wordsOf(last(forge(), events.slice(0, 2)), [first, third])).toEqual([
      "mail",
      "waits gap",
    ]);
    const late = last(forge(), events);
    expect(late.lines.get(third.id)?.verdict).toMatchObject({ is: "mail", isAfterGap: true });
    expect(late.heads).toEqual({ scribe: [1, first.id] });
    const filled = last(forge(), [...events, found(lost, 13)]);
    expect(filled.delivered).toEqual([lost.id]);
    expect(filled.heads).toEqual({ scribe: [3, third.id] });
  });
});

describe("unchained lines (next 1.8)", () => {
  it("are for the reader in the file's name, and for that of each copy", () => {
    const line = new LineWriter("ann").sayLoose("ship", { to: undefined });
    const events = [found(line, 1, ANN_TO_SCRIBE), found(line, 2, ANN_TO_FORGE)];
    expect(wordsOf(last(forge(), events.slice(0, 1)), [line])).toEqual(["accepted"]);
    expect(last(forge(), events).delivered).toEqual([line.id]);
  });
});
