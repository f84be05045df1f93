import { makeLayout } from "../../src/wire/layout.ts";
import {
  authenticate,
  type AdmissionContext,
  type VerifiedMessage,
} from "../../src/admission/authenticate.ts";
import {
  newLogAdmission,
  type LogAdmission,
  type Verdict,
} from "../../src/admission/log-admission.ts";
import { admit } from "../../src/admission/judge.ts";
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
