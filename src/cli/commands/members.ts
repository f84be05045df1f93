import type { MemberChange } from "../../agent/answers/members.ts";
import type { SendAnswer } from "../../api/client.ts";
import { trouble } from "../../api/troubles.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { MemberRow, MembersView, MemberChangeView } from "../../api/views.ts";
import { shortId } from "../../framing/short-id.ts";
import { moment } from "../../framing/when.ts";
import { presentSettings } from "../../setup/transport/set-up-transport.ts";
import { rosterProblems } from "../../wire/handle.ts";
import { agentPlace } from "../agent-place.ts";
import { define } from "../command.ts";
import { withClient, type Cli, type GlobalFlags } from "../context.ts";
import { CONSENT_OPTIONS, confirmOperator } from "../input/confirm.ts";
import { troubleLine } from "../live/troubles.ts";
import { emit, type Paint } from "../output/output.ts";
import { shellCommand } from "../output/setup-text.ts";
import { uninstallService } from "../service/install-service.ts";
import { installedInstances, systemHost } from "../service/service-place.ts";
import { servicePlace } from "./service.ts";

/**
 * This agent leaves the wire: says so in its chain, and ends its service. Repeating it ends what was
 * interrupted. Spec 3.11.
 */
const leave = define({
  about:
    "Takes this agent out of the wire: it says so, nobody asks it anything more, and its service ends. " +
    "What was agreed with it stays; keys and logs stay, too. A member can let it come back.",
  options: CONSENT_OPTIONS,
  examples: ["deaddrop member leave --as mason"],
  async run(cli, flags) {
    const { place } = agentPlace(cli, flags);
    const { handle, paths } = place;
    const { roster } = await withClient(cli, flags, (client) => client.view("members"));
    const isMember = roster.find((row) => row.handle === handle)?.is === "member";
    if (isMember) {
      const action = {
        action: "leave",
        target: place.wire.folder,
        effect: [
          `${handle} leaves this wire: it is asked nothing more, and its service ends.`,
          "What it has agreed to stays in force; what it owes, and what is owed to it, ends.",
        ],
        word: handle,
      };
      await confirmOperator(cli, flags, action, paths.operatorJournal);
      await withClient(cli, flags, (client) => client.ask("leave"));
    }
    if (!endService(cli, flags) && !isMember) {
      throw new DeaddropError("refused", `${handle} is no member of this wire`, {
        hint: `a member lets it come back: deaddrop member add ${handle}`,
      });
    }
    const text = `${handle} has left this wire. Keys and logs are where they were.`;
    emit(cli, flags, { left: true, handle }, () => text);
  },
});

/** Who is a member of the wire, and how that changes. Spec 3.11. */
export const member = define({
  about:
    "Who is a member of this wire. Members change by a proposal that all who chain accept; it holds for " +
    "everybody from then on. What was agreed before stays as it was.",
  bare: "list",
  commands: {
    list: define({
      about: "members, those who left, and changes that are open",
      async run(cli, flags) {
        const members = await withClient(cli, flags, (client) => client.view("members"));
        emit(cli, flags, members, (paint) => membersText(cli, members, paint));
      },
    }),
    add: define({
      about: "propose that an agent joins, or comes back",
      args: { "<handle>": "" },
      options: {
        "--unchained": "it writes by hand, or with the Python reference: nobody asks it",
      },
      examples: ["deaddrop member add mason"],
      run: (cli, flags, { handle }) => add(cli, handle, flags),
    }),
    remove: define({
      about: "propose that another member leaves",
      args: { "<handle>": "" },
      run: (cli, flags, { handle }) => remove(cli, handle, flags),
    }),
    chains: define({
      about: "propose that a member that did not chain is asked like all others",
      args: { "<handle>": "" },
      run: (cli, flags, { handle }) => mark(cli, handle, flags),
    }),
    leave,
  },
});

/** `deaddrop member add HANDLE`: asks every member that chains. Spec 3.11. */
async function add(
  cli: Cli,
  handle: string,
  flags: GlobalFlags & { unchained?: boolean },
): Promise<void> {
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
async function remove(cli: Cli, handle: string, flags: GlobalFlags): Promise<void> {
  const answer = await propose(cli, flags, { remove: handle }, (members, self) => {
    requireOther(members, self, handle);
  });
  tell(cli, flags, answer, [
    `It is removed once all others have agreed (deaddrop accept), as deaddrop member list shows.`,
  ]);
}

/** `deaddrop member chains HANDLE`: a member that writes its lines in a chain now. */
async function mark(cli: Cli, handle: string, flags: GlobalFlags): Promise<void> {
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
    throw new DeaddropError("refused", "that is you", {
      hint: "you leave with: deaddrop member leave",
    });
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
  const git = presentSettings(host, wireKey);
  if (git === undefined) return [wireDir];
  return [git.remote.url, ...(git.branch === "main" ? [] : ["--branch", git.branch])];
}

function membersText(
  cli: Cli,
  { roster, roster_forked, changes }: MembersView,
  paint: Paint,
): string {
  return [
    ...roster.map((row) => memberText(row, paint)),
    ...changes.map((change) => changeText(change)),
    ...(roster_forked ? [troubleLine(cli, trouble("roster_forked", {}), paint)] : []),
  ].join("\n");
}

function memberText({ handle, is, chains, since }: MemberRow, paint: Paint): string {
  const when = since === null ? "" : ` since ${moment(since)}`;
  if (is === "left") return `${handle}  left${when}`;
  return `${paint("bold", handle)}  member${when}${chains ? "" : ", does not chain"}`;
}

const WORDS: Readonly<Record<NonNullable<MemberChangeView["becomes"]>, string>> = {
  new: "joins",
  back: "comes back",
  left: "leaves",
  chaining: "chains from then on",
};

/** One change, in a row. */
function changeText(change: MemberChangeView): string {
  const { event_id: id, from, handle, becomes, status, problem, waits_for } = change;
  const does = becomes === null ? "nobody changes" : `${handle ?? ""} ${WORDS[becomes]}`;
  const what = `${shortId(id)}  ${does}: ${status}, by ${from}`;
  if (problem !== null) return `${what}; ${problem}`;
  return waits_for === null ? what : `${what}; waits for ${waits_for}`;
}

/** True: there was one. */
function endService(cli: Cli, flags: GlobalFlags): boolean {
  const place = servicePlace(cli, flags);
  const { wireKey, handle } = place.agent;
  const isInstalled = installedInstances(place.places).some(
    (each) => each.wire === wireKey && each.handle === handle,
  );
  if (isInstalled) uninstallService(place, systemHost, { dryRun: false });
  return isInstalled;
}
