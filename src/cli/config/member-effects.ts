import type { AgentConfig } from "../../agent/config/agent-config.ts";
import type { Client } from "../../api/client.ts";
import type { Membership } from "../../protocol/members/due-changes.ts";
import { isAway, type Absences } from "../../wire/roster/members.ts";

/**
 * What a change of members does to decisions in force, open obligations and lines that are held, in
 * words, for the operator who is asked. Spec 1.1.
 */
export async function effectsOf(
  client: Client,
  place: Pick<AgentConfig, "domains">,
  { handle, becomes, logs }: Pick<Membership, "handle" | "becomes" | "logs">,
): Promise<string[]> {
  if (becomes !== "left") return arrivalText(handle, becomes, logs);
  const { in_force: decisions } = await client.view("decisions", {});
  const with_ = decisions.filter(({ acked_by: parties }) => parties.includes(handle)).length;
  const pending = await client.view("pending");
  const owes = pending.filter(({ owed_by: by }) => by === handle).length;
  const owed = pending.filter(({ from }) => from === handle).length;
  const proposals = (await client.view("proposals")).filter(({ status }) => status === "open");
  const waiting = proposals.filter(({ required }) => required.includes(handle)).length;
  const peers = await client.view("peers");
  const isHeld = peers.some((peer) => peer.handle === handle && peer.held);
  const domains = [...place.domains].filter(([, { owner }]) => owner === handle);
  return [
    `decisions in force: ${with_} with ${handle}; all stay in force`,
    `open obligations: ${owes} that ${handle} owes and ${owed} that are owed to it; they end`,
    `open proposals: ${waiting} that need ${handle}; yours among them are reverted`,
    ...(isHeld ? [`held lines: none of ${handle} is taken in any more`] : []),
    ...domains.map(
      ([name]) => `domain ${name}: nobody owns it until config.json names another owner`,
    ),
    ...[...logs].map(
      ([log, { lines }]) => `last line of ${log}: ${lines}; what follows is refused`,
    ),
    ...(logs.size === 0 ? [`no line of ${handle} is known: all of them are refused`] : []),
  ];
}

function arrivalText(handle: string, becomes: "new" | "back", logs: Membership["logs"]): string[] {
  const again = [...logs].map(([log, { lines }]) => `${log} goes on with line ${lines}`);
  return [
    "decisions in force: all stay as they are",
    `open obligations: ${handle} owes nothing that was asked before, and nothing is owed to it`,
    ...(becomes === "back" ? again : []),
  ];
}

/** The changes of members between two configurations, for `config accept`. */
export function changesBetween(
  from: { readonly roster: readonly string[]; readonly left: Absences },
  to: { readonly roster: readonly string[]; readonly left: Absences },
): Pick<Membership, "handle" | "becomes" | "logs">[] {
  return to.roster.flatMap((handle): Pick<Membership, "handle" | "becomes" | "logs">[] => {
    const last = to.left.get(handle)?.at(-1);
    if (!from.roster.includes(handle)) return [{ handle, becomes: "new", logs: new Map() }];
    const was = isAway(from.left, handle);
    const is = isAway(to.left, handle);
    if (was === is) return [];
    return is
      ? [{ handle, becomes: "left", logs: last?.logs ?? new Map() }]
      : [{ handle, becomes: "back", logs: last?.back?.logs ?? new Map() }];
  });
}
