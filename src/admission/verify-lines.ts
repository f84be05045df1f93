import { DEFAULT_LIMITS } from "../wire/limits.ts";
import { authenticate, type AdmissionContext, type RefusalReason } from "./authenticate.ts";
import { DEFAULT_SIGNING } from "../trust/policy/config.ts";
import { contentRefusal } from "./content-rules.ts";
import { parseTrustFile } from "../trust/trust-file.ts";

/** What `deaddrop verify --trust FILE` prints for a line. Spec 4.4. */
export type LineVerdict =
  | { readonly ok: true; readonly from: string; readonly version: "v3.1" | "v3.0" | "v2.0" }
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

/** Admission of one line without its newline; checks that need a file, a clock or history are skipped. */
export function verifyLine(line: Uint8Array, ctx: AdmissionContext): LineVerdict {
  const authentic = authenticate(line, { owner: undefined, log: undefined }, ctx);
  if (!authentic.ok) return authentic;
  const { message } = authentic;
  const refusal = contentRefusal(message, ctx);
  if (refusal !== undefined) return { ok: false, reason: refusal.reason, detail: refusal.detail };
  return { ok: true, from: message.from, version: message.version };
}
