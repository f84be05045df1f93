import { fromPlain } from "../../../src/wire/json/json.ts";
import type { Play } from "../play.ts";
import type { Hostile } from "./hostile.ts";
import { inThread, others, send } from "./sending.ts";
import type { Member } from "./stage.ts";

const PATTERNS = ["src/**", "src/api/*", "src/api/x.ts", "docs/**", "**", "test/?.ts"];

export async function claim(play: Play, who: Member): Promise<void> {
  const { luck } = play;
  await send(play, who, {
    to: luck.chance(0.7) ? ["*"] : luck.some(others(play, who)),
    type: "claim",
    subject: "mine",
    body: {
      paths: luck.some(PATTERNS),
      mode: luck.pick(["exclusive", "exclusive", "shared"]),
      ttl_seconds: luck.pick([60, 3_600, 86_400]),
    },
  });
}

export async function release(play: Play, who: Member): Promise<void> {
  const claims = await play.stage.ask(who, (agent) => agent.view("claims", undefined));
  const own = claims?.filter(({ from, until }) => from === who.handle && until !== "") ?? [];
  if (own.length === 0) return;
  const { correlation_id: thread } = play.luck.pick(own.slice(-8));
  await send(play, who, { ...inThread(thread, ["*"], "release"), body: {} });
}

/** Of a domain's owner, and of anybody else. */
export async function answerClaim(play: Play, who: Member): Promise<void> {
  const { luck } = play;
  const claims = await play.stage.ask(who, (agent) => agent.view("claims", undefined));
  const theirs = claims?.filter(({ from, to }) => from !== who.handle && to.includes(who.handle));
  if (theirs === undefined || theirs.length === 0) return;
  const { event_id: id, correlation_id: thread, from } = luck.pick(theirs.slice(-8));
  const body = { acks: id, approve: luck.chance(0.7) };
  await send(play, who, { ...inThread(thread, [from], "ack"), body });
}

function claimFalsely({ luck }: Play, hostile: Hostile): void {
  const body = luck.pick<object>([
    { paths: luck.some(PATTERNS), mode: "exclusive", ttl_seconds: 86_400 },
    { paths: ["**"], ttl_seconds: 1e9 },
    { paths: Array.from({ length: 33 }, () => "**") },
    { paths: ["../../etc/*", 7] },
    { paths: "src/**", mode: "mine" },
  ]);
  hostile.say(luck.pick(hostile.logs), { type: "claim", body: fromPlain(body) });
}

/** Releases and answers of claims that are somebody else's. */
function meddleWithClaims(play: Play, hostile: Hostile): void {
  const { luck, ledger } = play;
  const all = ledger.all.filter(({ type }) => type === "claim").slice(-8);
  if (all.length === 0) return;
  const { id, thread, from } = luck.pick(all);
  if (from === hostile.handle && luck.chance(0.5)) return;
  const isRelease = luck.chance(0.4);
  if (!isRelease && from === hostile.handle) return;
  hostile.say(luck.pick(hostile.logs), {
    to: [isRelease || from === hostile.handle ? "*" : from],
    type: isRelease ? "release" : "ack",
    correlationId: thread,
    body: fromPlain(isRelease ? {} : { acks: id, approve: luck.pick<unknown>([true, false, 1]) }),
  });
}

/** What a hostile member does about claims, and how often. */
export const CLAIM_MISCHIEF: readonly (readonly [
  weight: number,
  mischief: (play: Play, hostile: Hostile) => void,
])[] = [
  [8, claimFalsely],
  [8, meddleWithClaims],
];
