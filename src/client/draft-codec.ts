import { canonicalText } from "../wire/canonical.ts";
import type { Draft } from "../wire/compose.ts";

/** A draft as it crosses the socket: its body as JSON text, which keeps every number's spelling. */
export interface PackedDraft extends Omit<Draft, "body"> {
  readonly body: string;
}

/** What `parseDrafts` reads; apart from it, so that a command loads no more than it needs. */
export function packDrafts(drafts: readonly Draft[]): { drafts: PackedDraft[] } {
  return { drafts: drafts.map((draft) => ({ ...draft, body: canonicalText(draft.body) })) };
}
