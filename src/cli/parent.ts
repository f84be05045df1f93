import type { Client } from "../daemon/client-types.ts";
import type { ResolvedId } from "../daemon/view-types.ts";
import { DeaddropError } from "../daemon/errors.ts";
import { MAX_SUBJECT_CODE_POINTS } from "../wire/limits.ts";

/** The message that another one answers. */
export interface Parent extends ResolvedId {
  readonly subject: string;
}

const MIN_PREFIX_LENGTH = 6;

/**
 * The message named by event id, unique prefix of it, or correlation id (spec 4.4). Throws
 * DeaddropError `unknown_id` or `ambiguous_id`.
 */
export async function parentOf(client: Client, id: string): Promise<Parent> {
  const resolved = await resolve(client, id);
  const threads = await client.view("thread", { id: resolved.event_id });
  const message = threads
    .flatMap((thread) => thread.messages)
    .find((each) => each._meta.id === resolved.event_id);
  return { ...resolved, subject: message?.subject ?? "" };
}

async function resolve(client: Client, id: string): Promise<ResolvedId> {
  try {
    return await client.view("resolve_id", { id });
  } catch (error) {
    const short = id.length < MIN_PREFIX_LENGTH && /^[0-9a-f]+$/.test(id);
    if (!short || !(error instanceof DeaddropError) || error.code !== "unknown_id") throw error;
    throw new DeaddropError("unknown_id", error.message, {
      hint: `a part of an event id needs at least ${MIN_PREFIX_LENGTH} characters`,
    });
  }
}

/** Whom an answer goes to: the author; for our own message those whom it went to. */
export function answerTo(parent: Parent, client: Client): string[] {
  if (parent.from !== client.handle) return [parent.from];
  return parent.to.filter((handle) => handle !== client.handle);
}

/** "re: …" once, and within what a subject may have. */
export function answerSubject(word: string, parent: Parent): string {
  const bare = parent.subject.replace(/^(?:(?:re|ack|rejected): ?)+/i, "");
  return Array.from(`${word}: ${bare}`).slice(0, MAX_SUBJECT_CODE_POINTS).join("");
}
