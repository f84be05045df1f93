import type { SimulatedWire } from "./simulated-wire.ts";

/** An incident of one agent to another; returns its event id. */
export function raise(
  wire: SimulatedWire,
  from = "forge",
  to = "scribe",
  severity = "high",
): Promise<string> {
  return wire.send(from, {
    to: [to],
    type: "incident",
    subject: "main is broken",
    body: { severity, detail: "4f2a91c lost a test" },
    ackRequired: true,
  });
}

/** One that the other agent reads and does not ack: half an hour later there is safe mode. */
export async function ignored(
  wire: SimulatedWire,
  from?: string,
  to = "scribe",
  severity?: string,
): Promise<string> {
  const id = await raise(wire, from, to, severity);
  await wire.agent(to).markRead("all");
  return id;
}

/** Forge, whose escalation it is, ends safe mode for all. */
export async function resumed(wire: SimulatedWire): Promise<void> {
  const { safeMode } = await wire.outcome("forge");
  await wire.send("forge", {
    to: ["scribe"],
    type: "incident",
    subject: "resumed",
    body: { resumes: safeMode?.escalations ?? [], severity: "low", reason: "talked on the phone" },
  });
}
