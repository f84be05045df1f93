import type { Client } from "../api/client.ts";
import type { IncidentView } from "../api/views.ts";
import type { JsonValue } from "../wire/json/json-value.ts";
import { ownSafeModeEnd, safeModeEnd } from "../protocol/escalations/safe-mode-end.ts";
import { answerSubject, answerTo, incidentNamed, type Parent } from "./naming/parent.ts";
import { peersOf, recipients } from "./naming/recipients.ts";
import type { Extras, Prepared } from "./prepared.ts";

export interface Incident {
  readonly severity: IncidentView["severity"];
  readonly subject: string;
  /** What there is to know; "" for nothing. */
  readonly body: JsonValue;
  /** Who has to acknowledge it: all peers unless given. */
  readonly to?: readonly string[] | undefined;
  readonly extras: Extras;
}

/** Tells peers of trouble, and asks each for an ack within a heartbeat of reading it. Spec 3.5. */
export async function prepareIncident(client: Client, about: Incident): Promise<Prepared> {
  const { severity, subject, body: text, extras } = about;
  return {
    draft: {
      to: await addressees(client, about.to),
      type: "incident",
      subject,
      body: { severity, ...(text === "" ? {} : { text }) },
      ...extras,
      ackRequired: true,
    },
  };
}

/** Each by its handle: who owes an ack is part of what is signed. */
async function addressees(client: Client, given: readonly string[] | undefined): Promise<string[]> {
  const to = await recipients(client, given ?? ["*"]);
  return to.includes("*") ? peersOf(client) : to;
}

/** Says in an incident's thread that it is settled, and how. Spec 3.5. */
export async function prepareResolution(
  client: Client,
  id: string,
  {
    body,
    to,
    extras,
  }: {
    readonly body: JsonValue;
    readonly to?: readonly string[] | undefined;
    readonly extras: Extras;
  },
): Promise<Prepared> {
  const parent = await incidentNamed(client, id);
  const names = { resolves: parent.place };
  return {
    draft: {
      to: await recipients(client, to ?? answerTo(parent, client)),
      type: "incident",
      subject: answerSubject("resolved", parent),
      body: body === "" ? names : { ...names, text: body },
      correlationId: parent.correlation_id,
      ...extras,
    },
    answers: parent,
    note: await effectNote(client, parent, "resolution"),
  };
}

/**
 * What an ack or a resolution of that incident does to the safe mode that it has led to, or that it
 * changes nothing. Spec 3.5.
 */
export async function effectNote(
  client: Client,
  incident: Parent,
  says: "ack" | "resolution",
): Promise<string | undefined> {
  const mode = await client.view("safe_mode");
  if (mode?.incident_id !== incident.event_id) return repeatedNote(client, incident, says);
  return ownSafeModeEnd(mode, client.handle) === undefined
    ? `Safe mode goes on: ${safeModeEnd(mode, client.handle, "agent")}.`
    : "Safe mode ends with this, for each peer as soon as it arrives there.";
}

async function repeatedNote(
  client: Client,
  { event_id }: Parent,
  says: "ack" | "resolution",
): Promise<string | undefined> {
  const found = (await client.view("incidents")).find((each) => each.event_id === event_id);
  if (found?.status === "resolved") return "It was resolved before, so this changes nothing.";
  const isAcked = found?.addressees.some(({ handle, acked }) => handle === client.handle && acked);
  return says === "ack" && isAcked === true
    ? "You had acked it before, so this changes nothing."
    : undefined;
}
