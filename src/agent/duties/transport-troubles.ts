import { createHash } from "node:crypto";
import type { Transport, TransportTrouble } from "../../carriers/carrier.ts";
import type { StoreWriter } from "../../store/store.ts";
import type { OperatorIncident } from "../../store/told.ts";
import type { Duty, Ground } from "./duty.ts";

/** Tells our operator what was found in a place of the wire and is not taken. Spec 5.2. */
export class TransportTroubles implements Duty {
  readonly #ground: Ground;
  readonly #transports: () => readonly Transport[];

  constructor(ground: Ground, transports: () => readonly Transport[]) {
    this.#ground = ground;
    this.#transports = transports;
  }

  decide(into: StoreWriter): boolean {
    for (const transport of this.#transports())
      for (const trouble of transport.health().troubles)
        this.#ground.tell(into, incidentOf(transport.kind, trouble));
    return false;
  }
}

const PLACES = { git: "the remote", folder: "the wire's folder" };

function incidentOf(kind: Transport["kind"], trouble: TransportTrouble): OperatorIncident {
  const { cause, where, detail } = trouble;
  const place = PLACES[kind];
  const subjects = {
    wire_tampered: `${place} holds what does not belong there`,
    history_rewritten: `the history of ${place} was rewritten`,
    foreign_wire: `${place} is another wire`,
  };
  const matter = createHash("sha256").update(`${where}\n${detail}`).digest("hex").slice(0, 16);
  return { key: `${cause}:${matter}`, cause, subject: `${subjects[cause]}: ${where}`, detail };
}
