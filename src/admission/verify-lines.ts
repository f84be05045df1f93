import { DEFAULT_LIMITS } from "../wire/limits.ts";
import { authenticate } from "./authenticate.ts";
import type { AdmissionContext } from "./context.ts";
import type { RefusalReason } from "./checks.ts";
import { DEFAULT_SIGNING } from "../trust/policy/config.ts";
import type { VerifiedMessage } from "./admitted-message.ts";
import { judge } from "./judge.ts";
import { VERIFY } from "./reading.ts";
import { parseTrustFile } from "../trust/trust-file.ts";

/** What `deaddrop verify --trust FILE` prints for a line. Spec 4.4. */
export type LineVerdict =
  | { readonly ok: true; readonly from: string; readonly version: "v3.1" | "v3.0" | "v2.0" }
  | { readonly ok: false; readonly reason: RefusalReason; readonly detail: string };

export type AdmittedLine =
  | { readonly ok: true; readonly message: VerifiedMessage }
  | { readonly ok: false; readonly reason: RefusalReason; readonly detail: string };

export type VerifyContext =
  | {
      readonly ok: true;
      readonly ctx: AdmissionContext;
      /** What of the file was left out, a line for a person each. */
      readonly problems: readonly string[];
    }
  | { readonly ok: false; readonly detail: string };

/**
 * The context for `verifyLine` from a trust file of either version, with the default policy:
 * signatures are enforced. The operator named the file, so agents of a v3.0 file, which knows no
 * tiers, count as ATTESTED.
 */
export function verifyContext(trustFile: Uint8Array, file: string): VerifyContext {
  const parsed = parseTrustFile(trustFile, file, "ATTESTED");
  if (!parsed.ok) return parsed;
  const { peers, version, problems } = parsed.document;
  const ctx: AdmissionContext = {
    wireId: undefined,
    signing: DEFAULT_SIGNING,
    limits: DEFAULT_LIMITS,
    store: { version: version ?? 0, peers },
    self: "",
  };
  return { ok: true, ctx, problems };
}

export function verifyLine(line: Uint8Array | undefined, ctx: AdmissionContext): LineVerdict {
  const admitted = admitLine(line, ctx);
  if (!admitted.ok) return admitted;
  const { from, version } = admitted.message;
  return { ok: true, from, version };
}

/**
 * Admission of one line without its newline; checks that need a file, a clock or history are skipped.
 *
 * @param line undefined for one that was not kept: it is too long
 */
export function admitLine(line: Uint8Array | undefined, ctx: AdmissionContext): AdmittedLine {
  const authentic = authenticate(line, { owner: undefined, log: undefined }, ctx);
  const verdict = judge(authentic, undefined, ctx, VERIFY);
  if (verdict.outcome === "refused") {
    return { ok: false, reason: verdict.reason, detail: verdict.detail };
  }
  if (!authentic.ok) throw new Error("a line that is not authentic was let in");
  return { ok: true, message: authentic.message };
}
