import type { MemberChange } from "../../agent/answers/members.ts";
import type { SendAnswer } from "../../api/client.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { MemberRow, MembersView } from "../../api/views.ts";
import { shortId } from "../../framing/short-id.ts";
import { presentSettings } from "../../setup/transport/set-up-transport.ts";
import { transportPaths } from "../../carriers/transport-settings.ts";
import { rosterProblems } from "../../wire/handle.ts";
import { agentPlace } from "../agent-place.ts";
import { withClient, type Cli, type GlobalFlags } from "../context.ts";
import { emit } from "../output/output.ts";
import { shellCommand } from "../output/setup-text.ts";

/** Flags of `member add`. */
export interface AddFlags extends GlobalFlags {
  unchained?: boolean;
}

/** `deaddrop member add HANDLE`: asks every member that chains. Spec 3.11. */
export async function add(cli: Cli, handle: string, flags: AddFlags): Promise<void> {
  const chains = flags.unchained !== true;
  const answer = await propose(cli, flags, { add: handle, chains }, (members) => {
    const known = rowOf(members, handle);
    if (known?.is === "member")
      throw new DeaddropError("refused", `${handle} is a member of this wire already`);
    const handles = members.roster.map((row) => row.handle);
    const [problem] = known === undefined ? rosterProblems([...handles, handle]) : [];
    if (problem !== undefined) throw new DeaddropError("usage", problem);
  });
  const join = shellCommand("join", ...sharedAt(cli, flags), "--me", handle);
  tell(cli, flags, answer, [
    `It is a member once all have agreed (deaddrop accept), as deaddrop member list shows.`,
    `Its operator runs: ${join}`,
    `Then compare the digits by phone: deaddrop trust sas ${handle}`,
  ]);
}

/** `deaddrop member remove HANDLE`. */
export async function remove(cli: Cli, handle: string, flags: GlobalFlags): Promise<void> {
  const answer = await propose(cli, flags, { remove: handle }, (members, self) => {
    requireOther(members, self, handle);
  });
  tell(cli, flags, answer, [
    `It is removed once all others have agreed (deaddrop accept), as deaddrop member list shows.`,
  ]);
}

/** `deaddrop member chains HANDLE`: a member that writes its lines in a chain now. */
export async function mark(cli: Cli, handle: string, flags: GlobalFlags): Promise<void> {
  const answer = await propose(cli, flags, { mark: handle }, (members, self) => {
    const { chains } = requireOther(members, self, handle);
    if (chains)
      throw new DeaddropError("refused", `${handle} is marked as one that chains already`);
  });
  tell(cli, flags, answer, [`From then on it is asked like all others.`]);
}

function propose(
  cli: Cli,
  flags: GlobalFlags,
  change: MemberChange,
  check: (members: MembersView, self: string) => void,
): Promise<SendAnswer> {
  return withClient(cli, flags, async (client) => {
    check(await client.view("members"), client.handle);
    return client.ask("change_members", change);
  });
}

function rowOf({ roster }: MembersView, handle: string): MemberRow | undefined {
  return roster.find((row) => row.handle === handle);
}

function requireOther(members: MembersView, self: string, handle: string): MemberRow {
  if (handle === self)
    throw new DeaddropError("refused", "that is you", { hint: "you leave with: deaddrop leave" });
  const row = rowOf(members, handle);
  if (row?.is === "member") return row;
  throw new DeaddropError("refused", `${handle} is no member of this wire`, {
    hint: "deaddrop member list",
  });
}

function tell(cli: Cli, flags: GlobalFlags, answer: SendAnswer, next: readonly string[]): void {
  emit(cli, flags, answer, (paint) =>
    [
      ...answer.messages.map(({ event_id: id }) => `${paint("green", "proposed")} ${shortId(id)}`),
      ...next,
    ].join("\n"),
  );
}

/** Where a newcomer finds the wire: its repository, else its folder. */
function sharedAt(cli: Cli, flags: GlobalFlags): readonly string[] {
  const { host, place } = agentPlace(cli, flags);
  const { wireKey, wireDir } = place.paths;
  const git = presentSettings(host, transportPaths(host.places, wireKey));
  if (git === undefined) return [wireDir];
  return [git.remote.url, ...(git.branch === "main" ? [] : ["--branch", git.branch])];
}
