import { rosterThread } from "../../../src/protocol/asks/members-change.ts";
import {
  leaveDrafts,
  memberAckFields,
  memberChangeDraft,
} from "../../../src/agent/answers/members.ts";
import type { HeldLine } from "../../../src/store/store.ts";
import type { Draft } from "../../../src/wire/compose.ts";
import { SECOND_MS } from "../../../src/wire/durations.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { isChained, placeJson } from "../../../src/wire/places.ts";
import type { CoreAgent } from "../../support/core-wire.ts";
import type { Asked, Stage } from "./stage.ts";

/** One thing that an agent, or its daemon, does. */
export type Act = (stage: Stage, agent: CoreAgent) => unknown;

export const ACTS: readonly (readonly [weight: number, name: string, act: Act])[] = [
  [12, "reads", readAll],
  [6, "says something", (stage, agent) => stage.say(agent, words(stage, agent))],
  [3, "proposes", (stage, agent) => ask(stage, agent, "proposal")],
  [2, "requests", (stage, agent) => ask(stage, agent, "request")],
  [7, "answers", answer],
  [1, "withdraws", withdraw],
  [3, "lets time pass", letTimePass],
  [2, "beats", (_stage, { core }) => (core.heart.beat(), core.publish())],
  [1, "marks all as read", (_stage, { core }) => core.markRead("all")],
  [1, "publishes", (_stage, { core }) => core.publish()],
];

export const MEMBER_ACTS: typeof ACTS = [
  [2, "changes members", changeMembers],
  [6, "agrees to a change of members", agreeToChange],
  [0.3, "leaves", leave],
];

async function readAll(stage: Stage, agent: CoreAgent): Promise<void> {
  if (stage.luck.chance(0.7)) stage.fetch(agent);
  while (await agent.core.round());
}

function letTimePass({ wire, luck }: Stage): void {
  wire.nowMs += luck.between(0, 20) * SECOND_MS;
}

function partiesFor(stage: Stage, { name, core }: CoreAgent): string[] {
  return [...core.members.keys()].filter(
    (each) => each !== name && (stage.cast.honest.includes(each) || stage.luck.chance(0.3)),
  );
}

function ask(
  stage: Stage,
  agent: CoreAgent,
  is: Asked["is"],
  draft: Partial<Draft> = {},
  only?: readonly string[],
  more: object = {},
): void {
  const known = partiesFor(stage, agent);
  const parties = only ?? (known.length === 0 ? [] : stage.luck.some(known));
  if (parties.length === 0) return;
  const body = fromPlain({ required: parties, decision: "do it", request_type: "task", ...more });
  const whole = { type: is, to: parties, ackRequired: true, body, ...draft };
  const line = stage.say(agent, whole);
  if (line !== undefined) stage.asked.push({ line, is, parties });
}

function answer(stage: Stage, agent: CoreAgent): void {
  const { luck } = stage;
  const known = stage.asked.filter(
    ({ line, parties }) => parties.includes(agent.name) && isHeld(agent, line),
  );
  if (known.length === 0) return;
  const { line, is } = luck.pick(known.slice(-5));
  const draft = { to: [line.author], correlationId: line.thread };
  const place = [line.author, line.seq, line.id];
  if (is === "proposal" && line.seq !== null && luck.chance(0.1))
    return ask(stage, agent, is, draft, [line.author], { counters: place });
  const name = is === "proposal" ? "acks" : "answers";
  const body = fromPlain({ [name]: place, approve: luck.chance(0.8) });
  stage.say(agent, { ...draft, type: "ack", body });
}

function withdraw(stage: Stage, agent: CoreAgent): void {
  const open = stage.asked.filter(({ line }) => line.author === agent.name && isHeld(agent, line));
  if (open.length === 0) return;
  const { line, parties } = stage.luck.pick(open);
  const body = { decides: [line.author, line.seq, line.id], outcome: "ended", answers: [] };
  const draft = { to: parties, correlationId: line.thread };
  stage.say(agent, { ...draft, type: "correction", body: fromPlain({ ...body, reason: "no" }) });
}

function isHeld({ core }: CoreAgent, { author, seq, id }: Asked["line"]): boolean {
  const place = { author, seq, id };
  return isChained(place)
    ? core.store.chains.stateOf(place) === "linked"
    : core.store.lineAt(place) !== undefined;
}

/** Words that name some line that their author holds. */
function words({ luck }: Stage, { core }: CoreAgent): Partial<Draft> {
  if (luck.chance(0.3)) return {};
  const lines = core.store
    .lines({ after: 0, limit: 10_000 })
    .filter((line): line is HeldLine => line.seq !== null && line.branch !== null);
  if (lines.length === 0) return {};
  const line = luck.pick(lines);
  const thread = luck.chance(0.5) && line.thread !== "" && !line.thread.startsWith("roster:");
  return {
    ...(thread ? { correlationId: line.thread } : {}),
    body: fromPlain({ about: placeJson(line), text: "of this" }),
  };
}

function changeMembers(stage: Stage, agent: CoreAgent): void {
  const { newcomer, honest } = stage.cast;
  const { core, name } = agent;
  if (newcomer === undefined || !core.members.has(name)) return;
  const there = honest.filter((each) => core.members.has(each));
  const gone = honest.filter((each) => !core.members.has(each));
  const isAdded = gone.length > 0 && stage.luck.chance(0.7);
  if (!isAdded && there.length < 3) return;
  const handle = stage.luck.pick(isAdded ? gone : there);
  const change = isAdded ? { add: handle, chains: true } : { remove: handle };
  const made = memberChangeDraft(core, change);
  if (!made.ok) return;
  stage.unsteady.add(handle);
  stage.say(agent, made.draft);
}

function agreeToChange(stage: Stage, agent: CoreAgent): void {
  const { core, name } = agent;
  const thread = rosterThread(core.history.wireId, core.roster.after);
  const open = core.store.asks
    .ofThread(thread, 100)
    .filter(({ ask: { parties, place }, state }) => {
      return state === "open" && place.author !== name && parties?.includes(name) === true;
    });
  if (open.length === 0) return;
  const { place } = stage.luck.pick(open).ask;
  if (!isChained(place)) return;
  const agreed = memberAckFields(core, place);
  if (!agreed.ok) return;
  const body = fromPlain({ acks: placeJson(place), approve: true });
  stage.say(agent, {
    ...{ type: "ack", to: [place.author], correlationId: thread },
    body: Object.assign(body as object, agreed.body) as typeof body,
  });
}

function leave(stage: Stage, agent: CoreAgent): void {
  if (stage.cast.newcomer === undefined || !agent.core.members.has(agent.name)) return;
  if (stage.unsteady.size > 1) return;
  stage.unsteady.add(agent.name);
  stage.send(agent, leaveDrafts(agent.core));
}
