import { existsSync, readFileSync } from "node:fs";
import type { CoreAgent } from "../../support/core-wire.ts";
import { HOSTILE, PLAIN } from "../stage/cast.ts";
import { chainIn, type Asked, type Stage } from "../stage/stage.ts";
import { inWire, textOf } from "../stage/texts.ts";
import { check } from "./broken.ts";
import { checkModel } from "./by-model.ts";

/** Everything that must hold once nothing more happens. */
export function checkFinale(stage: Stage): void {
  const steady = stage.agents.filter(({ name }) => !stage.unsteady.has(name));
  for (const agent of steady) {
    checkReady(stage, agent);
    for (const { name } of steady) checkChain(stage, agent, stage.wire.agent(name));
    checkCarriers(stage, agent);
    checkMail(stage, agent);
    checkDecisions(stage, agent);
    checkModel(stage, agent);
  }
  for (const agent of stage.wire.agents.values())
    for (const line of chainIn(agent, agent.name)) stage.noteSigned(line);
  for (const asked of stage.asked) checkAsk(stage, steady, asked);
  if (stage.cast.newcomer === undefined) return;
  const rosters = new Set(steady.map(({ core }) => JSON.stringify([...core.members])));
  check("outcomes agree", rosters.size === 1, () => `rosters ${[...rosters].join(" and ")}`);
}

function checkReady(_stage: Stage, { name, core, mark }: CoreAgent): void {
  const { readiness, store } = core;
  check("everybody goes on", readiness.is === "ready", () => `${name} is ${readiness.is}`);
  const { seq, id, fork } = store.chains.whole(name);
  check("everybody goes on", fork === null, () => `${name} has forked`);
  check("everybody goes on", mark?.seq === seq && mark.id === id, () => {
    return `the mark of ${name} is ${mark?.seq}, and its chain ends with ${seq}`;
  });
}

/** Copies are equal byte for byte, but for those whose signature is damaged and that a later line proves. */
function checkChain(stage: Stage, agent: CoreAgent, author: CoreAgent): void {
  const own = chainIn(author, author.name);
  const held = chainIn(agent, author.name);
  const { fork } = agent.core.store.chains.whole(author.name);
  check("nothing is lost", fork === null, () => `${agent.name} sees a fork of ${author.name}`);
  for (const [at, { seq, id }] of own.entries())
    check("nothing is lost", seq === at + 1 && held[at]?.id === id, () => {
      return `${agent.name} lacks line ${at + 1} of ${author.name}`;
    });
  for (const line of held) {
    if (!line.isVerified) continue;
    const text = textOf(line);
    const known = stage.bytes.get(line.id) ?? text;
    check("nothing is lost", text === known, () => `other bytes of ${line.author} ${line.seq}`);
    stage.bytes.set(line.id, known);
  }
}

/** Each line of a chain is in the carriers of its author. */
function checkCarriers({ carrying }: Stage, agent: CoreAgent): void {
  const texts = new Set(
    carrying
      .files(carrying.folder(agent.name))
      .filter(({ owner }) => owner === agent.name)
      .flatMap(({ path }) => readFileSync(path, "utf8").split("\n")),
  );
  const missing = chainIn(agent, agent.name).find((line) => !texts.has(textOf(line)));
  check("carriers are whole", missing === undefined, () => {
    return `line ${missing?.seq} of ${agent.name} is in none of its carriers`;
  });
}

/** Each line that was called sent is held by everybody, and is once in the mail of those whom it is for. */
function checkMail(stage: Stage, agent: CoreAgent): void {
  const { store } = agent.core;
  const { name } = agent;
  const ids = store.mail.after({}, 0, 10_000).map((n) => store.line(n)?.id ?? "");
  const mail = new Set(ids);
  check("mail comes once", mail.size === ids.length, () => `${name} has mail twice`);
  for (const { author, seq, id, to } of stage.said) {
    if (stage.unsteady.has(author)) continue;
    const state = store.chains.stateOf({ author, seq, id });
    check("nothing is lost", state === "linked", () => `${name} lacks ${author} ${seq}: ${state}`);
    const isFor = author !== name && (to.includes(name) || to.includes("*"));
    check("mail comes once", mail.has(id) === isFor, () => {
      return `${author} ${seq} is ${isFor ? "not" : ""} in the mail of ${name}`;
    });
  }
  const inbox = readFileSync(agent.inboxPath, "utf8").split("\n").slice(0, -1);
  const repeated = inbox.map((text) => JSON.parse(text) as { event_id: string; from: string });
  const once = new Set(repeated.map(({ event_id: id }) => id));
  const isWhole = once.size === repeated.length && ids.every((id) => once.has(id));
  check("mail comes once", isWhole, () => {
    return `inbox.jsonl of ${name} has ${repeated.length} lines for ${ids.length} messages`;
  });
  // What nobody publishes again may be lost with a store: the file has it all the same.
  const alone = repeated.find(
    ({ event_id: id, from }) => !mail.has(id) && from !== HOSTILE && !stage.unsteady.has(from),
  );
  check("mail comes once", alone === undefined, () => {
    return `${alone?.event_id} of ${alone?.from} is in inbox.jsonl of ${name}, and is no mail`;
  });
}

/** Each approved proposal of those who are steady is recorded once. */
function checkDecisions(stage: Stage, agent: CoreAgent): void {
  const path = inWire(stage.carrying.folder(agent.name), "decisions.jsonl");
  const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n").filter(Boolean) : [];
  const { store } = agent.core;
  for (const { line, is, parties } of stage.asked) {
    if (is !== "proposal" || line.seq === null) continue;
    const isOurs = line.author === agent.name || parties.includes(agent.name);
    const [part] = store.asks
      .ofThread(line.thread, 100)
      .filter(({ ask }) => ask.place.id === line.id);
    const count = lines.filter((text) => text.includes(`"${line.id}"`)).length;
    const isApproved = part?.state === "approved";
    const isRight = isApproved && isOurs ? count >= 1 : isApproved || count === 0;
    check("decisions are recorded once", isRight, () => {
      return `${line.author} ${line.seq} is ${part?.state}, and is recorded ${count} times`;
    });
  }
}

function checkAsk(stage: Stage, agents: readonly CoreAgent[], { line, parties, is }: Asked): void {
  const states = agents.map(({ core }) =>
    core.store.asks
      .ofThread(line.thread, 100)
      .filter(({ ask }) => ask.place.id === line.id)
      .map(({ party, state }) => `${party} ${state}`)
      .toSorted()
      .join(),
  );
  const asker = stage.wire.agents.get(line.author);
  if (asker === undefined && line.author !== PLAIN) return;
  check("outcomes agree", new Set(states).size === 1, () => {
    return `${line.author} ${line.seq} is ${states.join(" and ")}`;
  });
  const isAmongSteady = [line.author, ...parties].every((name) =>
    agents.some((each) => each.name === name),
  );
  const isAlone = stage.asked.filter((each) => each.line.thread === line.thread).length === 1;
  if (!isAmongSteady || !isAlone || is !== "proposal") return;
  const said = parties.map((party) => answersOf(stage.wire.agent(party), line));
  const isAgreed = said.every((each) => each.length > 0 && !each.includes(false));
  const closes = asker === undefined ? [] : withdrawalsOf(asker, line);
  if (isAgreed && closes === 0)
    check("outcomes agree", states[0] === " approved", () => {
      return `${line.author} ${line.seq} is agreed by all, and is ${states[0]}`;
    });
  if (said.some((each) => each.at(-1) === false))
    check("outcomes agree", states[0] !== " open", () => {
      return `${line.author} ${line.seq} is rejected, and is open`;
    });
}

/** What a party has said of an ask, in the order of its chain. */
function answersOf(party: CoreAgent, ask: Asked["line"]): boolean[] {
  return bodiesOf(party).flatMap(({ type, body }) => {
    if (type === "ack" && names(body["acks"], ask)) return [body["approve"] === true];
    return names(body["counters"], ask) ? [false] : [];
  });
}

function withdrawalsOf(asker: CoreAgent, ask: Asked["line"]): number {
  return bodiesOf(asker).filter(
    ({ type, body }) =>
      type === "correction" && names(body["decides"], ask) && body["reason"] === "no",
  ).length;
}

function names(value: unknown, { author, seq, id }: Asked["line"]): boolean {
  return JSON.stringify(value) === JSON.stringify([author, seq, id]);
}

function bodiesOf(agent: CoreAgent): { type: string; body: Record<string, unknown> }[] {
  return chainIn(agent, agent.name).map(
    (line) => JSON.parse(textOf(line)) as { type: string; body: Record<string, unknown> },
  );
}
