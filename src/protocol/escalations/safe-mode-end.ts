/** Why a daemon is in safe mode, as `deaddrop status` prints it. */
export interface SafeMode {
  active: boolean;
  /** The second beat's own date. */
  since: string;
  /** Who raised the incident, and can end safe mode for all. */
  author: string;
  incident_id: string;
  escalation_id: string;
  /** The addressee that did not ack. */
  of: string;
}

/**
 * Who reads it. Only an operator is given the operator's command: an agent is told that its operator
 * has one. Spec 3.5.
 */
export type Reader = "agent" | "operator";

/** Ends safe mode for all on the side of the incident's author, elsewhere for one agent alone. */
export const RESUME_COMMAND = 'deaddrop incident resume --reason "why it is safe to go on"';

/** Enough of an id for a command. */
export const SHOWN_ID = 10;

type Ends = Pick<SafeMode, "author" | "of" | "incident_id">;

/** Who can end safe mode, and how: what every screen, notice and refusal says. Spec 3.5. */
export function safeModeEnd(mode: Ends, self: string, reader: Reader): string {
  const { author, of } = mode;
  const id = mode.incident_id.slice(0, SHOWN_ID);
  const isAgent = reader === "agent";
  const who = (handle: string, verb: string): string =>
    handle === self && isAgent ? `you ${verb}` : `${handle} ${verb}s`;
  const how = (handle: string, command: string): string => (handle === self ? ` (${command})` : "");
  const acks = `${who(of, "acknowledge")} incident ${id}${how(of, `deaddrop incident ack ${id}`)}`;
  const resolves = `${who(author, "resolve")} it${how(author, `deaddrop incident resolve ${id}`)}`;
  const alone = author === self ? "" : `, for ${self} alone,`;
  const resumes = isAgent
    ? "your operator resumes sending"
    : `the operator of ${self} runs: ${RESUME_COMMAND}`;
  return `it ends when ${acks}, when ${resolves}, or${alone} when ${resumes}`;
}

/** The command with which our own agent ends it for all; undefined when that is up to others. */
export function ownSafeModeEnd(mode: Ends, self: string): string | undefined {
  const id = mode.incident_id.slice(0, SHOWN_ID);
  if (mode.of === self) return `deaddrop incident ack ${id}`;
  return mode.author === self ? `deaddrop incident resolve ${id}` : undefined;
}

/** For the sign in the wire's folder, which people read who may be anybody's operators. */
export function safeModeSignText(mode: Ends & Pick<SafeMode, "since">): string {
  const { author, of, incident_id, since } = mode;
  const id = incident_id.slice(0, SHOWN_ID);
  return [
    `safe mode since ${since}: ${of} did not ack incident ${id} of ${author}, so most messages are not sent.`,
    "Any one of these ends it:",
    `  ${of}: deaddrop incident ack ${id}`,
    `  ${author}: deaddrop incident resolve ${id}`,
    `  the operator of ${author}, for all; any other operator, for their agent alone: ${RESUME_COMMAND}`,
    "",
  ].join("\n");
}
