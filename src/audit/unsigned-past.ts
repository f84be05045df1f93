import { everSignedBy } from "../admission/authenticate.ts";
import type { AdmissionContext } from "../admission/context.ts";
import { mustSignByPin } from "../admission/unsigned-lines.ts";
import { mayBeUnsigned } from "../trust/policy/config.ts";
import type { AuditSource } from "./source.ts";

/**
 * The first line of a source that each author has signed, counted from 1. Spec 1.5: what comes before
 * it may be unsigned. The source is read a first time only where policy lets such an author do so.
 */
export function firstSigned(
  source: AuditSource,
  ctx: AdmissionContext,
): ReadonlyMap<string, number> {
  const first = new Map<string, number>();
  const owner = source.log?.owner;
  const matters = [...ctx.store.peers.keys()].filter(
    (handle) =>
      (owner ?? handle) === handle &&
      mayBeUnsigned(ctx.signing, handle) &&
      mustSignByPin(ctx.store, handle),
  );
  if (matters.length === 0) return first;
  const place = { owner, log: source.log?.name };
  let line = 0;
  for (const { bytes, blank } of source.lines()) {
    line += 1;
    if (bytes === undefined || blank) continue;
    const author = everSignedBy(bytes, place, ctx);
    if (author === undefined || first.has(author)) continue;
    first.set(author, line);
    if (matters.every((handle) => first.has(handle))) break;
  }
  return first;
}
