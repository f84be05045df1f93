import type { Client } from "../api/client.ts";
import { ownSafeModeEnd, safeModeEnd } from "../protocol/escalations/safe-mode-end.ts";
import type { Parent } from "./naming/parent.ts";

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
