import fc from "fast-check";
import { expect, test } from "vitest";
import { DEFAULT_LIMITS } from "../../src/wire/limits.ts";
import type { VerifiedMessage } from "../../src/admission/admitted-message.ts";
import { acceptFromHere } from "../../src/admission/log-admission.ts";
import type { Tier } from "../../src/trust/tiers.ts";
import { admit, freshLog, LOG, short, verified } from "./admission-scene.ts";
import {
  alice,
  context,
  lineOf,
  NOON_MS,
  note,
  peer,
  signV30,
  signV31,
  storeOf,
  type Fields,
  unsignedContext,
} from "../trust/people.ts";

/** What a line is, for a model that reads no bytes. */
interface Sample {
  readonly name: string;
  readonly message: VerifiedMessage;
  readonly flaw: "clock_skew" | "tier_refused" | "body_too_large" | "too_many_refs" | undefined;
}

const unsigned = { enforceSigned: true, allowUnsignedFrom: ["alice"] };
const open = unsignedContext({ wireId: "w1" });

function sample(name: string, fields: Fields, flaw?: Sample["flaw"], space = ""): Sample {
  const line = Buffer.concat([Buffer.from(space), lineOf(fields)]);
  return { name, message: verified(line, open), flaw };
}

const soon = "2026-06-01T12:05:00.001Z";
/** Lines of one chain; most fail a check that comes after the chain's. */
const CONTENT: readonly (readonly [Fields, Sample["flaw"]])[] = [
  [{}, undefined],
  [{ type: "claim" }, "tier_refused"],
  [{ body: "x".repeat(1_023) }, "body_too_large"],
  [{ refs: ["1", "2", "3"] }, "too_many_refs"],
  [{ timestamp: soon }, "clock_skew"],
  [{ timestamp: "2026-06-01T12:05:00Z", body: "x".repeat(1_022), refs: ["1", "2"] }, undefined],
];

function samples(): Sample[] {
  const chain: Fields[] = [];
  for (const [index, [content]] of CONTENT.entries()) {
    const prev = chain.at(-1)?.["event_id"];
    const link = prev === undefined ? {} : { prev };
    chain.push(signV31(note({ wire: "w1", log: LOG, seq: index + 1, ...link, ...content })));
  }
  const plain = (fields: Fields): Fields => ({
    ...fields,
    event_id: undefined,
    public_key_id: undefined,
    signature: undefined,
  });
  const inChain = chain.flatMap((fields, index) => {
    const flaw = CONTENT[index]?.[1];
    const seq = index + 1;
    const line = sample(`line ${seq}`, fields, flaw);
    return [
      ...[line, line, line, line],
      sample(`line ${seq} in other bytes`, fields, flaw, " "),
      sample(`line ${seq} unsigned`, plain(fields), flaw),
      sample(`line ${seq} as v3.0`, signV30(plain(fields)), flaw),
      sample(`another line ${seq}`, signV31({ ...plain(fields), subject: "another" }), flaw),
    ];
  });
  const loose = [{}, { to: ["carol"] }, { to: ["*"] }, { wire: "w1" }, { wire: "w2" }];
  return [
    ...inChain,
    sample("line 2 of no wire", signV31({ ...plain(chain[1] ?? {}), wire: undefined })),
    sample("line 3 of another wire", signV31({ ...plain(chain[2] ?? {}), wire: "w2" })),
    ...loose.flatMap((fields, at) => [
      sample(`loose ${at}`, signV31(note({ body: at, ...fields }))),
      sample(`loose ${at} unsigned`, note({ body: at, ...fields })),
    ]),
  ];
}

const SAMPLES = samples();

/** Spec 1.6 and 2.4, over all that a log has shown, one question after another. */
class SlowLog {
  private shown: Sample[] = [];
  /** What was taken into the chain since it began, or since the operator let it begin again. */
  private chain: Sample[] = [];
  private held = false;
  private mayBeginLate = false;
  private readonly tier: Tier;
  private readonly allowUnchained: boolean;

  constructor(tier: Tier, allowUnchained: boolean) {
    this.tier = tier;
    this.allowUnchained = allowUnchained;
  }

  acceptFromHere(): void {
    this.chain = [];
    this.held = false;
    this.mayBeginLate = true;
  }

  judge(line: Sample): string {
    const { message, flaw } = line;
    const { wire, seq, to, version } = message;
    const twins = this.shown.filter((each) => each.message.id === message.id);
    if (twins[0]?.message.lineTag === message.lineTag) return "duplicate";
    if (this.held) return "wait";
    const chained = version !== "v2.0" && seq !== undefined;
    if (wire !== "w1" && (wire !== undefined || chained)) return "wrong_wire";
    if (!chained && this.chain.length > 0 && version !== "v2.0" && !this.allowUnchained) {
      return "unchained";
    }
    if (chained && !this.isKnown(line)) {
      if (this.contradicts(line)) {
        this.held = true;
        this.shown.push(line);
        return "log_forked";
      }
      if (this.chain.length === 0 && seq > 1 && !this.mayBeginLate) return "wait";
      this.chain.push(line);
    }
    this.shown.push(line);
    if (flaw === "clock_skew") return flaw;
    if (twins.length > 0) return "replayed";
    if (!chained && to?.join() === "carol") return "replayed";
    if (flaw === "tier_refused" && this.tier === "VERIFIED") return flaw;
    if (flaw === "body_too_large" && this.tier !== "TRUSTED") return flaw;
    return flaw === "too_many_refs" ? flaw : "accepted";
  }

  /** Whether what the line says is known where it stands. A fork has an id that is unknown. */
  private isKnown({ message }: Sample): boolean {
    const { id, seq = 0 } = message;
    const places = this.chain.map((each) => each.message.seq ?? 0);
    // What was shown before the operator let the log begin later stays known.
    const isTaken = places.includes(seq) || (this.mayBeginLate && seq < Math.min(...places));
    return isTaken && this.shown.some((each) => each.message.id === id);
  }

  private contradicts({ message }: Sample): boolean {
    const { seq = 0, prev, id } = message;
    const at = (place: number) => this.chain.find((each) => each.message.seq === place)?.message;
    const before = at(seq - 1);
    const after = at(seq + 1);
    return (
      at(seq) !== undefined ||
      (before !== undefined && before.id !== prev) ||
      (after !== undefined && after.prev !== id)
    );
  }
}

/** Lines in any order, and now and then the operator's decision that what comes next is good. */
const steps = fc.array(
  fc.oneof(
    { weight: 15, arbitrary: fc.constantFrom(...SAMPLES) },
    { weight: 1, arbitrary: fc.constant("accept from here" as const) },
  ),
  { minLength: 1, maxLength: 24 },
);

test("any sequence of lines is judged as the rules say of the whole of it", () => {
  const seen = new Map<string, number>();
  const tier = fc.constantFrom("VERIFIED" as const, "ATTESTED" as const, "TRUSTED" as const);
  fc.assert(
    fc.property(steps, tier, fc.boolean(), (lines, aliceTier, allowUnchained) => {
      const store = storeOf({ ...peer(alice, aliceTier), allowUnchained, mayBeUnsigned: true });
      const limits = { ...DEFAULT_LIMITS, maxMessageBodyKb: 1, maxRefs: 2 };
      const ctx = context({ wireId: "w1", signing: unsigned, limits, store });
      const log = freshLog();
      const slow = new SlowLog(aliceTier, allowUnchained);
      const found = lines.map((line) => {
        if (line === "accept from here") {
          acceptFromHere(log);
          return line;
        }
        const verdict = admit(line.message, log, ctx, NOON_MS);
        return `${line.name}: ${short(verdict)}`;
      });
      const expected = lines.map((line) => {
        if (line !== "accept from here") return `${line.name}: ${slow.judge(line)}`;
        slow.acceptFromHere();
        return line;
      });
      expect(found).toEqual(expected);
      for (const each of found) {
        const verdict = each.split(": ")[1] ?? "";
        seen.set(verdict, (seen.get(verdict) ?? 0) + 1);
      }
    }),
    { numRuns: 3_000 },
  );
  const verdicts = ["accepted", "duplicate", "wait", "wrong_wire", "unchained", "log_forked"];
  const later = ["clock_skew", "replayed", "tier_refused", "body_too_large", "too_many_refs"];
  expect([...verdicts, ...later].filter((verdict) => (seen.get(verdict) ?? 0) < 20)).toEqual([]);
});
