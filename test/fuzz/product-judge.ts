import { createHash } from "node:crypto";
import { V30_OMIT, V31_OMIT, canonicalBytes } from "../../src/wire/canonical.ts";
import { parseObject } from "../../src/wire/json/json.ts";
import { authenticate, type VerifiedMessage } from "../../src/admission/authenticate.ts";
import { contentRefusal } from "../../src/admission/content-rules.ts";
import { restoreLogAdmission } from "../../src/admission/log-admission.ts";
import { admit } from "../../src/admission/judge.ts";
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
  if (!authentic.ok) return { verdict: authentic.reason };
  const { message } = authentic;
  if (source.log === undefined) {
    return { verdict: contentRefusal(message, ctx)?.reason ?? "accepted", message };
  }
  const log = restoreLogAdmission(fresh, saved);
  if (log === undefined) throw new Error("the saved log is damaged");
  const verdict = admit(message, log, ctx, receivedAtMs);
  return { verdict: verdict.outcome === "refused" ? verdict.reason : verdict.outcome, message };
}

function canonicalDigests(line: Uint8Array): string[] {
  const parsed = parseObject(line);
  if (!parsed.ok) throw new Error(`once read, then not: ${parsed.detail}`);
  return [[], V30_OMIT, V31_OMIT].map((omit) =>
    createHash("sha256").update(canonicalBytes(parsed.value, omit)).digest("hex"),
  );
}
