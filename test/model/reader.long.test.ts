import { expect, it } from "vitest";
import { amount } from "../support/amounts.ts";
import { randomFrom } from "../support/random.ts";
import { randomReading, type RandomOptions } from "./random-reader.ts";
import { findBrokenReadings } from "./reader-properties.ts";
import { printReading } from "./reader-transcript.ts";
import { expectedOf, type Reason, type Verdict } from "./reader.ts";

const OPTIONS: RandomOptions = { acts: 35, hasOperator: true, hasLeaves: true };

it("random readings keep what the text promises", () => {
  for (let seed = 100; seed < 100 + amount(40, 4_000); seed += 1) {
    const broken = findBrokenReadings(seed, OPTIONS, randomFrom(seed));
    if (broken.length === 0) continue;
    const { reader, events } = randomReading(seed, OPTIONS);
    const reading = printReading(events, expectedOf(reader, events));
    expect({ seed, broken, reading }).toEqual({ seed, broken: [] });
  }
});

it("random readings show what there is to show", () => {
  const seen = new Set<string>();
  for (let seed = 1; seed <= 60; seed += 1) {
    const { reader, events } = randomReading(seed, OPTIONS);
    for (const [index, expected] of expectedOf(reader, events).entries()) {
      const { kind } = events[index] ?? { kind: "clock" };
      if (!expected.isIgnored) seen.add(kind);
      for (const { heldFor } of Object.values(expected.authors)) seen.add(`held for ${heldFor}`);
      for (const { verdict } of expected.lines.values()) seen.add(nameVerdict(verdict));
      if (expected.out !== null) seen.add(`out ${expected.out}`);
    }
  }
  const acts = ["pin", "verify", "tier", "block", "deactivate", "revoke", "follow"];
  const refused: readonly Reason[] = [
    ...(["schema", "kind_mismatch", "untrusted_key", "unchained", "left_member"] as const),
    ...(["log_forked", "clock_skew", "tier_refused", "body_too_large", "too_many_refs"] as const),
  ];
  const out: readonly Reason[] = [
    ...(["malformed", "schema", "wrong_file", "unsigned", "event_id_mismatch"] as const),
    ...(["untrusted_key", "invalid_signature", "wrong_wire", "replayed"] as const),
  ];
  const waits = ["first reading", "gap", "fork", "revoked", "key", "clock", "tier"];
  const wanted = [
    ...["mail", "mail after a gap", "accepted", "held for fork", "held for revoked"],
    ...[...acts, ...refused.map((reason) => `refused ${reason}`)],
    ...[...out.map((reason) => `out ${reason}`), ...waits.map((cause) => `waits ${cause}`)],
  ];
  expect(wanted.filter((name) => !seen.has(name))).toEqual([]);
});

function nameVerdict(verdict: Verdict): string {
  if (verdict.is === "refused") return `refused ${verdict.reason}`;
  if (verdict.is === "waits") return `waits ${verdict.for}`;
  return verdict.is === "mail" && verdict.isAfterGap ? "mail after a gap" : verdict.is;
}
