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

function membersText({ roster, roster_forked, changes }: MembersView, paint: Paint): string {
  return [
    ...roster.map((row) => memberText(row, paint)),
    ...changes.map((change) => changeText(change)),
    ...(roster_forked ? [paint("red", FORKED)] : []),
  ].join("\n");
}

function memberText({ handle, is, chains, since }: MemberRow, paint: Paint): string {
  const when = since === null ? "" : ` since ${moment(since)}`;
  if (is === "left") return `${handle}  left${when}`;
  return `${paint("bold", handle)}  member${when}${chains ? "" : ", does not chain"}`;
}

const FORKED =
  "two changes of members follow the same one: the operators agree on a roster, raise roster_epoch in config.json, and each runs: deaddrop config accept";

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
