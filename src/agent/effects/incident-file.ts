import { Buffer } from "node:buffer";
import type { AutomaticIncident } from "../../protocol/effects.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import { appendShared, SHARED_MODE } from "../../storage/files/shared-file.ts";
import { firstCodePoints } from "../../wire/json/code-points.ts";
import { signFields } from "../../wire/compose.ts";
import { fromPlain, type JsonObject } from "../../wire/json/json.ts";
import type { World } from "../session/world.ts";
import type { AgentConfig } from "../config/agent-config.ts";

/** Appends a line to incident_log.jsonl unless it has one with that id. Spec 3.5. */
export function mirrorIncident(world: World, place: AgentConfig, id: string, raw: string): void {
  const { wire } = place;
  const needle = `"${id}"`;
  appendShared(world.disk, wire.incidents, Buffer.from(raw, "utf8"), {
    mode: SHARED_MODE,
    // Lines that answer it hold the id too, so the whole line is compared.
    find: (line) => Buffer.from(line).includes(needle) && Buffer.from(line).toString() === raw,
  });
}

/**
 * One signed line in incident_log.jsonl about an automatic incident that concerns the wire. It is
 * for people: it is in no log and no chain, and asks for no answer. Spec 3.5.
 */
export function publishNotice(world: World, place: AgentConfig, incident: AutomaticIncident): void {
  const timestamp = new Date(world.clock.wallMs()).toISOString();
  const unsigned = fromPlain({
    timestamp,
    from: place.handle,
    to: ["*"],
    type: "incident",
    kind: 1400,
    subject: firstCodePoints(incident.subject, 200),
    body: {
      cause: incident.cause,
      detail: firstCodePoints(incident.detail, 2_000),
      severity: "low",
      ...(incident.peer === undefined ? {} : { peer: incident.peer }),
    },
    refs: [],
    priority: "medium",
    correlation_id: timestamp,
    ack_required: false,
  }) as JsonObject;
  const { line } = signFields(unsigned, place.identity.signer);
  try {
    appendShared(world.disk, place.wire.incidents, line, { mode: SHARED_MODE });
  } catch (error) {
    // The operator has it in the local log; a locked or full wire folder must not stop the loop.
    if (!(error instanceof StorageError)) throw error;
    world.log.warn({ code: error.code }, `incident_log.jsonl: ${error.message}`);
  }
}
