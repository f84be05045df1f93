import type { ReadEvents } from "../documents/event-lines.ts";
import type { Protocol } from "../documents/protocol-file.ts";
import { publicState, walk, type CollabState, type Walked } from "../machine/derive.ts";
import type { RoundRules } from "../machine/round-rules.ts";

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
  /** By their names in the folder. */
  readonly documents: ReadonlyMap<string, RoundFile>;
  /** By their references. */
  readonly deliverables: ReadonlyMap<string, RoundFile>;
  /** Files of older rounds that are there. */
  readonly obsolete: readonly string[];
  /** What is wrong with the folder of the deliverables, or the repository that holds it. */
  readonly placeProblems: readonly string[];
}

export function rulesOf({ schema, participants, deliverables }: Protocol): RoundRules {
  return { schema, participants, primary: deliverables?.primary?.reference };
}

/** Where the events of a round lead, as far as they are allowed. */
export function walked({ protocol, events }: Pick<Round, "protocol" | "events">): Walked {
  return walk(rulesOf(protocol), events.events);
}

/** The derived state; undefined when an event is not allowed, or there is none. */
export function stateOf(round: Pick<Round, "protocol" | "events">): CollabState | undefined {
  const { ok, state } = walked(round);
  return ok && state.seq > 0 && round.events.isWhole ? publicState(state) : undefined;
}

/** The text of a document; "" when it is not there. */
export function textOf(file: RoundFile | undefined): string {
  return file?.ok === true ? file.text : "";
}
