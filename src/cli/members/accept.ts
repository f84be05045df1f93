import { applyMembership, type WireFileAfter } from "../../agent/config/change-members.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { MemberChangeView, MemberRow, MembersView } from "../../api/views.ts";
import type { Membership } from "../../protocol/members/due-changes.ts";
import type { PlaceJson } from "../../trust/policy/left-members.ts";
import { presentSettings } from "../../setup/transport/set-up-transport.ts";
import type { SetupHost } from "../../setup/host.ts";
import type { AgentPaths } from "../../storage/paths.ts";
import { transportPaths } from "../../transport/transport-settings.ts";
import { agentPlace, reloadDaemon } from "../agent-place.ts";
import { effectsOf } from "../config/member-effects.ts";
import { withClient, type Cli, type GlobalFlags } from "../context.ts";
import { confirmOperator, type ConsentFlags } from "../input/confirm.ts";
import { emit } from "../output/output.ts";
import { shellCommand } from "../output/setup-text.ts";
import { changeText } from "./look.ts";

/** `deaddrop member accept [ID]`: the operator applies a change that all have agreed to. Spec 3.11. */
export async function accept(
  cli: Cli,
  id: string | undefined,
  flags: GlobalFlags & ConsentFlags,
): Promise<void> {
  const members = await withClient(cli, flags, (client) => client.view("members"));
  const change = chosen(members, id);
  await apply(cli, flags, membershipOf(change), changeText(change));
}

/** The only member left lets another one in: there is nobody to ask. */
export async function applyAlone(
  cli: Cli,
  flags: GlobalFlags & ConsentFlags,
  { handle, known }: { readonly handle: string; readonly known: MemberRow | undefined },
): Promise<void> {
  const held = Object.entries(known?.held ?? {});
  const first = held.map(([log, { lines, seq }]): [string, PlaceJson] => [
    log,
    { lines: lines + 1, seq: seq === null ? null : seq + 1, event_id: null },
  ]);
  const membership: Membership = {
    handle,
    becomes: known === undefined ? "new" : "back",
    atMs: cli.clock.nowMs(),
    logs: placesOf(Object.fromEntries(first)),
    changedBy: undefined,
  };
  await apply(cli, flags, membership, `${handle} becomes a member; there is nobody else to ask`);
}

/** Asks the operator, applies a change, and says what follows. */
export async function apply(
  cli: Cli,
  flags: GlobalFlags & ConsentFlags,
  membership: Membership,
  what: string,
): Promise<void> {
  const { host, place } = agentPlace(cli, flags);
  const { handle, becomes } = membership;
  const effects = await withClient(cli, flags, (client) => effectsOf(client, place, membership));
  await confirmOperator(
    cli,
    flags,
    {
      action: "member accept",
      target: handle,
      effect: [what, ...effects],
      word: handle,
    },
    place.paths.operatorJournal,
  );
  const file = applyMembership(host.disk, place, membership);
  await reloadDaemon(place.paths);
  emit(cli, flags, { applied: true, handle, becomes, effects, wire_config: file }, (paint) =>
    [
      `${paint("green", "applied")}: ${handle} ${becomes === "left" ? "has left" : "is a member"}`,
      ...effects.map((line) => `  ${line}`),
      ...NOTES[file],
      ...(becomes === "new" ? [joinText(handle, sharedAt(host, place.paths))] : []),
    ].join("\n"),
  );
}

const NOTES: Readonly<Record<WireFileAfter, readonly string[]>> = {
  written: [],
  same: [],
  differs: [
    "The wire's config.json was changed by somebody and is left as it is: deaddrop config accept shows how it differs.",
  ],
  denied: [
    "The wire's config.json belongs to another user: it changes when that operator applies this, too.",
  ],
};

/** Where a newcomer finds the wire: its repository, else its folder. */
function sharedAt(host: SetupHost, { wireKey, wireDir }: AgentPaths): readonly string[] {
  const git = presentSettings(host, transportPaths(host.places, wireKey));
  if (git === undefined) return [wireDir];
  return [git.remote.url, ...(git.branch === "main" ? [] : ["--branch", git.branch])];
}

function joinText(handle: string, where: readonly string[]): string {
  const join = shellCommand("join", ...where, "--me", handle);
  return `Its operator runs: ${join}\nThen compare the digits by phone: deaddrop trust sas ${handle}`;
}

function chosen({ changes }: MembersView, id: string | undefined): MemberChangeView {
  const due = changes.filter((change) => change.due);
  const named =
    id === undefined ? due : changes.filter(({ event_id: each }) => each.startsWith(id));
  const [change, another] = named;
  if (change === undefined) {
    throw new DeaddropError("refused", "there is no change of members to apply", {
      hint: "deaddrop member list shows what is open; it is applied once every member has agreed",
    });
  }
  if (another !== undefined) {
    throw new DeaddropError("usage", "which one?", {
      hint: `name it: ${named.map(({ event_id: each }) => each.slice(0, 12)).join(", ")}`,
    });
  }
  if (change.due) return change;
  throw new DeaddropError("refused", `not applied: ${change.problem ?? `it is ${change.status}`}`);
}

/** A change that is due, as the configuration takes it. */
export function membershipOf({
  event_id: id,
  handle,
  becomes,
  at,
  logs,
  status,
}: MemberChangeView): Membership {
  return {
    handle,
    becomes,
    atMs: Date.parse(at ?? ""),
    logs: placesOf(logs),
    changedBy: status === "announced" ? undefined : id,
  };
}

/** Lines by log, as a view has them. */
export function placesOf(logs: Record<string, PlaceJson>): Membership["logs"] {
  return new Map(
    Object.entries(logs).map(([log, { lines, seq, event_id: id }]) => [
      log,
      { lines, seq: seq ?? undefined, eventId: id ?? undefined },
    ]),
  );
}
