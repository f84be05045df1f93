import { DeaddropError } from "../../api/errors.ts";
import type { MemberRow, MembersView } from "../../api/views.ts";
import { rosterProblems } from "../../wire/handle.ts";
import type { JsonObject } from "../../wire/json/json.ts";
import { fromPlain } from "../../wire/json/json.ts";
import { withClient, type Cli, type GlobalFlags } from "../context.ts";
import { deliver, type SendFlags } from "../sending/deliver.ts";
import { applyAlone } from "./accept.ts";
import type { ConsentFlags } from "../input/confirm.ts";

/** A change of members as its proposal says it. */
interface Asked {
  readonly member: string;
  readonly body: JsonObject;
  readonly decision: string;
}

/** `deaddrop member add HANDLE`: asks every member. Alone on the wire its operator adds it. Spec 3.11. */
export async function add(
  cli: Cli,
  handle: string,
  flags: SendFlags & ConsentFlags,
): Promise<void> {
  const { members, self } = await membersHere(cli, flags);
  const known = members.roster.find((row) => row.handle === handle);
  refuseHandle(members, handle, known);
  const first = known === undefined ? {} : { first: firstLines(known) };
  const asked = {
    member: handle,
    body: fromPlain({ action: "add_member", ...first }) as JsonObject,
    decision:
      known === undefined ? `${handle} joins this wire.` : `${handle} comes back to this wire.`,
  };
  const others = othersIn(members, self, handle);
  if (others.length === 0) return applyAlone(cli, flags, { handle, known });
  await propose(cli, flags, members, others, asked);
}

/** `deaddrop member remove HANDLE`. */
export async function remove(cli: Cli, handle: string, flags: SendFlags): Promise<void> {
  const { members, self } = await membersHere(cli, flags);
  const row = members.roster.find((each) => each.handle === handle);
  if (row?.is !== "member" || handle === self) {
    const why = handle === self ? "that is you" : `${handle} is no member of this wire`;
    throw new DeaddropError("refused", why, {
      hint: handle === self ? "you leave with: deaddrop leave" : "deaddrop member list",
    });
  }
  const body = fromPlain({ action: "remove_member", last: row.held }) as JsonObject;
  const asked = { member: handle, body, decision: `${handle} is no member of this wire any more.` };
  await propose(cli, flags, members, othersIn(members, self, handle), asked);
}

async function propose(
  cli: Cli,
  flags: SendFlags,
  { changed_by: after }: MembersView,
  required: readonly string[],
  { member, body, decision }: Asked,
): Promise<void> {
  const draft = {
    to: [...required],
    type: "proposal",
    subject: decision.replace(/\.$/u, ""),
    body: { ...body, member, after, required: [...required], decision },
    ackRequired: true,
  };
  await withClient(cli, flags, (client) =>
    deliver(cli, flags, client, {
      draft,
      note: "Once all have accepted, each operator applies it with: deaddrop member accept",
    }),
  );
}

/** Who is a member, and who we are. */
async function membersHere(
  cli: Cli,
  flags: GlobalFlags,
): Promise<{ readonly members: MembersView; readonly self: string }> {
  return withClient(cli, flags, async (client) => ({
    members: await client.view("members"),
    self: client.handle,
  }));
}

/** All members but us and the one it is about. */
function othersIn({ roster }: MembersView, self: string, about: string): string[] {
  return roster
    .filter(({ handle, is }) => is === "member" && handle !== self && handle !== about)
    .map(({ handle }) => handle);
}

function refuseHandle(members: MembersView, handle: string, known: MemberRow | undefined): void {
  if (known?.is === "member") {
    throw new DeaddropError("refused", `${handle} is a member of this wire already`);
  }
  if (known !== undefined) return;
  const [problem] = rosterProblems([...members.roster.map((row) => row.handle), handle]);
  if (problem !== undefined) throw new DeaddropError("usage", problem);
}

/** What it wrote until now stays refused; its chain goes on behind that. Spec 3.11. */
function firstLines({ held }: MemberRow): MemberRow["held"] {
  return Object.fromEntries(
    Object.entries(held).map(([log, { lines, seq }]) => [
      log,
      { lines: lines + 1, seq: seq === null ? null : seq + 1, event_id: null },
    ]),
  );
}
