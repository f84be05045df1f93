import { Buffer } from "node:buffer";
import { join } from "node:path";
import type { Agent } from "../../../src/agent/agent.ts";
import { applyMembership } from "../../../src/agent/config/change-members.ts";
import type { MemberChangeView, MembersView } from "../../../src/api/views.ts";
import { membershipOf } from "../../../src/cli/members/accept.ts";
import { savePinned } from "../../../src/storage/private/private-store.ts";
import { parseConfig, type WireConfig } from "../../../src/trust/policy/config.ts";
import { WIRE } from "../../support/scenes/scene-folder.ts";
import { kept } from "../checks/broken.ts";
import type { Play } from "../play.ts";
import { inThread, send } from "./sending.ts";
import type { Member } from "./stage.ts";

/** Somebody proposes that another one joins, comes back, or leaves. */
export async function proposeChange(play: Play, who: Member): Promise<void> {
  const { luck, stage } = play;
  const view = await stage.ask(who, (agent) => agent.view("members", undefined));
  if (view === undefined) return;
  const present = view.roster.filter(({ is }) => is === "member").map(({ handle }) => handle);
  const absent = [...stage.members.keys()].filter((handle) => !present.includes(handle));
  const about = luck.chance(0.6) && absent.length > 0 ? luck.pick(absent) : luck.pick(present);
  const required = present.filter((handle) => handle !== who.handle && handle !== about);
  if (about === who.handle || required.length === 0) return;
  const body = { ...changeOf(view, about, present), after: view.changed_by, required };
  await send(play, who, {
    to: required,
    type: "proposal",
    subject: `about ${about}`,
    body,
    ackRequired: true,
  });
}

function changeOf({ roster }: MembersView, member: string, present: readonly string[]): object {
  const held = roster.find(({ handle }) => handle === member)?.held ?? {};
  if (present.includes(member)) return { action: "remove_member", member, last: held };
  const first = Object.entries(held).map(([log, { lines, seq }]) => [
    log,
    { lines: lines + 1, seq: (seq ?? 0) + 1, event_id: null },
  ]);
  return { action: "add_member", member, first: Object.fromEntries(first) as object };
}

/** Its agent agrees to a change that somebody else has proposed. */
export async function agreeToChange(play: Play, who: Member): Promise<void> {
  const view = await play.stage.ask(who, (agent) => agent.view("members", undefined));
  const open = view?.changes.filter(({ status, from }) => status === "open" && from !== who.handle);
  const change = open?.at(-1);
  if (change === undefined || change.handle === who.handle) return;
  const { event_id: id, from } = change;
  const thread = play.ledger.byId.get(id)?.thread ?? "";
  await send(play, who, { ...inThread(thread, [from], "ack"), body: { acks: id, approve: true } });
}

/** Its operator applies what is due; who leaves by that stops when the first operator knows. */
export async function applyChange(play: Play, who: Member): Promise<void> {
  const change = await dueAt(play, who);
  if (change === undefined) return;
  const { handle, becomes } = change;
  if (becomes === "left" && !play.away.has(handle)) part(play, play.stage.member(handle));
  await play.stage.ask(who, async (agent) => {
    const before = await ratifiedAt(agent);
    applyMembership(who.process, agent.place, membershipOf(change));
    await agent.reload();
    const after = new Set(await ratifiedAt(agent));
    const lost = before.find((id) => !after.has(id));
    // Reading starts again, and what a log lacks now comes with its author's repair.
    kept(
      5,
      lost === undefined || play.ledger.isBehind,
      () => `${who.handle} lost ${lost} when ${handle} ${becomes}`,
    );
  });
}

async function dueAt({ stage }: Play, who: Member): Promise<MemberChangeView | undefined> {
  const view = await stage.ask(who, (agent) => agent.view("members", undefined));
  return view?.changes.find(({ due, handle }) => due && handle !== who.handle);
}

async function ratifiedAt(agent: Agent): Promise<string[]> {
  const proposals = await agent.view("proposals", undefined);
  return proposals.flatMap(({ proposal_id: id, status }) => (status === "ratified" ? [id] : []));
}

/** It ends, and nobody expects anything of it any more. */
function part(play: Play, member: Member): void {
  play.stage.kill(member);
  play.away.set(member.handle, returnsOf(play, member.handle));
  play.honest.splice(play.honest.indexOf(member), 1);
}

/** An agent writes its last line and ends. One that would be missed too much stays. */
export async function leaveWire(play: Play, who: Member): Promise<void> {
  if (play.honest.length < 3 || who.running === undefined) return;
  const body = { leaves: true };
  await send(play, who, { to: ["*"], type: "shutdown", subject: "I leave", body });
  const { ledger, stage } = play;
  ledger.look();
  const last = ledger.standing(who.handle).at(-1);
  // Its disk may have failed, or a beat may have come after it.
  if (last?.type === "shutdown") part(play, who);
  else await stage.ask(who, (agent) => agent.tick());
}

/** Whom the wire's configuration names and who is not there yet begins, or begins again. */
export async function joinWire(play: Play): Promise<void> {
  const { stage, away, luck } = play;
  const named = [...away.keys()].filter((handle) => mayJoin(play, handle));
  if (named.length === 0) return;
  const member = stage.member(luck.pick(named));
  const process = member.host.disk.process();
  savePinned(process, stage.paths(member), "config", configBytes(play));
  away.delete(member.handle);
  play.honest.push(member);
  await stage.start(member, process);
}

/** It was let in since it left. */
function mayJoin(play: Play, handle: string): boolean {
  return returnsOf(play, handle) > (play.away.get(handle) ?? 0);
}

/** How often a handle was let in, by the wire's configuration. */
function returnsOf(play: Play, handle: string): number {
  const absences = wireConfig(play).left.get(handle) ?? [];
  return absences.filter(({ back }) => back !== undefined).length;
}

function configBytes({ stage }: Play): Buffer {
  const [host] = stage.hosts;
  return Buffer.from(host?.text(join(WIRE, "config.json")) ?? "", "utf8");
}

/** What the wire says of its members. */
export function wireConfig(play: Play): WireConfig {
  const parsed = parseConfig(configBytes(play));
  if (!parsed.ok) throw new Error(parsed.detail);
  return parsed.config;
}

/** In the end all operators have applied all that is due, and all who may be there are. */
export async function finishChanges(play: Play): Promise<void> {
  for (let round = 0; round < 8; round += 1) {
    await applyAll(play);
    await play.stage.pass(60_000);
  }
}

/** Each operator applies what is due there, and who may join does. */
export async function applyAll(play: Play): Promise<void> {
  for (const member of [...play.honest]) {
    await play.stage.start(member);
    await applyChange(play, member);
  }
  await joinWire(play);
}

/** Whether an operator has something to apply still: who was held back may have learned of it late. */
export async function isChangeDue(play: Play): Promise<boolean> {
  for (const member of play.honest) {
    if ((await dueAt(play, member)) !== undefined) return true;
  }
  return false;
}
