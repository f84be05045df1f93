import { bodyBytes } from "../../wire/compose.ts";
import type { AdmissionContext } from "../context.ts";
import type { AdmittedMessage } from "../admitted-message.ts";
import { tierOf } from "../../trust/store.ts";
import { acceptsType } from "../../trust/tiers.ts";

/** An authentic line, and what we take of its author. */
export interface Statement {
  readonly message: AdmittedMessage;
  readonly ctx: AdmissionContext;
}

/** Spec 2.3: a tier decides which types are taken. */
export function tierRefusal({ message: { from, type }, ctx }: Statement): string | undefined {
  const tier = tierOf(ctx.store, from);
  if (acceptsType(tier, type)) return undefined;
  const blocked = ctx.store.peers.get(from)?.blocked ?? false;
  return `${from} is ${blocked ? "blocked" : (tier ?? "of no known tier")}: ${type} is not taken`;
}

export function longBody({ message, ctx }: Statement): string | undefined {
  const maxBytes = ctx.limits.maxMessageBodyKb * 1_024;
  // The body is part of the canonical bytes, so most lines need not be measured.
  if (message.canonical.length <= maxBytes) return undefined;
  if (tierOf(ctx.store, message.from) === "TRUSTED") return undefined;
  const bytes = bodyBytes(message.body);
  return bytes > maxBytes ? `body has ${bytes} bytes; at most ${maxBytes} are taken` : undefined;
}

export function manyRefs({ message: { refs }, ctx }: Statement): string | undefined {
  const { maxRefs } = ctx.limits;
  if (refs.length <= maxRefs) return undefined;
  return `refs has ${refs.length} entries; at most ${maxRefs} are taken`;
}
