import { Buffer } from "node:buffer";
import { applyMembership } from "../../../src/agent/config/change-members.ts";
import type { MemberChangeView } from "../../../src/api/views.ts";
import { membershipOf, placesOf } from "../../../src/cli/members/accept.ts";
import { savePinned } from "../../../src/storage/private/private-store.ts";
import type { MemberAction } from "../../../src/protocol/members/member-changes.ts";
import type { PlainDraft, SimulatedWire } from "./simulated-wire.ts";

/** An operator applies the change of members that is due; answers what it was. */
export async function accept(wire: SimulatedWire, who: string): Promise<MemberChangeView> {
  const agent = wire.agent(who);
  const { changes } = await agent.view("members", undefined);
  const change = changes.find(({ due }) => due);
  if (change === undefined) throw new Error(`${who} has no change of members to apply`);
  applyMembership(wire.process(who), agent.place, membershipOf(change));
  await agent.reload();
  await wire.settle();
  return change;
}

/** An operator says that a member is gone, as `config accept --member-left` does. */
export async function sayLeft(wire: SimulatedWire, who: string, gone: string): Promise<void> {
  const agent = wire.agent(who);
  const { roster } = await agent.view("members", undefined);
  const covered = roster.find(({ handle }) => handle === gone)?.covered ?? {};
  const logs = placesOf(covered);
  const left = { handle: gone, becomes: "left", atMs: wire.nowMs, changedBy: undefined } as const;
  applyMembership(wire.process(who), agent.place, { ...left, logs });
  await agent.reload();
  await wire.settle();
}

/** An operator agrees to the wire's config.json as it is, as `config accept` and `join` do. */
export async function takeConfig(wire: SimulatedWire, who: string): Promise<void> {
  const bytes = Buffer.from(wire.read("config.json"), "utf8");
  savePinned(wire.process(who), wire.paths(who), "config", bytes);
  if (wire.isUp(who)) await wire.agent(who).reload();
  await wire.settle();
}

/** A member proposes that an agent joins, or comes back, and the others agree. */
export function letIn(
  wire: SimulatedWire,
  by: string,
  others: readonly string[],
  newcomer: string,
): Promise<string> {
  return agree(wire, by, others, "add_member", newcomer);
}

/** A member proposes that another one leaves, and the others agree. */
export function putOut(
  wire: SimulatedWire,
  by: string,
  others: readonly string[],
  member: string,
): Promise<string> {
  return agree(wire, by, others, "remove_member", member);
}

/** The proposal of a change of members, as `deaddrop member` writes it. */
export async function lineOfChange(
  wire: SimulatedWire,
  by: string,
  required: readonly string[],
  action: MemberAction,
  member: string,
): Promise<PlainDraft> {
  const { changed_by: after, roster } = await wire.agent(by).view("members", undefined);
  const held = roster.find(({ handle }) => handle === member)?.held ?? {};
  const first = Object.entries(held).map(([log, { lines, seq }]) => [
    log,
    { lines: lines + 1, seq: (seq ?? 0) + 1, event_id: null },
  ]);
  const places =
    action === "add_member" ? { first: Object.fromEntries(first) as object } : { last: held };
  const body = { action, member, after, required: [...required], ...places };
  return { to: [...required], type: "proposal", subject: "members", body, ackRequired: true };
}

async function agree(
  wire: SimulatedWire,
  by: string,
  others: readonly string[],
  action: MemberAction,
  member: string,
): Promise<string> {
  const id = await wire.send(by, await lineOfChange(wire, by, others, action, member));
  await wire.pass(5_000);
  for (const other of others) {
    const { correlation_id: correlationId } = await wire.agent(other).view("resolve_id", { id });
    const ack = { to: [by], type: "ack", subject: "ack", body: { acks: id, approve: true } };
    await wire.send(other, { ...ack, correlationId });
  }
  await wire.pass(60_000);
  return id;
}

/** An agent writes its last line, and its daemon ends. */
export async function leave(wire: SimulatedWire, who: string): Promise<void> {
  await wire.stop(who);
  const command = wire.command(who, wire.disk.process());
  await command.send([
    [{ to: ["*"], type: "shutdown", subject: `${who} leaves`, body: { leaves: true } }],
  ]);
  command.close();
  await wire.pass(60_000);
}
