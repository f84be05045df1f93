import { createHash } from "node:crypto";
import { V30_OMIT, V31_OMIT, canonicalBytes } from "../../src/wire/canonical.ts";
import { parseObject } from "../../src/wire/json/json.ts";
import { authenticate } from "../../src/admission/authenticate.ts";
import type { VerifiedMessage } from "../../src/admission/admitted-message.ts";
import { restoreLogAdmission } from "../../src/admission/log-admission.ts";
import { judge } from "../../src/admission/judge.ts";
import { VERIFY, type Reading } from "../../src/admission/reading.ts";
import type { Situation } from "./situations.ts";
import { sayingOf, type Judgement } from "./slow-admission.ts";

/** A line through everything that stands between a peer's log and our inbox, and its forms. */
export function productJudge(line: Uint8Array, situation: Situation): Judgement {
  const judged = admission(line, situation);
  const unread = judged.verdict === "oversized" || judged.verdict === "malformed";
  const { message } = judged;
  return {
    verdict: judged.verdict,
    canonical: unread ? [] : canonicalDigests(line),
    said:
      message === undefined
        ? ""
        : sayingOf({
            ...message,
            timestampMicros: BigInt(Math.round(message.timestampMs * 1_000)),
          }),
  };
}

/** The part of it that a peer's line costs us. */
export function admission(
  line: Uint8Array,
  { source, ctx, receivedAtMs, fresh, saved }: Situation,
): { readonly verdict: string; readonly message?: VerifiedMessage } {
  const authentic = authenticate(line, source, ctx);
  const log = source.log === undefined ? undefined : restoreLogAdmission(fresh, saved);
  if (source.log !== undefined && log === undefined) throw new Error("the saved log is damaged");
  const reading: Reading = log === undefined ? VERIFY : { mode: "live", receivedAtMs };
  const verdict = judge(authentic, log, ctx, reading);
  return {
    verdict: verdict.outcome === "refused" ? verdict.reason : verdict.outcome,
    ...(authentic.ok ? { message: authentic.message } : {}),
  };
}

function canonicalDigests(line: Uint8Array): string[] {
  const parsed = parseObject(line);
  if (!parsed.ok) throw new Error(`once read, then not: ${parsed.detail}`);
  return [[], V30_OMIT, V31_OMIT].map((omit) =>
    createHash("sha256").update(canonicalBytes(parsed.value, omit)).digest("hex"),
  );
}
