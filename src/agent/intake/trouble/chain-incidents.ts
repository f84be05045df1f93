import type { AutomaticIncident } from "../../../protocol/effects.ts";
import { hourlyKey, refusalKey } from "../../../protocol/notices.ts";
import type { ChainEvent } from "../../../admission/log-admission.ts";
import type { Log } from "../../../wire/layout.ts";
import { provesSomething, type JudgedLine } from "../judged-line.ts";
import type { LogIntake } from "../../state/agent-state.ts";
import type { Session } from "../../session/session.ts";

/** Spec 2.4: an authentic line that is refused is told, once per peer, reason and hour. */
export function incidentsOf(
  { log }: LogIntake,
  line: JudgedLine,
  evidence: string | false,
): AutomaticIncident[] {
  if (line.events.length > 0) {
    return line.events.map((event) => chainIncident(log, event, evidence || ""));
  }
  if (!line.live || line.reason === undefined || !provesSomething(line)) return [];
  const peer = log.owner;
  return [
    {
      key: refusalKey(peer, line.reason, line.at),
      cause: line.reason,
      peer,
      subject: `a line of ${peer} was refused: ${line.reason}`,
      detail: `${log.name} line ${line.tail.line}: ${line.detail}${afterRefusal(line.reason, peer)}`,
      concernsWire: false,
    },
  ];
}

/** What the operator can do about a line that is not delivered any more. */
function afterRefusal(reason: string, peer: string): string {
  if (reason !== "clock_skew") return "";
  return `; it is not delivered: have ${peer}'s operator set the clock, and ${peer} send it again. While such a line waits, deaddrop peer reset ${peer} delivers it`;
}

/** Spec 1.6: what a chain has shown, to our operator and for the wire; once. */
export function chainIncident(
  log: Log,
  { cause, detail: what }: ChainEvent,
  evidence: string,
): AutomaticIncident {
  const subject = `${cause} in ${log.name}`;
  const isHold = cause !== "log_gap";
  const hold = isHold
    ? `; nothing more of ${log.owner} is taken until you decide: deaddrop peer show ${log.owner}`
    : "";
  const detail = `${what}${hold}${evidence === "" ? "" : `; ${evidence}`}`;
  return { key: `${cause}:${what}`, cause, peer: log.owner, subject, detail, concernsWire: true };
}

/** Something else is in the place of a log, a peer's or ours. Told once an hour. */
export function unreadableIncident(
  { world }: Pick<Session, "world">,
  log: string,
  detail: string,
): AutomaticIncident {
  return {
    key: hourlyKey(`log_unreadable:${log}`, world.clock.wallMs()),
    cause: "log_unreadable",
    subject: `${log} cannot be read`,
    detail,
    concernsWire: false,
  };
}
