import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import {
  authenticate,
  confirmInAudit,
  recall,
  type Authentication,
} from "../../src/admission/authenticate.ts";
import { isAuthentic, REFUSAL_REASONS, type RefusalReason } from "../../src/admission/checks.ts";
import type { AdmissionContext } from "../../src/admission/context.ts";
import { judge, type Verdict } from "../../src/admission/judge.ts";
import { acceptFromHere, saveLogAdmission } from "../../src/admission/log-admission.ts";
import { VERIFY, type NotedLine } from "../../src/admission/reading.ts";
import { unsignedThen } from "../../src/audit/journal-notes.ts";
import type { Tier } from "../../src/trust/tiers.ts";
import { DEFAULT_LIMITS } from "../../src/wire/limits.ts";
import { mutant } from "../fuzz/mutants.ts";
import { pickerFrom } from "../fuzz/picker.ts";
import { RandomAuthors } from "../fuzz/random-logs.ts";
import { alice, bob, carol, context, NOON_MS, peer, pinned, storeOf } from "../trust/people.ts";
import { freshLog, short } from "./admission-scene.ts";

const WIRE = "w1";
const LOG = "alice_to_bob";
const HOUR_MS = 3_600_000;

/** One line of alice's log, and what bob's journal notes of it. */
interface Noted {
  readonly line: Uint8Array;
  readonly receivedAtMs: number;
  /** The reason of a refusal, else `accepted` or `duplicate`. */
  readonly is: string;
  readonly id: string | undefined;
  /** The operator let the log go on before this line was taken. */
  readonly isReset: boolean;
}

/** What bob believes and allows for a while. */
interface Policy {
  readonly tier: Tier;
  readonly allowUnchained: boolean;
  readonly mayBeUnsigned: boolean;
  readonly isActive: boolean;
  readonly maxMessageBodyKb: number;
}

const policies: fc.Arbitrary<Policy> = fc.record({
  tier: fc.constantFrom("TRUSTED", "ATTESTED", "VERIFIED", "UNTRUSTED"),
  allowUnchained: fc.boolean(),
  mayBeUnsigned: fc.boolean(),
  isActive: fc.boolean(),
  maxMessageBodyKb: fc.constantFrom(DEFAULT_LIMITS.maxMessageBodyKb, 0),
});

function contextOf(policy: Policy): AdmissionContext {
  const { tier, allowUnchained, mayBeUnsigned, isActive, maxMessageBodyKb } = policy;
  const said = { allowUnchained, mayBeUnsigned, keys: [pinned(alice, isActive)] };
  return context({
    wireId: WIRE,
    signing: { enforceSigned: true, allowUnsignedFrom: ["alice"] },
    limits: { ...DEFAULT_LIMITS, maxMessageBodyKb },
    store: storeOf({ ...peer(alice, tier), ...said }, peer(bob)),
  });
}

/** What stands in alice's log to bob, who keeps to no rule, with lines of others among it. */
function linesOf(seed: number): Uint8Array[] {
  const pick = pickerFrom(seed);
  const authors = new RandomAuthors(pick, WIRE, [alice, carol], [["alice", "bob"]]);
  return Array.from({ length: 40 }, (_, at) => {
    const { line } = authors.next(NOON_MS + at * 1_000);
    return pick.once(6) ? mutant(seed, at).line : line;
  }).filter((line) => line.length < 100_000);
}

const source = { owner: "alice", log: LOG };

/** Bob reads the log as it grows; between two lines he changes his mind once. */
function live(lines: readonly Uint8Array[], first: Policy, then: Policy, seed: number) {
  const pick = pickerFrom(seed);
  const log = freshLog(LOG);
  const change = pick.below(lines.length + 1);
  const noted = lines.map((line, at): Noted => {
    const ctx = contextOf(at < change ? first : then);
    // Now and then bob's clock is an hour behind.
    const receivedAtMs = NOON_MS + at * 1_000 - (pick.once(8) ? HOUR_MS : 0);
    const reading = { mode: "live", receivedAtMs, line: at + 1 } as const;
    const read = authenticate(line, source, ctx);
    const before = judge(read, log, ctx, reading);
    const isReset = before.outcome === "wait";
    if (isReset) acceptFromHere(log);
    const is = short(isReset ? judge(read, log, ctx, reading) : before);
    return { line, receivedAtMs, is, id: idOf(read, is), isReset };
  });
  return { log, noted };
}

function idOf(read: Authentication, is: string): string | undefined {
  if (read.ok) return read.message.id;
  return is === "duplicate" ? read.claimed?.id : undefined;
}

function reasonOf({ is }: Noted): RefusalReason | undefined {
  return REFUSAL_REASONS.find((reason) => reason === is);
}

function noteOf(noted: Noted): NotedLine {
  return {
    authentic: noted.id !== undefined,
    reason: reasonOf(noted),
    isOf: (id) => id === noted.id,
    fits: ({ length }) => length === noted.line.length,
  };
}

/** The log as a replay of the journal leaves it. */
function recalled(noted: readonly Noted[], ctx: AdmissionContext) {
  const log = freshLog(LOG);
  for (const [at, each] of noted.entries()) {
    if (each.isReset) acceptFromHere(log);
    if (each.id === undefined || each.is === "duplicate") continue;
    const message = recall(each.line, each.id);
    if (message === undefined) throw new Error("another line");
    const { receivedAtMs } = each;
    const reading = { mode: "recall", receivedAtMs, line: at + 1 } as const;
    const note = { reason: reasonOf(each) };
    expect(short(judge({ ok: true, message }, log, ctx, { ...reading, noted: note }))).toBe(
      each.is,
    );
  }
  return log;
}

/** What an audit says of the lines, with the journal's notes or without. */
function audited(noted: readonly Noted[], ctx: AdmissionContext, by: "notes" | "logs"): string[] {
  const log = freshLog(LOG);
  let lastAtMs = 0;
  return noted.map((each, at) => {
    const note = by === "notes" ? noteOf(each) : undefined;
    const unsignedPast = () => ({
      noted: unsignedThen(note && { ...note, at: 0 }),
      isBeforeSigned: false,
    });
    const past = { ...source, unsignedPast };
    const known = authenticate(each.line, past, ctx);
    const read = confirmInAudit(each.line, known, ctx, { noted: note, takesClaims: false });
    if (read.ok) lastAtMs = note === undefined ? read.message.timestampMs : each.receivedAtMs;
    const place = { receivedAtMs: lastAtMs, line: at + 1 };
    return short(judge(read, log, ctx, { mode: "audit", ...place, noted: note }));
  });
}

function verified({ line }: Noted, ctx: AdmissionContext): Verdict {
  const read = authenticate(line, { owner: undefined, log: undefined }, ctx);
  return judge(read, undefined, ctx, VERIFY);
}

const OF_TIER: readonly string[] = ["tier_refused", "body_too_large", "too_many_refs"];
/** What an audit of the logs alone cannot know. */
const UNKNOWN_LATER: readonly string[] = ["clock_skew", ...OF_TIER];

const met = new Map<string, number>();
const runs = { numRuns: 40 };
const seeds = fc.integer({ min: 0, max: 2 ** 31 });

test("a replay of the journal says what was said live, whatever bob believes by then", () => {
  fc.assert(
    fc.property(seeds, policies, policies, policies, (seed, first, then, today) => {
      const { log, noted } = live(linesOf(seed), first, then, seed);
      for (const { is } of noted) met.set(is, (met.get(is) ?? 0) + 1);
      const again = recalled(noted, contextOf(today));
      expect(saveLogAdmission(again)).toEqual(saveLogAdmission(log));
    }),
    runs,
  );
});

test("so does an audit with the journal", () => {
  fc.assert(
    fc.property(seeds, policies, policies, policies, (seed, first, then, today) => {
      const { noted } = live(linesOf(seed), first, then, seed);
      expect(audited(noted, contextOf(today), "notes")).toEqual(noted.map(({ is }) => is));
    }),
    runs,
  );
});

test("an audit of the logs alone differs in what it cannot know", () => {
  fc.assert(
    fc.property(seeds, policies, (seed, policy) => {
      const { noted } = live(linesOf(seed), policy, policy, seed);
      const found = audited(noted, contextOf(policy), "logs");
      const expected = noted.map(({ is }, at) => {
        // Behind a check that is not asked, the next one may find something.
        if (is === "clock_skew" && found[at] === "replayed") return "replayed";
        return UNKNOWN_LATER.includes(is) ? "accepted" : is;
      });
      expect(found).toEqual(expected);
    }),
    runs,
  );
});

test("verify, which has no log, differs in what hangs on the log", () => {
  fc.assert(
    fc.property(seeds, policies, (seed, policy) => {
      const { noted } = live(linesOf(seed), policy, policy, seed);
      for (const each of noted) {
        const found = short(verified(each, contextOf(policy)));
        const reason = reasonOf(each);
        const isOfLine = reason !== undefined && !isAuthentic(reason) && reason !== "wrong_file";
        if (isOfLine || each.is === "accepted" || OF_TIER.includes(each.is)) {
          expect(found).toBe(each.is);
        } else if (reason !== "wrong_file" && each.is !== "duplicate") {
          expect(["accepted", ...OF_TIER]).toContain(found);
        }
      }
    }),
    runs,
  );
});

afterAll(() => {
  const wanted: readonly (RefusalReason | "accepted" | "duplicate")[] = [
    ...(["accepted", "duplicate", "malformed", "schema", "wrong_file", "unsigned"] as const),
    ...(["untrusted_key", "invalid_signature", "wrong_wire", "unchained", "log_forked"] as const),
    ...(["clock_skew", "replayed", "tier_refused", "body_too_large"] as const),
  ];
  expect(wanted.filter((each) => !met.has(each))).toEqual([]);
});
