import type { MemberChangeView, MemberRow, MembersView } from "../../api/views.ts";
import { moment } from "../../framing/when.ts";
import { shortId } from "../../framing/short-id.ts";
import { withClient, type Cli, type GlobalFlags } from "../context.ts";
import { emit, type Paint } from "../output/output.ts";

/** `deaddrop member list`: who is a member, who was, and what is to change. Spec 3.11. */
export async function list(cli: Cli, flags: GlobalFlags): Promise<void> {
  const members = await withClient(cli, flags, (client) => client.view("members"));
  emit(cli, flags, members, (paint) => membersText(members, paint));
}

function membersText({ roster, changes }: MembersView, paint: Paint): string {
  return [
    ...roster.map((row) => memberText(row, paint)),
    ...changes.map((change) => changeText(change)),
  ].join("\n");
}

function memberText({ handle, is, since }: MemberRow, paint: Paint): string {
  const when = since === null ? "" : ` since ${moment(since)}`;
  return is === "member" ? `${paint("bold", handle)}  member${when}` : `${handle}  left${when}`;
}

const WORDS: Readonly<Record<MemberChangeView["becomes"], string>> = {
  new: "joins",
  back: "comes back",
  left: "leaves",
};

/** One change, in a row. */
export function changeText(change: MemberChangeView): string {
  const { event_id: id, handle, becomes, status, due, problem } = change;
  const what = `${shortId(id)}  ${handle} ${WORDS[becomes]}: ${status}`;
  if (due) return `${what}; apply it with: deaddrop member accept`;
  return problem === null ? what : `${what}; ${problem}`;
}
