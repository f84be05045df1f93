import type { Place } from "../../wire/places.ts";
import type { History, HistoryLine, LooseLine } from "../asks/history.ts";
import { looseAnswer } from "../asks/obligation.ts";
import { addresses, escalationsOf } from "./incident-line.ts";

const ONE = { from: "first", limit: 1 } as const;

/** What became of an incident. Spec 3.5. */
export interface IncidentStanding {
  /** `escalated` and `open` ones are owed an ack. */
  readonly status: "open" | "acked" | "escalated" | "resolved";
  readonly addressees: readonly {
    readonly handle: string;
    readonly ack: Place | undefined;
    readonly isEscalated: boolean;
  }[];
}

/** @param members the roster in force: of the addressees only these are asked */
export function incidentStanding(
  history: History,
  incident: HistoryLine,
  members: Iterable<string>,
): IncidentStanding {
  const { place } = incident;
  const escalated = escalationsOf(history, place).map(({ of }) => of);
  const addressees = [...members]
    .filter((handle) => addresses(incident, handle))
    .map((handle) => ({
      handle,
      ack: ackOf(history, incident, handle),
      isEscalated: escalated.includes(handle),
    }));
  const isResolved = history.namers(place.author, "resolves", place, ONE).length > 0;
  if (isResolved) return { status: "resolved", addressees };
  const isAcked = addressees.length > 0 && addressees.every(({ ack }) => ack !== undefined);
  if (isAcked) return { status: "acked", addressees };
  return { status: escalated.length > 0 ? "escalated" : "open", addressees };
}

function ackOf(history: History, incident: HistoryLine, handle: string): Place | undefined {
  const { place, thread } = incident;
  const [ack] = history.namers(handle, "about", place, ONE);
  if (ack !== undefined) return ack.place;
  return history.looseReplies(handle, thread).find((reply) => isLooseAck(history, reply, place))
    ?.place;
}

/** An ack in no chain that names nothing came later. */
function isLooseAck(history: History, reply: LooseLine, asked: Place): boolean {
  const answer = reply.type === "ack" ? looseAnswer(reply, asked) : undefined;
  if (answer !== "bare") return answer === "by_name";
  return (history.receipt(reply.place)?.atMs ?? 0) >= (history.receipt(asked)?.atMs ?? Infinity);
}
