import { makeLayout } from "../../src/wire/layout.ts";
import { authenticate } from "../../src/admission/authenticate.ts";
import type { AdmissionContext } from "../../src/admission/context.ts";
import type { AdmittedMessage, VerifiedMessage } from "../../src/admission/admitted-message.ts";
import type { Verdict } from "../../src/admission/judge.ts";
import { newLogAdmission, type LogAdmission } from "../../src/admission/log-admission.ts";
import { judge as judgeLine } from "../../src/admission/judge.ts";
import type { NotedReason } from "../../src/admission/checks.ts";
import { context, lineOf, NOON_MS, type Fields } from "../trust/people.ts";

/** Where alice speaks to bob; carol is on the wire, too. */
const layout = makeLayout("pairwise", ["alice", "bob", "carol"]);
export const LOG = "alice_to_bob";

/** A log that has shown nothing yet. */
export function freshLog(name = LOG): LogAdmission {
  const log = layout.logs.get(name);
  if (log === undefined) throw new Error(`no log ${name}`);
  return newLogAdmission(log, layout, 1);
}

/** An authentic line of alice's; throws when it is none. */
export function verified(
  line: Uint8Array | Fields,
  ctx: AdmissionContext = context(),
  log = LOG,
): VerifiedMessage {
  const bytes = line instanceof Uint8Array ? line : lineOf(line);
  const result = authenticate(bytes, { owner: "alice", log }, ctx);
  if (!result.ok) throw new Error(`${result.reason}: ${result.detail}`);
  return result.message;
}

/** Who judges a line here, and what the journal noted of it. */
export type Reader =
  | { readonly mode: "live" }
  | { readonly mode: "recall"; readonly noted: NotedReason }
  | { readonly mode: "audit"; readonly noted?: NotedReason };

/** The verdict on a message that was let in, by one reader or another. */
export function admit(
  message: AdmittedMessage,
  log: LogAdmission,
  ctx: AdmissionContext,
  receivedAtMs: number,
  reader: Reader = { mode: "live" },
): Verdict {
  const line = { ok: true, message } as const;
  if (reader.mode !== "audit") return judgeLine(line, log, ctx, { ...reader, receivedAtMs });
  const fits = { isOf: () => true, fits: () => true };
  const noted = reader.noted && { ...reader.noted, authentic: true, ...fits };
  return judgeLine(line, log, ctx, { mode: "audit", receivedAtMs, noted });
}

/** Admits an authentic line to a log. */
export function judge(
  line: Uint8Array | Fields,
  log: LogAdmission,
  ctx: AdmissionContext = context(),
  atMs = NOON_MS,
): Verdict {
  return admit(verified(line, ctx, log.name), log, ctx, atMs);
}

/** The reason of a refusal, else the outcome. */
export function short(verdict: Verdict): string {
  return verdict.outcome === "refused" ? verdict.reason : verdict.outcome;
}
