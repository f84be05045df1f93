import { ownLogs, type Log } from "../../../src/wire/layout.ts";
import { makeSigner, type Signer } from "../../../src/wire/signature.ts";
import { PLAIN } from "./cast.ts";
import type { Genuine } from "../checks/genuine.ts";
import { plainLine, type PlainSaying } from "./plain-lines.ts";
import type { Play } from "../play.ts";
import type { Stage } from "./stage.ts";

/**
 * An honest agent that knows of no chain, no heads and no ids in acks but those that it was shown:
 * as the Python reference. It never dies, and its lines are signed as v3.0.
 */
export class PlainMember {
  readonly #stage: Stage;
  readonly #signer: Signer;
  #lastMs = 0;

  constructor(stage: Stage) {
    this.#stage = stage;
    this.#signer = makeSigner(PLAIN, stage.seeds.get(PLAIN) as Uint8Array);
  }

  logTo(handle: string): Log {
    const logs = ownLogs(this.#stage.layout, PLAIN);
    return logs.find(({ addressee }) => addressee === handle) as Log;
  }

  say(to: string, saying: Omit<PlainSaying, "to">): void {
    this.#lastMs = Math.max(this.#lastMs + 1, this.#stage.nowMs);
    const line = plainLine({ ...saying, to: [to] }, "v3.0", this.#signer, this.#lastMs);
    const log = this.logTo(to);
    const { disk } = this.#stage.home(log);
    const file = disk.process().open(this.#stage.path(log), "append");
    file.append(Buffer.from(`${line}\n`, "utf8"));
    file.datasync();
    file.close();
  }
}

type Deed = (play: Play, plain: PlainMember) => void;

function anyPeer({ luck, honest }: Play): string {
  return luck.pick(honest).handle;
}

/** What stands in the two logs of that pair. */
function between({ ledger }: Play, peer: string): readonly Genuine[] {
  const mine = ledger.standing(`${PLAIN}_to_${peer}`);
  return [...mine, ...ledger.standing(`${peer}_to_${PLAIN}`)];
}

function beatPlainly(play: Play, plain: PlainMember): void {
  const body = { wakeup_count: 1, state: "idle", inbox_unread_count: 0 };
  plain.say(anyPeer(play), { type: "heartbeat", body });
}

/** A proposal of its own, now and then in a thread in which the other side has one. */
function proposePlainly(play: Play, plain: PlainMember): void {
  const peer = anyPeer(play);
  const theirs = between(play, peer).filter((each) => each.type === "proposal");
  const crossed = theirs.length > 0 && play.luck.chance(0.6) ? theirs.at(-1) : undefined;
  const thread = crossed === undefined ? {} : { thread: crossed.thread };
  plain.say(peer, {
    type: "proposal",
    body: play.luck.chance(0.5) ? { decision: "so" } : { required: [peer], decision: "so" },
    ...thread,
  });
}

function answerPlainly(play: Play, plain: PlainMember): void {
  const { luck } = play;
  const peer = anyPeer(play);
  const theirs = between(play, peer).filter(
    ({ type, from }) => type === "proposal" && from === peer,
  );
  if (theirs.length === 0) return;
  const { id, thread } = luck.pick(theirs.slice(-4));
  const body = luck.weighted([
    [5, { acks: id }],
    [3, {}],
    [2, { acks: id, approve: true }],
    [1, { acks: id, approve: false }],
  ]);
  plain.say(peer, { type: "ack", thread, body });
}

function ackOtherThings(play: Play, plain: PlainMember): void {
  const peer = anyPeer(play);
  const theirs = between(play, peer).filter(
    ({ type, from }) => type !== "heartbeat" && from === peer,
  );
  if (theirs.length === 0) return;
  const { id, thread } = play.luck.pick(theirs.slice(-4));
  plain.say(peer, { type: "ack", thread, body: { acks: id, request_id: "0123456789" } });
}

function takeBackPlainly(play: Play, plain: PlainMember): void {
  const peer = anyPeer(play);
  const mine = between(play, peer).findLast(
    ({ type, from }) => type === "proposal" && from === PLAIN,
  );
  if (mine === undefined || !play.luck.chance(0.3)) return;
  plain.say(peer, { type: "correction", thread: mine.thread, body: { reverts: mine.id } });
}

/** What the member that does not chain does, and how often. */
export const PLAIN_DEEDS: readonly (readonly [weight: number, deed: Deed])[] = [
  [6, beatPlainly],
  [5, proposePlainly],
  [8, answerPlainly],
  [2, ackOtherThings],
  [2, takeBackPlainly],
];
