import type { TroubleView } from "../../api/troubles.ts";
import type { ObligationView, StatusView } from "../../api/views.ts";

/** Enough of an id to name a message by. */
const SHOWN_ID = 12;

/**
 * One sensible command, the most urgent first: start the daemon, end what stops sending, look at a
 * held peer, read, answer. It never agrees to anything, and nothing is answered unread. Spec 8.6.
 *
 * @param stops what stops lines of ours, see `sendingStops`
 */
export function nextCommand(view: Omit<StatusView, "next">, stops: readonly TroubleView[]): string {
  if (!view.daemon.running) return "deaddrop service install";
  const [stop] = stops;
  // Where no command ends it, the one that says what a person has to do.
  if (stop !== undefined) return isCommand(stop.end) ? stop.end : "deaddrop status --check";
  if (view.parked !== undefined && view.parked !== null) return "deaddrop wake";
  const held = view.peers.find((peer) => peer.held);
  if (held !== undefined) return `deaddrop peer show ${held.handle}`;
  if (view.unread > 0) return "deaddrop inbox --unread --mark-read";
  if (view.notices > 0) return "deaddrop notices --unread --mark-read";
  const incident = view.owed_by_me.find(({ type }) => type === "incident");
  const [owed] = incident === undefined ? view.owed_by_me : [incident];
  if (owed !== undefined) return answerTo(owed);
  const stranger = view.peers.find(({ trust_tier }) => trust_tier === "UNTRUSTED");
  if (stranger !== undefined) return `deaddrop trust sas ${stranger.handle}`;
  return "deaddrop inbox --follow";
}

function isCommand(end: string): boolean {
  return end.startsWith("deaddrop ");
}

/** What wants a yes or a no is read once more; which answer it gets is the agent's to decide. */
function answerTo({ type, event_id, request_id }: ObligationView): string {
  const id = event_id.slice(0, SHOWN_ID);
  if (request_id !== null) {
    return `deaddrop thread ${id}, then deaddrop respond ${id} with --approve or --reject`;
  }
  switch (type) {
    case "incident":
      return `deaddrop incident ack ${id}`;
    case "proposal":
      return `deaddrop thread ${id}, then accept, reject or counter it: deaddrop help accept`;
    case "request":
      return `deaddrop reply ${id}`;
    default:
      return `deaddrop ack ${id}`;
  }
}
