import { fromPlain } from "../../../src/wire/json/json.ts";
import type { Genuine } from "../checks/genuine.ts";
import type { Play } from "../play.ts";
import { PLAIN } from "./cast.ts";
import type { Hostile } from "./hostile.ts";
import type { PlainMember } from "./plain-member.ts";

/** Two askers may use one name, and one asker may use it twice. */
export const REQUEST_NAMES = ["0badcafe01", "0badcafe02"];

/** Requests with an answer that stand in the logs, of anybody. */
function asked({ ledger }: Play): readonly Genuine[] {
  return ledger.all
    .filter(({ type, body }) => type === "request" && typeof body["request_id"] === "string")
    .slice(-8);
}

function askFalsely(play: Play, hostile: Hostile): void {
  const { luck, honest } = play;
  const to = luck.chance(0.3) ? ["*"] : [luck.pick(honest).handle];
  const names = luck.pick<object>([
    { request_id: luck.pick(REQUEST_NAMES), request_type: "review" },
    { request_id: luck.digits(16), request_type: 7 },
    { request_id: "short", request_type: "review" },
    { request_id: luck.digits(64), request_type: "shutdown_request" },
  ]);
  hostile.say(luck.pick(hostile.logs), { to, type: "request", body: fromPlain(names) });
}

/** Answers and ends of requests that were asked of somebody else, or by somebody else. */
function meddle(play: Play, hostile: Hostile): void {
  const { luck } = play;
  const all = asked(play);
  if (all.length === 0) return;
  const { id, thread, from, body } = luck.pick(all);
  // An ack of its own request in the moment in which it asked would begin a thread.
  if (from === hostile.handle) return;
  const correlationId = luck.chance(0.9) ? thread : "another thread";
  const log = luck.pick(hostile.logs);
  if (luck.chance(0.3)) {
    const end = luck.pick(["cancels", "expires"]);
    const said = fromPlain({ [end]: id, of: luck.pick([from, hostile.handle]) });
    hostile.say(log, { to: [from], type: "correction", correlationId, body: said });
    return;
  }
  const approve = luck.pick<unknown>([true, false, "yes", 1, null]);
  const request_id = luck.chance(0.8) ? body["request_id"] : luck.pick(REQUEST_NAMES);
  const said = fromPlain({ acks: id, request_id, approve });
  hostile.say(log, { to: [from], type: "ack", correlationId, body: said });
}

/** What a hostile member does about requests, and how often. */
export const REQUEST_MISCHIEF: readonly (readonly [
  weight: number,
  mischief: (play: Play, hostile: Hostile) => void,
])[] = [
  [8, askFalsely],
  [12, meddle],
];

function askPlainly({ luck, honest }: Play, plain: PlainMember): void {
  const body = { request_id: luck.pick(REQUEST_NAMES), request_type: "shutdown_request" };
  plain.say(luck.pick(honest).handle, { type: "request", body });
}

/** With the event id, or by the name alone. */
function answerPlainly(play: Play, plain: PlainMember): void {
  const { luck } = play;
  const theirs = asked(play).filter(({ from }) => from !== PLAIN);
  if (theirs.length === 0) return;
  const { id, thread, from, body } = luck.pick(theirs);
  if (!play.honest.some(({ handle }) => handle === from)) return;
  const named = luck.chance(0.5) ? { acks: id } : {};
  const said = { ...named, request_id: body["request_id"], approve: luck.chance(0.6) };
  plain.say(from, { type: "ack", thread, body: said });
}

/** What the member that does not chain does about requests, and how often. */
export const REQUEST_DEEDS: readonly (readonly [
  weight: number,
  deed: (play: Play, plain: PlainMember) => void,
])[] = [
  [3, askPlainly],
  [6, answerPlainly],
];
