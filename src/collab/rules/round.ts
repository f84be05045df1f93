import type { ReadEvents } from "../documents/event-lines.ts";
import type { Protocol } from "../documents/protocol-file.ts";
import type { RoundRules } from "../machine/event.ts";
import { publicState, type CollabState, type Replayed } from "../machine/machine.ts";

/** A document of a round as it is in the folder now. */
export type RoundFile =
  | { readonly ok: true; readonly text: string; readonly sha256: string }
  /** It is missing, or cannot be read; in words that follow its name. */
  | { readonly ok: false; readonly problem: string };

/** All that a verdict on a round looks at: what is in its folder, read once. Spec 6. */
export interface Round {
  readonly protocol: Protocol;
  /** What is wrong with `protocol.json`. */
  readonly protocolProblems: readonly string[];
  readonly events: ReadEvents;
  readonly rules: RoundRules;
  /** Where the events lead, as far as they are allowed. */
  readonly replayed: Replayed;
  /** By their names in the folder. */
  readonly documents: ReadonlyMap<string, RoundFile>;
  /** By their references. */
  readonly deliverables: ReadonlyMap<string, RoundFile>;
  /** Files of older rounds that are there. */
  readonly obsolete: readonly string[];
  /** What is wrong with the folder of the deliverables, or the repository that holds it. */
  readonly placeProblems: readonly string[];
}

/** The derived state; undefined when an event is not allowed, or there is none. */
export function stateOf({ replayed: { ok, state }, events }: Round): CollabState | undefined {
  return ok && state.seq > 0 && events.isWhole ? publicState(state) : undefined;
}

/** Why nothing is appended: the log cannot be understood to its end. */
export function brokenLog({ events, protocolProblems, replayed }: Round): string[] {
  const refused = replayed.ok
    ? []
    : [`events.jsonl seq ${replayed.seq}: ${replayed.reasons.join("; ")}`];
  const found = [...protocolProblems, ...events.problems, ...refused];
  if (found.length > 0 || events.events.length > 0) return found;
  return ["events.jsonl has no event yet: initialized is missing"];
}

/** The text of a document; "" when it is not there. */
export function documentText({ documents }: Round, name: string): string {
  const file = documents.get(name);
  return file?.ok === true ? file.text : "";
}
