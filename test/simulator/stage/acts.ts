import type { Agent } from "../../../src/agent/agent.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import type { Play } from "../play.ts";
import { closeYear, compress } from "./archive-deeds.ts";
import {
  haveMembersChange,
  mayMove,
  SEEDS_WITHOUT_ARCHIVE,
  SEEDS_WITHOUT_CLAIMS,
  SEEDS_WITHOUT_REQUESTS,
} from "./cast.ts";
import { answerClaim, claim, release } from "./claim-deeds.ts";
import { agreeToMove, hasMoved, proposeMove, takeMove } from "./layout-deeds.ts";
import { agreeToChange, applyChange, joinWire, leaveWire, proposeChange } from "./member-deeds.ts";
import { REQUEST_NAMES } from "./request-deeds.ts";
import { inThread, others, send, type PlainDraft } from "./sending.ts";
import type { Member } from "./stage.ts";

const SEVERITIES = ["low", "medium", "high", "critical"] as const;

/** Several agents of one host ask at once: their groups go out as one write. */
async function sendTogether(play: Play, who: Member): Promise<void> {
  const groups = [note(play, who), note(play, who), note(play, who)].map((draft) => [
    { ...draft, body: fromPlain(draft.body) },
  ]);
  await play.stage.tell(
    who,
    (agent) => agent.send(groups),
    (answers) => {
      for (const { log, event_id: id } of answers.flatMap(({ messages }) => messages)) {
        play.ledger.promise(log, id);
      }
    },
  );
}

function note(play: Play, who: Member): PlainDraft {
  const { luck } = play;
  const size = luck.weighted([
    [96, luck.between(0, 200)],
    [3, luck.between(200, 3_000)],
    [1, luck.between(3_000, 40_000)],
  ]);
  return {
    to: luck.chance(0.5) ? ["*"] : luck.some(others(play, who)),
    type: luck.pick(["feedback", "ship", "warning", "request"]),
    subject: luck.pick(["Hallo", "Zażółć gęślą", "𝒯 is astral", 'a "quoted" \\ subject']),
    // In UTF-16 the second of these keys would come before the first.
    body: { text: "x".repeat(size), "～": 1, "😀": 2, nested: { b: [1, 2], a: null } },
    ...(luck.chance(0.2) ? { ackRequired: true } : {}),
  };
}

async function speak(play: Play, who: Member): Promise<void> {
  const notes = Array.from({ length: play.luck.between(1, 4) }, () => note(play, who));
  await send(play, who, ...notes);
}

async function propose(play: Play, who: Member): Promise<void> {
  const { luck, stage } = play;
  const all = others(play, who);
  const isOutbox = mayMove(play.seed) ? hasMoved(who) : stage.layout.kind === "outbox";
  const required = isOutbox ? luck.some(all) : [luck.pick(all)];
  const threads = luck.chance(0.3) ? await proposalsOf(who, play) : [];
  const counter = threads.length > 0 ? luck.pick(threads) : undefined;
  await send(play, who, {
    to: required,
    type: "proposal",
    subject: "Let us",
    body: {
      required,
      decision: `as ${who.handle} says`,
      ...(luck.chance(0.3) ? { due: dueFor(play, who) } : {}),
      ...(counter === undefined ? {} : { counters: counter.proposal_id }),
    },
    ackRequired: true,
    ...(counter === undefined ? {} : { correlationId: counter.correlation_id }),
  });
}

/** Soon or late, by its own clock; what it would be refused for is not asked. */
function dueFor({ luck, stage }: Play, who: Member): string {
  const aheadMs = luck.pick([5, 60, 600, 1_400]) * 60_000;
  return new Date(stage.nowMs + who.clockOffMs + aheadMs).toISOString();
}

async function proposalsOf(who: Member, { stage }: Play) {
  const all = await stage.ask(who, (agent) => agent.view("proposals", undefined));
  return all?.filter(({ status }) => status === "open") ?? [];
}

/** Acks, rejections and reverts, of what is open and now and then of what is not. */
async function answerProposal(play: Play, who: Member): Promise<void> {
  const { luck, stage } = play;
  const all = await stage.ask(who, (agent) => agent.view("proposals", undefined));
  const open = all?.filter(({ status }) => status === "open" || luck.chance(0.05)) ?? [];
  if (open.length === 0) return;
  const { proposal_id: id, correlation_id: thread, proposer } = luck.pick(open.slice(-6));
  if (proposer === who.handle) {
    if (!luck.chance(0.2)) return;
    const body = { reverts: id };
    await send(play, who, { ...inThread(thread, ["*"], "correction"), body });
    return;
  }
  const approve = luck.chance(0.8);
  await send(play, who, { ...inThread(thread, [proposer], "ack"), body: { acks: id, approve } });
}

/** The threads in which somebody has proposed something, the newest last. */
function proposedThreads({ ledger }: Play): string[] {
  return ledger.all.flatMap(({ type, thread }) => (type === "proposal" ? [thread] : [])).slice(-6);
}

/** News in a thread that is about a proposal, by whomever. */
async function speakInThread(play: Play, who: Member): Promise<void> {
  const threads = proposedThreads(play);
  if (threads.length === 0) return;
  const type = play.luck.pick(["ship", "ship", "request"]);
  const said = inThread(play.luck.pick(threads), ["*"], type);
  const body = type === "ship" ? {} : { request_id: "0123456789", request_type: "review" };
  await send(play, who, { ...said, body });
}

/** An ack of something else in such a thread: it says nothing about the proposal. */
async function ackInThread(play: Play, who: Member): Promise<void> {
  const threads = new Set(proposedThreads(play));
  const others = play.ledger.all.filter(
    ({ type, thread, from }) => TALK.has(type) && threads.has(thread) && from !== who.handle,
  );
  if (others.length === 0) return;
  const { id, thread, from, type } = play.luck.pick(others.slice(-6));
  const isAnswer = type === "request";
  const body = isAnswer
    ? { acks: id, request_id: "0123456789", approve: play.luck.chance(0.5) }
    : { acks: id };
  await send(play, who, { ...inThread(thread, [from], "ack"), body });
}

const TALK: ReadonlySet<string> = new Set(["ship", "warning", "request", "feedback"]);

async function answerWhatIsOwed(play: Play, who: Member): Promise<void> {
  const owed = await play.stage.ask(who, (agent) => agent.view("pending", undefined));
  const mine = owed?.filter(({ owed_by: by }) => by === who.handle) ?? [];
  if (mine.length === 0) return;
  const { event_id: id, correlation_id: thread, from } = play.luck.pick(mine);
  await send(play, who, { ...inThread(thread, [from], "ack"), body: { acks: id } });
}

async function ask(play: Play, who: Member): Promise<void> {
  const { luck } = play;
  const name = luck.chance(0.4) ? luck.pick(REQUEST_NAMES) : luck.digits(16);
  await send(play, who, {
    to: luck.some(others(play, who)),
    type: "request",
    subject: "may I",
    body: {
      request_id: name,
      request_type: luck.pick(["review", "plan_approval", "shutdown"]),
      ...(luck.chance(0.3) ? { due: dueFor(play, who) } : {}),
    },
  });
}

/** What is pending, and now and then what is not; now and then one's own, or somebody else's. */
async function answerRequest(play: Play, who: Member): Promise<void> {
  const { luck, stage } = play;
  const all = await stage.ask(who, (agent) => agent.view("requests", {}));
  const open = all?.filter(({ status }) => status === "pending" || luck.chance(0.1)) ?? [];
  const meant = open.filter(({ target }) => target === who.handle || luck.chance(0.1)).slice(-6);
  if (meant.length === 0) return;
  const { event_id: id, request_id, correlation_id: thread, from } = luck.pick(meant);
  if (from === who.handle) return;
  const body = { acks: id, request_id, approve: luck.chance(0.7), reason: "so it is" };
  await send(play, who, { ...inThread(thread, [from], "ack"), body });
}

async function cancelRequest(play: Play, who: Member): Promise<void> {
  const { luck, stage } = play;
  const all = await stage.ask(who, (agent) => agent.view("requests", {}));
  const own = all?.filter(({ from, status }) => from === who.handle && status === "pending") ?? [];
  if (own.length === 0) return;
  const { event_id: id, correlation_id: thread, target } = luck.pick(own.slice(-6));
  const body = { cancels: id, ...(luck.chance(0.5) ? { of: target } : {}) };
  await send(play, who, { ...inThread(thread, ["*"], "correction"), body });
}

async function wakeUp(play: Play, who: Member): Promise<void> {
  await play.stage.ask(who, (agent) => agent.wake());
}

async function alarm(play: Play, who: Member): Promise<void> {
  const to = play.luck.some(others(play, who));
  const body = { severity: play.luck.pick(SEVERITIES) };
  await send(play, who, { to, type: "incident", subject: "it burns", body });
}

async function resume(play: Play, who: Member): Promise<void> {
  const safe = await play.stage.ask(who, (agent) => agent.view("safe_mode", undefined));
  if (safe === undefined || safe === null) return;
  const key = safe.author === who.handle ? "resumes" : "resumes_here";
  const body = { [key]: safe.escalation_id, reason: "looked at" };
  await send(play, who, { to: ["*"], type: "incident", subject: "on with it", body });
}

async function read(play: Play, who: Member): Promise<void> {
  await play.stage.ask(who, (agent: Agent) => agent.markRead("all"));
}

/** An agent that falls behind: it marks the oldest few and leaves the rest. */
async function readSome(play: Play, who: Member): Promise<void> {
  const count = play.luck.between(1, 5);
  await play.stage.ask(who, async (agent: Agent) => {
    const inbox = await agent.view("inbox", { unread: true });
    await agent.markRead(inbox.slice(0, count).map(({ _meta }) => _meta.id));
  });
}

async function stateOf(play: Play, who: Member): Promise<void> {
  const state = play.luck.pick(["idle", "busy", "blocked"] as const);
  await play.stage.ask(who, (agent) => agent.setStatus({ state, headsDown: state === "busy" }));
}

async function reload(play: Play, who: Member): Promise<void> {
  await play.stage.ask(who, (agent) => agent.reload());
}

type Act = (play: Play, who: Member) => Promise<void>;

const ACTS: readonly (readonly [weight: number, act: Act])[] = [
  [20, speak],
  [3, sendTogether],
  [7, propose],
  [14, answerProposal],
  [8, answerWhatIsOwed],
  [3, speakInThread],
  [4, ackInThread],
  [2, alarm],
  [4, resume],
  [2, read],
  [3, readSome],
  [2, stateOf],
  [1, reload],
];

const REQUESTING: typeof ACTS = [
  [5, ask],
  [7, answerRequest],
  [1, cancelRequest],
  [4, wakeUp],
];

const CLAIMING: typeof ACTS = [
  [6, claim],
  [4, release],
  [5, answerClaim],
];

const ARCHIVING: typeof ACTS = [
  [4, closeYear],
  [2, compress],
];

const CHANGING_MEMBERS: typeof ACTS = [
  [25, proposeChange],
  [70, agreeToChange],
  [50, applyChange],
  [25, joinWire],
  [2, leaveWire],
];

const MOVING: typeof ACTS = [
  [10, proposeMove],
  [40, agreeToMove],
  [12, takeMove],
];

/** What agents do in the play of a seed, and how often each. */
export function actsOf(seed: number): typeof ACTS {
  return [
    ...ACTS,
    ...(seed > SEEDS_WITHOUT_REQUESTS ? REQUESTING : []),
    ...(seed > SEEDS_WITHOUT_CLAIMS ? CLAIMING : []),
    ...(seed > SEEDS_WITHOUT_ARCHIVE ? ARCHIVING : []),
    ...(mayMove(seed) ? MOVING : []),
    ...(haveMembersChange(seed) ? CHANGING_MEMBERS : []),
  ];
}
