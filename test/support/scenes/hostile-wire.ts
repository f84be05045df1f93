import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Agent } from "../../../src/agent/agent.ts";
import { realWorld } from "../../../src/client/direct-client.ts";
import { silentLogger } from "../../../src/agent/session/world.ts";
import { placesFrom } from "../../../src/storage/paths.ts";
import { composeLine, type ChainHead, type Draft } from "../../../src/wire/compose.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { makeSigner } from "../../../src/wire/signature.ts";
import { makeWire, WIRE_ID, type LiveWire } from "../processes/live-wire.ts";

/**
 * What must not reach a terminal as it is: colours and clearing (ESC), a link (OSC 8), the
 * clipboard (OSC 52), 8-bit CSI and OSC (C1), carriage return, backspace, DEL, bidi overrides and
 * isolates, zero-width and tag characters, line separators; and words that pose as ours behind
 * whatever could begin a new line.
 */
export const EVIL = [
  "\u001b[2J\u001b[31m",
  "\u001b]8;;http://x\u0007link",
  "\u001b]52;c;AAAA\u001b\\",
  "\u009b31m\u009d0;x\u009c\u0085",
  "\rFORGED\nFORGED\u2028FORGED",
  "\b\u007f\u202e\u2066\u200b\ufeff\u{e0041}",
].join("");

/** Every character of EVIL that steers a terminal; the newline, with which our own lines end, apart. */
export const STEERS =
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/u;

/** A hostile message, and by what its author could be asked about it. */
export interface HostileLine {
  readonly id: string;
  readonly correlationId: string;
}

/**
 * Scribe, whom forge trusts, puts EVIL wherever a peer's words can stand. Forge's daemon has run
 * before: what comes now is no history to it, and its operator is told.
 */
export async function hostileWire(): Promise<{ wire: LiveWire; lines: readonly HostileLine[] }> {
  const wire = makeWire({ handles: ["forge", "scribe"], cadenceSeconds: 90 });
  await takeIn(wire);
  const lines = writeLog(wire);
  spoilFiles(wire);
  return { wire, lines };
}

/** What forge's daemon does in a few rounds. */
export async function takeIn({ env, dir }: LiveWire): Promise<void> {
  const places = placesFrom(env, env["HOME"] ?? "");
  const agent = new Agent(realWorld(places, dir, silentLogger), { wireDir: dir, handle: "forge" });
  agent.lockIdentity(0);
  for (let round = 0; round < 3; round += 1) await agent.tick();

  agent.close();
}

function writeLog(wire: LiveWire): HostileLine[] {
  const secret = readFileSync(wire.paths("scribe").identity.key);
  const signer = makeSigner("scribe", secret);
  const log = "scribe_to_forge";
  const path = join(wire.dir, `${log}.jsonl`);
  let head: ChainHead | undefined;
  let atMs = Date.now() - 60_000;
  return hostileDrafts().map((draft) => {
    atMs += 1_000;
    const timestamp = new Date(atMs).toISOString();
    const correlationId = draft.correlationId ?? timestamp;
    const at = { timestamp, log, wireId: WIRE_ID, head };
    const { id, line } = composeLine({ ...draft, correlationId }, at, signer);
    head = { seq: (head?.seq ?? 0) + 1, id };
    appendFileSync(path, `${Buffer.from(line).toString("utf8")}\n`);
    return { id, correlationId };
  });
}

function hostileDrafts(): Draft[] {
  const to = ["forge"];
  const subject = `urgent: ${EVIL}`;
  const evil = fromPlain({ text: EVIL, [EVIL]: [EVIL, { [EVIL]: EVIL }] });
  const thread = { correlationId: `thread ${EVIL}` };
  const proposal = {
    ...{ required: to, decision: EVIL, decision_id: EVIL, action: EVIL },
    ...{ domains: [EVIL], paths: [EVIL] },
  };
  const request = { request_id: "0badcafe01", request_type: EVIL, plan: EVIL, due: EVIL };
  const alarm = { severity: EVIL, detail: EVIL };
  const beat = {
    ...{ state: "busy", last_action: EVIL, next_eta: EVIL, tier: EVIL, agent_last_seen: EVIL },
    ...{ wakeup_count: EVIL, heads: { [EVIL]: { lines: EVIL, refused: [[1, EVIL]] } } },
  };
  return [
    { to, type: "feedback", subject, body: fromPlain(EVIL), refs: [EVIL], ackRequired: true },
    { to, type: "warning", subject, body: evil, ...thread, ackRequired: true },
    { to, type: "request", subject, body: fromPlain({ request_id: EVIL, request_type: EVIL }) },
    { to, type: "proposal", subject, body: fromPlain(proposal), ackRequired: true },
    { to, type: "ack", subject, body: fromPlain({ acks: EVIL, reason: EVIL }), ...thread },
    { to, type: "correction", subject, body: fromPlain({ corrects: EVIL, text: EVIL }), ...thread },
    { to, type: "incident", subject, body: fromPlain(alarm), ackRequired: true },
    { to, type: "incident", subject, body: fromPlain({ ...alarm, cause: EVIL, of: EVIL }) },
    { to, type: "heartbeat", subject, body: fromPlain(beat) },
    { to, type: "request", subject, body: fromPlain(request), ...thread },
    { to, type: "request", subject, body: fromPlain({ ...request, request_type: "shutdown" }) },
    // Refused, for the operator's list: far too many references, each of them hostile.
    { to, type: "feedback", subject, body: evil, refs: Array.from({ length: 65 }, () => EVIL) },
  ];
}

/** Files of the wire that anybody who can write there can fill. */
function spoilFiles({ dir }: LiveWire): void {
  const add = (name: string, value: unknown): void =>
    appendFileSync(
      join(dir, name),
      `${typeof value === "string" ? value : JSON.stringify(value)}\n`,
    );
  const put = (name: string, value: unknown): void =>
    writeFileSync(join(dir, name), JSON.stringify(value));
  const read = (name: string): object =>
    JSON.parse(readFileSync(join(dir, name), "utf8")) as object;
  add("scribe_to_forge.jsonl", EVIL.replaceAll("\n", ""));
  add("scribe_to_forge.jsonl", { timestamp: EVIL, from: EVIL, type: EVIL, [EVIL]: EVIL });
  const entry = {
    ...{ decision_id: EVIL, ratified_at: EVIL, proposer: EVIL, acked_by: [EVIL], decision: EVIL },
    ...{ canonical: true, refs: [EVIL], affected_domains: [EVIL], domain_owners: { [EVIL]: EVIL } },
    ...{ correlation_id: EVIL, proposal_id: EVIL, ack_ids: [EVIL], ratified_by: EVIL },
    ...{ supersedes: EVIL, recorded_by: EVIL },
  };
  add("decisions.jsonl", entry);
  add("decisions.jsonl", { ...entry, event_id: EVIL, public_key_id: EVIL, signature: EVIL });
  add("decisions.jsonl", { decision_id: 1, decision: [EVIL], acked_by: EVIL, proposal_id: {} });
  add("decisions.jsonl", EVIL);
  add("incident_log.jsonl", { from: EVIL, type: "incident", subject: EVIL, body: EVIL });
  add("SAFE_MODE", EVIL);
  put("scribe_state.json", { handle: EVIL, state: EVIL });
  put("config.json", {
    ...read("config.json"),
    ...{ protocol_version: EVIL, roster: ["forge", EVIL], [EVIL]: EVIL },
    domains: { [EVIL]: { owner: EVIL, paths: [EVIL] } },
  });
  put("tiers.json", { ...read("tiers.json"), tiers: { [EVIL]: { cadence_seconds: EVIL } } });
  const key = { key_id: `scribe:${EVIL}`, key: EVIL, added_at: EVIL, active: true };
  put("trust.json", {
    ...{ schema_version: "v3.1", version: 3 },
    agents: {
      scribe: { tier: EVIL, agent_card_url: EVIL, public_keys: [key] },
      [EVIL]: { tier: EVIL, public_keys: [key] },
    },
  });
}
