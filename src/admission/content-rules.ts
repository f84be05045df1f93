import { bodyBytes } from "../wire/compose.ts";
import type { AdmissionContext, VerifiedMessage } from "./authenticate.ts";
import { tierOf } from "../trust/store.ts";
import { acceptsType } from "../trust/tiers.ts";

/** The reasons of this file, in the order in which they are asked. */
export const CONTENT_REASONS = ["tier_refused", "body_too_large", "too_many_refs"] as const;

/** Why what an authentic line says is not taken. */
export interface ContentRefusal {
  readonly reason: (typeof CONTENT_REASONS)[number];
  readonly detail: string;
}

/** The checks that need the sender's tier alone: these `deaddrop verify` runs too. Spec 2.3, 2.4. */
export function contentRefusal(
  message: VerifiedMessage,
  ctx: AdmissionContext,
): ContentRefusal | undefined {
  const tier = tierOf(ctx.store, message.from);
  if (!acceptsType(tier, message.type)) {
    const blocked = ctx.store.peers.get(message.from)?.blocked ?? false;
    const standing = blocked ? "blocked" : (tier ?? "of no known tier");
    const detail = `${message.from} is ${standing}: ${message.type} is not taken`;
    return { reason: "tier_refused", detail };
  }
  const maxBytes = ctx.limits.maxMessageBodyKb * 1_024;
  // The body is part of the canonical bytes, so most lines need not be measured.
  if (tier !== "TRUSTED" && message.canonical.length > maxBytes) {
    const bytes = bodyBytes(message.body);
    if (bytes > maxBytes) {
      const detail = `body has ${bytes} bytes; at most ${maxBytes} are taken`;
      return { reason: "body_too_large", detail };
    }
  }
  if (message.refs.length > ctx.limits.maxRefs) {
    const detail = `refs has ${message.refs.length} entries; at most ${ctx.limits.maxRefs} are taken`;
    return { reason: "too_many_refs", detail };
  }
  return undefined;
}
