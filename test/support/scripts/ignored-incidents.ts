import type {
  Breach,
  Incident,
  IncidentsState,
} from "../../../src/protocol/incidents/incident-state.ts";
import { NOON } from "./wire-script.ts";

/** Sets breaches together with their incidents, which nobody has acked or resolved. */
export function setBreaches(state: IncidentsState, breaches: readonly Breach[]): void {
  state.breaches = [...breaches];
  for (const { log, incident: id, author, of, line } of breaches) {
    const incident: Incident = {
      ...{ id, log, line, author, at: NOON, live: true, timestamp: new Date(NOON).toISOString() },
      ...{ severity: "high", subject: "main is broken", correlationId: "t", to: [of] },
      ...{ acks: new Map(), shown: new Map(), escalations: new Map() },
      ...{ first: undefined, resolvedBy: new Set() },
    };
    state.declared.set(log, new Map(state.declared.get(log)).set(id, incident));
  }
}
