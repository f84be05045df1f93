import { shippedTiersText } from "../../setup/program.ts";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AuditReport } from "../../agent/answers/audit.ts";
import type { SendAnswer } from "../../api/client.ts";
import type { DecisionsView, IncidentView, SentView, StatusView } from "../../api/views.ts";
import type { UnsignedDecision } from "../../protocol/asks/record.ts";
import { shortId } from "../../framing/short-id.ts";
import { DemoFailure, type Stage } from "./stage.ts";
import {
  ask,
  asks,
  FORGE,
  heading,
  inboxOf,
  must,
  note,
  SCRIBE,
  succeed,
  until,
  type Say,
  type Telling,
} from "./telling.ts";
import { PRIVATE_FILE } from "../../storage/disk/file-modes.ts";

/** What a daemon logs once it answers commands. */
const RUNNING = "the daemon runs";

/** Cadences of seconds, so that what takes minutes at work takes seconds here. Spec 4.9. */
const CADENCES = { T0_HEADS_DOWN: 2, T1_active: 5, T2_idle: 8, T3_long_idle: 12 };

/** The demo, told as it happens. Every step is a real command or a real daemon; throws DemoFailure. */
export async function playStory(stage: Stage, say: Say): Promise<void> {
  const told: Telling = { stage, say, step: 0 };
  await makeWire(told);
  await startDaemons(told);
  await talk(told);
  await decideSomething(told);
  await raiseIncident(told);
  await showBothSides(told);
  await stopDaemons(told);
  await auditEverything(told);
}

async function makeWire(told: Telling): Promise<void> {
  heading(told, "A wire: one folder, two agents, each with a key that the other has pinned");
  layTiersReady(told.stage);
  const pair = ["--me", FORGE, "--peer", SCRIBE, "--local-pair"];
  await must(told, undefined, ["init", "--wire", told.stage.wireDir, ...pair]);
}

function layTiersReady(stage: Stage): void {
  const shipped = JSON.parse(shippedTiersText()) as {
    tiers: Record<string, { cadence_seconds: number }>;
  };
  const tiers = Object.fromEntries(
    Object.entries(CADENCES).map(([tier, seconds]) => [tier, { cadence_seconds: seconds }]),
  );
  stage.makeFolder(stage.wireDir);
  const text = JSON.stringify({ ...shipped, tiers }, null, 2);
  writeFileSync(join(stage.wireDir, "tiers.json"), `${text}\n`, { mode: PRIVATE_FILE });
}

async function startDaemons(told: Telling): Promise<void> {
  heading(told, "Two daemons, one for each agent");
  for (const handle of [FORGE, SCRIBE]) {
    told.say(`   ${handle} $ deaddrop daemon &`);
    told.stage.startDaemon(handle);
  }
  for (const handle of [FORGE, SCRIBE]) {
    const log = () => Promise.resolve(readFileSync(told.stage.daemonLog(handle), "utf8"));
    await until(told, `the daemon of ${handle} runs`, log, (text) => text.includes(RUNNING));
    const look = () => ask<StatusView>(told, handle, "status");
    const { daemon, peers } = await until(
      told,
      `${handle} sees its peer`,
      look,
      (status) => status.daemon.running && status.peers[0]?.presence === "online",
    );
    const [peer] = peers;
    note(
      told,
      `${handle}: process ${daemon.pid ?? "?"}; ${peer?.handle ?? "?"} is ${peer?.presence ?? "?"}, ${peer?.trust_tier ?? "?"}`,
    );
  }
}

async function talk(told: Telling): Promise<void> {
  heading(told, "Signed messages, both ways");
  const waiting = ["--wait", "delivered", "--timeout", "60"];
  const sent = await must(told, FORGE, [
    "send",
    "the parser is ready",
    "All 212 tests pass on main. Please try it on your notes.",
    ...waiting,
  ]);
  for (const line of sent.stdout.trim().split("\n")) note(told, line);
  const [message] = await until(
    told,
    "the message is in scribe's inbox",
    () => inboxOf(told, SCRIBE),
    (messages) => messages.some(({ subject }) => subject === "the parser is ready"),
  );
  if (message === undefined) throw new DemoFailure("scribe's inbox is empty");
  note(
    told,
    `scribe's inbox: ${shortId(message._meta.id)} from ${message.from}, signature ${message._meta.verified ? "verified" : "MISSING"}`,
  );
  await must(told, SCRIBE, ["inbox", "--mark-read"]);
  const id = shortId(message._meta.id);
  await must(told, SCRIBE, ["reply", id, "Two of my notes fail; I will send them."]);
  await until(
    told,
    "the reply is in forge's inbox",
    () => inboxOf(told, FORGE),
    (messages) => messages.some(({ from }) => from === SCRIBE),
  );
  note(told, "the reply is in forge's inbox");
}

async function decideSomething(told: Telling): Promise<void> {
  heading(told, "A proposal, acked into a decision that can be proved");
  const args = [
    "propose",
    "freeze the wire format",
    "--decision",
    "Format v3.1 is frozen until May.",
  ];
  const { messages } = await asks<SendAnswer>(told, FORGE, args);
  const proposalId = messages[0]?.event_id ?? "";
  await until(
    told,
    "the proposal is in scribe's inbox",
    () => inboxOf(told, SCRIBE),
    (inbox) => inbox.some(({ _meta }) => _meta.id === proposalId),
  );
  await must(told, SCRIBE, ["ack", shortId(proposalId)]);
  for (const handle of [FORGE, SCRIBE]) {
    const { in_force: inForce } = await until(
      told,
      `the decision is in force for ${handle}`,
      () => ask<DecisionsView>(told, handle, "decisions"),
      (decisions) => decisions.in_force.length === 1,
    );
    const [decision] = inForce;
    if (decision === undefined) throw new DemoFailure("no decision");
    note(told, `${handle}: in force: “${decision.decision}” (${decision.decision_id})`);
    if (handle === SCRIBE) await proveDecision(told, decision);
  }
}

/** The lines that prove it, found in the logs and verified by the published command. */
async function proveDecision(
  told: Telling,
  decision: Pick<UnsignedDecision, "proposal" | "acks" | "close">,
): Promise<void> {
  const trustFile = await writeKeys(told);
  const parts = [
    { what: "proposal", id: decision.proposal[2], by: FORGE },
    ...decision.acks.map(([, , id]) => ({ what: "ack", id, by: SCRIBE })),
    { what: "close", id: decision.close[2], by: FORGE },
  ];
  const lines = parts.map(({ what, id }) => lineOf(told.stage, what, id));
  const args = ["verify", "--trust", trustFile];
  const { stdout } = succeed(await told.stage.run(undefined, args, `${lines.join("\n")}\n`), args);
  const verdicts = stdout.trim().split("\n");
  for (const [at, { what, id, by }] of parts.entries()) {
    const verdict = JSON.parse(verdicts[at] ?? "{}") as { ok?: boolean; from?: string };
    if (verdict.ok !== true || verdict.from !== by) {
      throw new DemoFailure(`the ${what} ${id} of ${by} does not verify`);
    }
    note(told, `proof: ${what} ${shortId(id)}, signature of ${by} verified`);
  }
}

/** By its own id: lines name the ids of others. */
function lineOf({ wireDir }: Stage, what: string, id: string): string {
  for (const log of [`${FORGE}_to_${SCRIBE}`, `${SCRIBE}_to_${FORGE}`]) {
    const lines = readFileSync(join(wireDir, `${log}.jsonl`), "utf8")
      .trim()
      .split("\n");
    const line = lines.find((each) => (JSON.parse(each) as { event_id?: string }).event_id === id);
    if (line !== undefined) return line;
  }
  throw new DemoFailure(`the ${what} ${id} is in no log`);
}

/** Both public keys in one trust file, as an auditor would be handed them. */
async function writeKeys(told: Telling): Promise<string> {
  type Row = { handle: string; keys: object[] };
  const rows = await ask<Row[]>(told, FORGE, "trust", "list");
  const agents = Object.fromEntries(
    rows.map(({ handle, keys }) => [handle, { tier: "ATTESTED", public_keys: keys }]),
  );
  const path = join(told.stage.root, "keys.json");
  writeFileSync(path, JSON.stringify({ schema_version: "v3.1", version: 1, agents }, null, 2));
  return path;
}

async function raiseIncident(told: Telling): Promise<void> {
  heading(told, "An incident, acked in time");
  const args = [
    "incident",
    "raise",
    "--severity",
    "high",
    "main is broken",
    "4f2a91c lost a test.",
  ];
  const { messages } = await asks<SendAnswer>(told, SCRIBE, args);
  const id = messages[0]?.event_id ?? "";
  await until(
    told,
    "the incident is in forge's inbox",
    () => inboxOf(told, FORGE),
    (inbox) => inbox.some(({ _meta }) => _meta.id === id),
  );
  await must(told, FORGE, ["incident", "ack", shortId(id), "--reason", "reverting it"]);
  const acked = await until(
    told,
    "scribe has the ack",
    () => ask<IncidentView[]>(told, SCRIBE, "incident", "list", "--all"),
    (incidents) => incidents.some(({ event_id, status }) => event_id === id && status === "acked"),
  );
  note(told, `scribe: incident “${acked[0]?.subject ?? ""}” is ${acked[0]?.status ?? "?"}`);
}

async function showBothSides(told: Telling): Promise<void> {
  heading(told, "What each side saw, and what each sender can prove");
  for (const handle of [FORGE, SCRIBE]) {
    const sent = await until(
      told,
      `every message of ${handle} has reached the other side`,
      () => ask<SentView[]>(told, handle, "sent"),
      (all) => all.every(({ receipts }) => receipts.every(({ state }) => state !== "stored")),
    );
    for (const { type, subject, receipts } of sent) {
      const states = receipts.map(({ to, state }) => `${to}: ${state}`).join(", ");
      note(told, `${handle} sent ${type} “${subject}” (${states})`);
    }
    for (const { from, type, subject } of await inboxOf(told, handle)) {
      note(told, `${handle} got ${type} “${subject}” from ${from}`);
    }
  }
}

async function stopDaemons(told: Telling): Promise<void> {
  heading(told, "Both daemons end when they are told to");
  for (const [handle, end] of await told.stage.stopDaemons()) {
    if (end !== 0) throw new DemoFailure(`the daemon of ${handle} ended with ${end}, not 0`);
    note(told, `${handle}: SIGTERM, exit code 0`);
  }
}

async function auditEverything(told: Telling): Promise<void> {
  heading(told, "Everything again, from the signed lines alone");
  const report = await asks<AuditReport>(told, FORGE, ["audit"]);
  const { messages, threads, decisions, incidents, violations } = report;
  note(
    told,
    `${messages} messages in ${threads} threads, ${decisions.length} decision, ${incidents.length} incident, ${violations.length} violations`,
  );
  if (violations.length > 0 || decisions.length !== 1 || incidents.length !== 1) {
    throw new DemoFailure(`the audit found something else:\n${JSON.stringify(report, null, 2)}`);
  }
}
