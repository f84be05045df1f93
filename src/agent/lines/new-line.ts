import { field } from "../../protocol/body.ts";
import type { ChainedLine, LooseLine } from "../../protocol/admit/read-line.ts";
import type { NewLine } from "../../store/store.ts";
import { canonicalText } from "../../wire/canonical.ts";
import type { JsonValue } from "../../wire/json/json.ts";
import { placesNamed } from "../../wire/places.ts";

/** What the store is given of a line, but for when it was received. Beats are not searched. */
export function newLine(
  line: ChainedLine | LooseLine,
  { isOurs, isVerified }: { readonly isOurs: boolean; readonly isVerified: boolean },
): Omit<NewLine, "receivedMs" | "isLive"> {
  const { author, seq, id, thread, type, sentMs, bytes, subject, body } = line;
  return {
    ...{ author, seq, id, thread, type, sentMs, bytes, isOurs },
    keyId: line.signed?.keyId ?? null,
    isVerified,
    isUrgent: line.priority === "high" || type === "incident",
    prev: line.seq === null ? null : line.prev,
    names: line.seq === null ? [] : placesNamed(body),
    ...(type === "heartbeat" ? {} : { words: { subject, body: wordsOf(body) } }),
  };
}

function wordsOf(body: JsonValue): string {
  if (typeof body === "string") return body;
  const text = field(body, "text");
  return typeof text === "string" ? text : canonicalText(body);
}
