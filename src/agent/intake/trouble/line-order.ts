import { Buffer } from "node:buffer";
import { join } from "node:path";
import { lookOf, openUnlessObstructed, type DiskFile } from "../../../storage/disk/disk.ts";
import { wholeLines } from "../../../storage/disk/line-splitter.ts";
import { authenticate } from "../../../admission/authenticate.ts";
import type { ChainRange } from "../../../wire/chain.ts";
import type { Message } from "../../../wire/message.ts";
import { pastContextOf } from "../../session/environment.ts";
import type { LogIntake, ChainClaims } from "../../state/agent-state.ts";
import type { Session } from "../../session/session.ts";
import { SEARCH_BYTES, SHARE_OF_TIME } from "./search-bounds.ts";

/** Signatures that are checked for one answer: any program can write lines that claim a place. */
const MAX_CHECKED = 64;
/** Claims that are remembered, of a file and of one line: forged lines may hold any number. */
const MAX_CLAIMS = 131_072;
const MAX_CLAIMS_A_LINE = 8;
const SEQ = /"seq"\s*:\s*(\d{1,15})/g;

/**
 * Whether lines of the chain between these numbers are in the log behind an offset: then a sync
 * program is writing it, and there is no gap. Spec 1.6. When it is too early for another search the
 * answer is yes: the line is read again in a second.
 */
export function hasLinesBehind(
  session: Pick<Session, "world" | "place" | "ctx">,
  intake: LogIntake,
  offset: number,
  range: ChainRange,
): boolean {
  const { world, place, ctx } = session;
  const path = join(place.wire.folder, intake.log.path);
  const file = openUnlessObstructed(world.disk, path);
  if (file === undefined || file === "obstructed") return false;
  try {
    const claims = claimsOf(session, intake, file, { look: lookOf(world.disk, path), offset });
    if (claims === undefined) return true;
    const source = { owner: intake.log.owner, log: intake.log.name };
    const candidates = claims.lines.filter(
      ({ seq, start }) => start >= offset && range.from <= seq && seq <= range.to,
    );
    return candidates.slice(0, MAX_CHECKED).some(({ seq, start, end }) => {
      const found = authenticate(file.read(end - start - 1, start), source, pastContextOf(ctx));
      return found.ok && found.message.seq === seq && !intake.admission.seen.has(found.message);
    });
  } finally {
    file.close();
  }
}

/**
 * Whether a line comes before one that our journal knows and that the log has lacked. Lines come
 * back in the order in which we took them in, and new ones follow them; otherwise the whole log has
 * to be compared. Spec 1.6.
 *
 * @param returned those that are back and not yet noted
 */
export function isOutOfTurn(
  message: Pick<Message, "id" | "seq">,
  { awaited, admission }: LogIntake,
  returned: ReadonlySet<string>,
): boolean {
  if (awaited.size === returned.size || returned.has(message.id)) return false;
  if (admission.seen.has(message)) return false;
  for (const next of awaited.keys()) if (!returned.has(next)) return next !== message.id;
  return false;
}

/** Undefined while it is too early to look through the log again. */
function claimsOf(
  { world }: Pick<Session, "world">,
  intake: LogIntake,
  file: DiskFile,
  at: { readonly look: string; readonly offset: number },
): ChainClaims | undefined {
  const { claims } = intake.order;
  if (claims?.look === at.look && claims.from <= at.offset) return claims;
  const beganMs = world.clock.monoMs();
  if (claims !== undefined && beganMs < claims.againMs) return undefined;
  const lines: { seq: number; start: number; end: number }[] = [];
  const to = Math.min(file.stat().size, at.offset + SEARCH_BYTES);
  for (const { bytes, start, end } of wholeLines(file, at.offset, to)) {
    if (bytes === undefined) continue;
    if (lines.length >= MAX_CLAIMS) break;
    const { buffer, byteOffset, length } = bytes;
    const text = Buffer.from(buffer, byteOffset, length).toString("latin1");
    // A body may hold a field of that name, too.
    const claimed = text.matchAll(SEQ);
    for (let at = 0; at < MAX_CLAIMS_A_LINE; at += 1) {
      const { value } = claimed.next();
      if (value === undefined) break;
      lines.push({ seq: Number(value[1]), start, end });
    }
  }
  const tookMs = world.clock.monoMs() - beganMs;
  const againMs = beganMs + tookMs / SHARE_OF_TIME;
  intake.order.claims = { look: at.look, from: at.offset, lines, againMs };
  return intake.order.claims;
}
