import type { IncidentView } from "../../../api/views.ts";
import { prepareIncident } from "../../../sending/incident.ts";
import { choice, object, text, texts } from "../schema.ts";
import { REQUEST_KEY, say, type Repeatable } from "../say.ts";
import { tool } from "../tool.ts";

interface RaiseArgs extends Repeatable {
  severity: IncidentView["severity"];
  subject: string;
  details?: string;
  to?: string[];
}

/** Trouble that peers must acknowledge. Spec 8.1, 3.5. */
export const INCIDENT_TOOLS = [
  tool<RaiseArgs>({
    name: "raise_incident",
    description:
      "Tells peers of serious trouble: each has to acknowledge it within a heartbeat of reading it; high and critical stop the wire (safe mode) when a peer has read one and ten minutes later has not acknowledged it, until it does or you resolve it. For a remark use send_message.",
    input: object(
      {
        severity: choice(["low", "medium", "high", "critical"]),
        subject: text(),
        details: text(),
        to: texts(),
        ...REQUEST_KEY,
      },
      "severity",
      "subject",
    ),
    effect: "binds",
    answersFacts: true,
    run: (call, args) => {
      const { severity, subject, details: body = "", to } = args;
      const about = { severity, subject, body, to, extras: {} };
      return say(call, args, () => prepareIncident(call.client, about));
    },
  }),
];
