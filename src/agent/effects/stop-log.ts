import type { TroubleView } from "../../api/troubles.ts";
import { declaredIncidents } from "../../protocol/incidents/incident-state.ts";
import type { Session } from "../session/session.ts";
import { sendingStops } from "../views/troubles.ts";

/** What the daemon's log has said of stops and escalations. */
export interface StopLog {
  /** Logs what has begun and what is over since the last look. */
  look(session: Session): void;
}

const NAMES: Partial<Record<TroubleView["what"], string>> = { safe_mode: "safe mode" };

/**
 * Names each stop of sending in the daemon's log, when it begins and when it ends, and each
 * escalation. It looks at what is, so whatever has caused it is seen. Spec 3.5, 4.1.
 */
export function makeStopLog(): StopLog {
  let stops: ReadonlyMap<string, TroubleView> = new Map();
  let escalated: ReadonlySet<string> = new Set();

  function lookAtStops(session: Session): void {
    const { log } = session.world;
    const now = new Map(sendingStops(session).map((stop) => [stop.detail, stop]));
    for (const [key, { what, detail, end, since }] of now) {
      if (stops.has(key)) continue;
      const facts = { ...(since === null ? {} : { since }), end };
      log.warn(facts, `${NAMES[what] ?? "a stop of sending"} begins: ${detail}`);
    }
    for (const [key, { what, detail }] of stops) {
      if (!now.has(key)) log.warn({ was: detail }, `${NAMES[what] ?? "a stop of sending"} ends`);
    }
    if (stops.size > 0 && now.size === 0) log.warn({}, "sending goes on");
    stops = now;
  }

  function lookAtEscalations({ world, memory }: Session): void {
    const now = new Set<string>();
    for (const { id, author, severity, escalations } of declaredIncidents(memory.state.incidents)) {
      for (const [of, escalation] of escalations) {
        now.add(escalation);
        if (escalated.has(escalation)) continue;
        const facts = { incident: id, escalation, from: author, of, severity };
        world.log.warn(facts, `an incident of ${author} is escalated: ${of} did not ack it`);
      }
    }
    escalated = now;
  }

  return {
    look(session) {
      lookAtEscalations(session);
      lookAtStops(session);
    },
  };
}
