// Random wires from a seed: honest agents act as next 3.4.6 and 3.11 say, hostile ones write anything.
import type { JsonObject, JsonValue } from "../../src/wire/json/json.ts";
import { randomFrom } from "../support/random.ts";
import { idOf, instant } from "./lines.ts";
import {
  branchOf,
  fieldsOf,
  findingsOf,
  followRoster,
  isChange,
  isCountedWord,
  isLeave,
  isLinked,
  leavesInForce,
  linkedLinesOf,
  partiesOf,
  placeOf,
  positionAt,
  readChange,
  readWire,
  samePlace,
  takersOf,
  threadOf,
  typeOf,
  type ModelLine,
  type Pinned,
  type Place,
  type Roster,
  type RosterPath,
  type Wire,
} from "./model.ts";

type Kind = "honest" | "hostile" | "unchained";

interface OwnAsk {
  readonly line: ModelLine;
  /** The parties of a request are asked one by one; of a proposal all together. */
  readonly party: string | undefined;
  isClosed: boolean;
}

export interface Agent {
  readonly handle: string;
  kind: Kind;
  readonly held: Map<string, ModelLine>;
  tip: ModelLine | undefined;
  isDead: boolean;
  hasLeft: boolean;
  readonly asks: OwnAsk[];
  readonly headsSaid: Map<string, string>;
}

export interface RandomWire {
  readonly seed: number;
  readonly pinned: Pinned;
  /** In an order in which each line comes behind all that its author knew. */
  readonly lines: readonly ModelLine[];
  readonly agents: readonly Agent[];
}

interface Draft {
  readonly type: string;
  readonly thread?: string | undefined;
  readonly to?: readonly string[] | undefined;
  readonly body: JsonValue;
}

const HANDLES = ["ann", "forge", "mason", "scribe"];
const rosterJson = (roster: Roster): JsonObject => Object.fromEntries(roster);
const asEntry = (place: Place): JsonValue => [place[1], place[2]];

/** One wire of 2 to 4 agents. `kinds` fixes what they are; else the seed decides. */
export function randomWire(seed: number, steps: number, kinds?: readonly Kind[]): RandomWire {
  const random = randomFrom(seed);
  const below = (count: number): number => Math.floor(random() * count);
  const chance = (probability: number): boolean => random() < probability;
  const pick = <Item>(items: readonly Item[]): Item | undefined => items[below(items.length)];

  const count = kinds?.length ?? 2 + below(3);
  const agents = HANDLES.slice(0, count).map((handle, index): Agent => {
    const drawn = random();
    const kind =
      kinds?.[index] ?? (drawn < 0.55 ? "honest" : drawn < 0.8 ? "hostile" : "unchained");
    return {
      handle,
      kind,
      held: new Map(),
      tip: undefined,
      isDead: false,
      hasLeft: false,
      asks: [],
      headsSaid: new Map(),
    };
  });
  const handles = agents.map(({ handle }) => handle);
  const lines: ModelLine[] = [];
  const newcomer = chance(0.3) ? agents.at(-1)?.handle : undefined;
  const pinned: Pinned = {
    wireId: "0d4be1a97725c83f",
    roster: handles.filter((handle) => handle !== newcomer || agents.length === 2),
    unchained: agents.filter(({ kind }) => kind === "unchained").map(({ handle }) => handle),
    epoch: chance(0.2) ? 2 : 0,
  };

  // --- Writing and reading ---

  function add(agent: Agent, line: ModelLine): ModelLine {
    lines.push(line);
    agent.held.set(line.id, line);
    return line;
  }

  function write(agent: Agent, draft: Draft, prev = agent.tip): ModelLine {
    const line: ModelLine = {
      author: agent.handle,
      seq: (prev?.seq ?? 0) + 1,
      id: idOf(`${seed} line ${lines.length}`),
      prev: prev?.id ?? null,
      timestamp: instant(lines.length),
      thread: draft.thread,
      type: draft.type,
      to: draft.to,
      body: draft.body,
      isSigned: true,
    };
    if (prev === agent.tip || chance(0.5)) agent.tip = line;
    return add(agent, line);
  }

  function writeUnchained(agent: Agent, draft: Draft): ModelLine {
    return add(agent, {
      author: agent.handle,
      seq: null,
      id: idOf(`${seed} line ${lines.length}`),
      prev: null,
      timestamp: instant(lines.length),
      thread: draft.thread ?? instant(lines.length),
      type: draft.type,
      to: draft.to,
      body: draft.body,
      isSigned: !chance(0.1),
    });
  }

  const viewOf = (agent: Agent): Wire => readWire(pinned, [...agent.held.values()]);
  const othersOf = (agent: Agent): readonly Agent[] => agents.filter((other) => other !== agent);

  /** The last line before the first fork (next 1.6). */
  function wholeOf(wire: Wire, author: string): ModelLine | undefined {
    const chained = wire.lines.filter((line) => line.author === author && line.seq !== null);
    let whole: ModelLine | undefined;
    for (let seq = 1; ; seq += 1) {
      const next = chained.filter((line) => line.seq === seq);
      const [line] = next;
      if (line === undefined || next.length > 1) return whole;
      if (line.prev !== (whole?.id ?? null)) return whole;
      whole = line;
    }
  }

  const isForkedFor = (wire: Wire, author: string): boolean =>
    wholeOf(wire, author) !==
    linkedLinesOf(wire, author)
      .toSorted((a, b) => (a.seq ?? 0) - (b.seq ?? 0))
      .at(-1);

  function deliver(from: Agent, to: Agent): void {
    const missing = lines.filter((line) => line.author === from.handle && !to.held.has(line.id));
    const number = 1 + below(6);
    const some =
      from.kind === "hostile" && chance(0.3)
        ? missing.filter(() => chance(0.5)).slice(0, number)
        : missing.slice(0, number);
    for (const line of some) {
      to.held.set(line.id, line);
      runDaemon(to);
    }
  }

  // --- Honest agents ---

  /** The answer of a party as the asker has it: an entry of a close. */
  function answerOf(
    wire: Wire,
    agent: Agent,
    ask: ModelLine,
    party: string,
  ): { approves: boolean; entry: JsonObject } | undefined {
    const whole = wholeOf(wire, party);
    const thread = ask.thread ?? "";
    const isProposal = typeOf(ask) === "proposal";
    const key = isProposal ? "acks" : "answers";
    const isOfAsk = (line: ModelLine, field: string): boolean => {
      const place = fieldsOf(line)[field];
      return Array.isArray(place) && place.join(" ") === placeOf(ask).join(" ");
    };
    if (whole !== undefined) {
      const words = branchOf(wire, whole).filter(
        (line) =>
          line.thread === thread &&
          ((line.type === "ack" && isOfAsk(line, key) && "approve" in fieldsOf(line)) ||
            (line.type === "proposal" && isProposal && isOfAsk(line, "counters"))),
      );
      const last = words.at(-1);
      if (last === undefined) return undefined;
      const approves = fieldsOf(last)["approve"] === true;
      const entry = { by: party, ack: asEntry(placeOf(last)), at: asEntry(placeOf(whole)) };
      if (!approves) return { approves, entry };
      if (isProposal && !samePlace(positionAt(wire, whole, thread), placeOf(ask))) return undefined;
      if (isChange(ask) && isCountedWord(wire, last).is !== "true") return undefined;
      return { approves, entry };
    }
    if (isChange(ask)) return undefined;
    const beginsThread =
      ask.timestamp === thread &&
      branchOf(wire, agent.tip ?? ask).filter(
        (line) => line.thread === thread && ["proposal", "request"].includes(line.type),
      ).length === 1;
    const ack = wire.lines.find((line) => {
      if (line.author !== party || line.seq !== null || line.thread !== thread) return false;
      if (line.type !== "ack" || !line.isSigned) return false;
      const fields = fieldsOf(line);
      if (fields["acks"] === ask.id || fields["answers"] === ask.id) return true;
      const isBare = !("acks" in fields || "answers" in fields || "about" in fields);
      return isBare && beginsThread && line.to?.includes(agent.handle) === true;
    });
    if (ack === undefined) return undefined;
    const approves = fieldsOf(ack)["approve"] !== false;
    return { approves, entry: { by: party, ack: [null, ack.id] } };
  }

  function close(
    agent: Agent,
    own: OwnAsk,
    outcome: string,
    answers: readonly JsonValue[],
    reason: string,
  ): void {
    own.isClosed = true;
    write(agent, {
      type: "correction",
      thread: own.line.thread,
      to: ["*"],
      body: {
        decides: placeOf(own.line),
        outcome,
        answers,
        reason,
        ...(own.party === undefined ? {} : { of: own.party }),
      },
    });
  }

  /** Closes own asks (next 3.4.6). */
  function runDaemon(agent: Agent): void {
    if (agent.kind !== "honest" || agent.isDead) return;
    for (const own of agent.asks) {
      const { tip } = agent;
      if (own.isClosed || tip === undefined) continue;
      const wire = viewOf(agent);
      const { line } = own;
      const isProposal = typeOf(line) === "proposal";
      if (isProposal && !samePlace(positionAt(wire, tip, line.thread ?? ""), placeOf(line))) {
        close(agent, own, "ended", [], "withdrawn");
        continue;
      }
      const parties = own.party === undefined ? partiesOf(line) : [own.party];
      const answers = parties.map((party) => answerOf(wire, agent, line, party));
      const rejection = answers.find((answer) => answer?.approves === false);
      if (rejection !== undefined) {
        close(agent, own, "ended", [rejection.entry], "rejected");
      } else if (parties.some((party) => linkedLinesOf(wire, party).some(isLeave)) && chance(0.5)) {
        close(agent, own, "ended", [], "a party left");
      } else if (
        answers.every((answer) => answer !== undefined) &&
        !parties.some((party) => isForkedFor(wire, party))
      ) {
        const entries = answers.map((answer) => answer?.entry ?? null);
        close(agent, own, "approved", entries, "agreed by all");
      }
    }
  }

  function ask(agent: Agent, draft: Draft): ModelLine {
    const line = write(agent, draft);
    const isRequest = typeOf(line) === "request";
    const parties = isRequest ? partiesOf(line) : [undefined];
    for (const party of parties) agent.asks.push({ line, party, isClosed: false });
    runDaemon(agent);
    return line;
  }

  function someParties(agent: Agent): readonly string[] {
    const others = othersOf(agent).map(({ handle }) => handle);
    const chosen = others.filter(() => chance(0.6)).slice(0, 2);
    return chosen.length > 0 ? chosen : others.slice(0, 1);
  }

  const someThread = (agent: Agent): string =>
    (chance(0.5) ? pick([...agent.held.values()])?.thread : undefined) ?? instant(lines.length);

  function askSomething(agent: Agent): void {
    const parties = someParties(agent);
    const drawn = someThread(agent);
    const thread = drawn.startsWith("roster:") ? instant(lines.length) : drawn;
    const names = chance(0.7) || parties.length > 1;
    const type = chance(0.65) ? "proposal" : "request";
    const body: JsonObject = { text: "?", ...(names ? { required: parties } : {}) };
    ask(agent, { type, thread, to: names && chance(0.3) ? ["*"] : parties, body });
  }

  /** The ends of what stands in the way of taking another change; undefined when one is not known. */
  function endsFor(
    wire: Wire,
    agent: Agent,
    thread: string,
    taken?: Place,
  ): readonly Place[] | undefined {
    const { tip } = agent;
    if (tip === undefined) return [];
    const takes = branchOf(wire, tip).flatMap((line): readonly Place[] => {
      if (line.thread !== thread) return [];
      if (line.type === "proposal") return [placeOf(line)];
      const acked = fieldsOf(line)["acks"];
      const isTake = line.type === "ack" && fieldsOf(line)["approve"] === true;
      return isTake && Array.isArray(acked) ? [acked as unknown as Place] : [];
    });
    const last = takes.filter((place) => !samePlace(place, taken)).at(-1);
    if (last === undefined) return [];
    const found = findingsOf(pinned, wire.lines).asks.find(({ ask: asked }) =>
      samePlace(asked, last),
    );
    if (found?.close !== undefined && ["ended", "rejected"].includes(found.outcome))
      return [found.close];
    const asked = wire.lines.find((line) => samePlace(placeOf(line), last));
    if (asked === undefined || found?.outcome !== "pending") return undefined;
    const leave = linkedLinesOf(wire, last[0]).find(
      (line) => isLeave(line) && branchOf(wire, line).includes(asked),
    );
    return leave === undefined ? undefined : [placeOf(leave)];
  }

  function answerSomething(agent: Agent): void {
    const wire = viewOf(agent);
    const isAnswered = (line: ModelLine): boolean =>
      linkedLinesOf(wire, agent.handle).some(({ body }) => JSON.stringify(body).includes(line.id));
    const isAgain = chance(0.3);
    const asked = pick(
      wire.lines.filter(
        (line) =>
          line.author !== agent.handle &&
          (isAgain || !isAnswered(line)) &&
          ["proposal", "request"].includes(line.type) &&
          line.thread !== undefined &&
          (line.seq === null || isLinked(wire, line)) &&
          partiesOf(line).includes(agent.handle),
      ),
    );
    if (asked === undefined) return;
    const { thread } = asked;
    // An approval in the thread of a roster takes what it names, even if that is no change.
    const isNoChange = thread?.startsWith("roster:") === true && !isChange(asked);
    const isVoid = asked.to?.includes("*") === false && !asked.to.includes(agent.handle);
    const approve = chance(0.75) && !isNoChange && !isVoid;
    const place = placeOf(asked);
    const key = typeOf(asked) === "proposal" ? "acks" : "answers";
    if (asked.seq === null) {
      if (
        partiesOf(asked).length !== 1 ||
        lines.some(
          ({ author, body }) =>
            author === agent.handle &&
            JSON.stringify(body).includes(`decides":${JSON.stringify(place)}`),
        )
      )
        return;
      write(agent, { type: "ack", thread, to: [asked.author], body: { [key]: place, approve } });
      write(agent, {
        type: "correction",
        thread,
        to: [asked.author],
        body: {
          decides: place,
          outcome: approve ? "approved" : "ended",
          approve,
          answers: [],
          reason: "-",
        },
      });
      runDaemon(agent);
      return;
    }
    if (typeOf(asked) === "proposal" && !isChange(asked) && !isNoChange && chance(0.2)) {
      const body = { counters: place, required: [asked.author], decision: "another" };
      ask(agent, { type: "proposal", thread, to: [asked.author], body });
      return;
    }
    const ends = isChange(asked) && approve ? endsFor(wire, agent, thread ?? "", place) : [];
    const change = readChange(asked);
    if (ends === undefined) return;
    if (approve && change !== undefined && !isFree(wire, change.after, asked)) return;
    const body = { [key]: place, approve, ...(ends.length > 0 ? { ends } : {}) };
    write(agent, { type: "ack", thread, to: [asked.author], body });
    runDaemon(agent);
  }

  /** No other change with that `after` is approved or waits (next 3.11). */
  function isFree(wire: Wire, after: number | Place, except?: ModelLine): boolean {
    return !findingsOf(pinned, wire.lines).asks.some(({ ask: asked, outcome, waitsFor }) => {
      const line = wire.lines.find((other) => samePlace(placeOf(other), asked));
      const change = line === undefined || line === except ? undefined : readChange(line);
      if (change === undefined || String(change.after) !== String(after)) return false;
      return outcome === "approved" || waitsFor !== undefined;
    });
  }

  const pathOf = (wire: Wire): RosterPath =>
    followRoster(wire, findingsOf(pinned, wire.lines).asks);

  function changeMembers(agent: Agent): void {
    const wire = viewOf(agent);
    const path = pathOf(wire);
    const { reached } = path;
    const after = path.afters[0] ?? pinned.epoch;
    if (path.isForked || reached.get(agent.handle) !== true || !isFree(wire, after)) return;
    const leaves = [...reached.keys()].flatMap((handle) =>
      leavesInForce(wire, handle, path).slice(0, 1),
    );
    const starts = new Map(
      [...reached].filter(([handle]) => !leaves.some(([left]) => left === handle)),
    );
    if (!starts.has(agent.handle)) return;
    const makes = new Map(starts);
    const absent = handles.filter((handle) => !starts.has(handle));
    const marked = [...starts].filter(([, mark]) => mark).length;
    const drawn = random();
    const added = pick([...absent, "zoe"]);
    if (drawn < 0.5 && added !== undefined) {
      makes.set(added, agents.find(({ handle }) => handle === added)?.kind !== "unchained");
    } else if (drawn < 0.8 && starts.size >= 3) {
      const removed = pick(
        [...starts].flatMap(([handle, mark]) =>
          handle === agent.handle || (mark && marked < 3) ? [] : [handle],
        ),
      );
      if (removed !== undefined) makes.delete(removed);
    }
    for (const handle of makes.keys()) {
      if (wholeOf(wire, handle) !== undefined && chance(0.5)) makes.set(handle, true);
    }
    const thread = threadOf(pinned.wireId, after);
    const ends = endsFor(wire, agent, thread);
    if (ends === undefined) return;
    ask(agent, {
      type: "proposal",
      thread,
      to: ["*"],
      body: {
        action: "members",
        after,
        starts: rosterJson(starts),
        leaves,
        makes: rosterJson(makes),
        required: takersOf(starts, makes).filter((handle) => handle !== agent.handle),
        decision: "members",
        ...(ends.length > 0 ? { ends } : {}),
      },
    });
  }

  function beat(agent: Agent): void {
    const wire = viewOf(agent);
    const heads: Record<string, JsonValue> = {};
    const refused: JsonValue[] = [];
    for (const { handle } of othersOf(agent)) {
      const whole = wholeOf(wire, handle);
      if (whole?.seq === null || whole?.seq === undefined) continue;
      if (isForkedFor(wire, handle)) {
        const next = [...agent.held.values()].filter(
          (line) => line.author === handle && line.seq === (whole.seq ?? 0) + 1,
        );
        const second = next.at(-1);
        if (second?.seq !== undefined && second.seq !== null && !agent.headsSaid.has(second.id)) {
          agent.headsSaid.set(second.id, second.id);
          refused.push([handle, second.seq, second.seq, second.id, "log_forked"]);
        }
      } else if (agent.headsSaid.get(handle) !== whole.id) {
        agent.headsSaid.set(handle, whole.id);
        heads[handle] = [whole.seq, whole.id, below(whole.seq + 1)];
      }
    }
    if (Object.keys(heads).length + refused.length === 0) return;
    write(agent, {
      type: "heartbeat",
      to: ["*"],
      body: { heads, ...(refused.length > 0 ? { refused } : {}) },
    });
  }

  function actHonestly(agent: Agent): void {
    const drawn = random();
    const isMember = !agent.hasLeft;
    if (drawn < 0.15 && isMember) askSomething(agent);
    else if (drawn < 0.6 && isMember) answerSomething(agent);
    else if (drawn < 0.7) beat(agent);
    else if (drawn < 0.85 && isMember) changeMembers(agent);
    else if (drawn < 0.9) {
      const own = pick(agent.asks.filter(({ isClosed }) => !isClosed));
      if (own !== undefined) close(agent, own, "ended", [], "no answer in time");
    } else if (drawn < 0.92 && isMember) {
      agent.hasLeft = true;
      for (const own of agent.asks) {
        if (!own.isClosed && isChange(own.line)) close(agent, own, "ended", [], "we leave");
      }
      const after = pathOf(viewOf(agent)).afters[0] ?? pinned.epoch;
      write(agent, { type: "shutdown", to: ["*"], body: { leave: true, after } });
    } else if (drawn < 0.93) {
      agent.isDead = chance(0.3);
    } else {
      // Who was added again acts as a member again.
      const wire = viewOf(agent);
      const path = pathOf(wire);
      const isBack = leavesInForce(wire, agent.handle, path).length === 0;
      agent.hasLeft = agent.hasLeft && !(isBack && path.reached.has(agent.handle));
    }
  }

  // --- Hostile agents ---

  function anyPlace(author?: string): Place {
    const line = pick(lines.filter((other) => author === undefined || other.author === author));
    if (line === undefined || chance(0.04))
      return [pick(handles) ?? "ann", 1 + below(6), idOf(`none ${below(9)}`)];
    return placeOf(line);
  }

  const anyAsk = (): ModelLine | undefined =>
    pick(lines.filter((line) => ["proposal", "request"].includes(line.type)));

  /** An entry that may be right: the last approving answer before some line of the party. */
  function anyEntry(asked: ModelLine, party: string): JsonValue {
    const wire = readWire(pinned, lines);
    if (chance(0.1))
      return { by: party, ack: asEntry(anyPlace(party)), at: asEntry(anyPlace(party)) };
    const isApproval = (line: ModelLine): boolean => {
      const fields = fieldsOf(line);
      const place = fields["acks"] ?? fields["answers"];
      const text = Array.isArray(place) ? place.join(" ") : place;
      const names = text === placeOf(asked).join(" ") || text === asked.id;
      return line.type === "ack" && names && fields["approve"] !== false;
    };
    const unchained = lines.find(
      (line) =>
        line.author === party &&
        line.seq === null &&
        line.type === "ack" &&
        line.thread === asked.thread,
    );
    const tips = linkedLinesOf(wire, party).filter((line) => branchOf(wire, line).some(isApproval));
    const at = pick(tips);
    if (at === undefined || chance(0.1)) {
      return unchained === undefined ? { by: party } : { by: party, ack: [null, unchained.id] };
    }
    const ack = branchOf(wire, at).findLast(isApproval) ?? at;
    return { by: party, ack: asEntry(placeOf(ack)), at: asEntry(placeOf(at)) };
  }

  function hostileDraft(agent: Agent): Draft {
    const drawn = random();
    const asked = anyAsk();
    const thread = chance(0.9) ? asked?.thread : someThread(agent);
    const others = othersOf(agent).map(({ handle }) => handle);
    const ends = chance(0.3) ? { ends: [anyPlace(), anyPlace(agent.handle)] } : {};
    if (drawn < 0.15 || asked === undefined) {
      const required: JsonValue | undefined = pick<JsonValue | undefined>([
        ...[undefined, others, others.slice(0, 1), []],
        ...[[agent.handle], [...others, ...others], "forge", ["did:wire:forge"], [7], null],
      ]);
      const type = chance(0.6) ? "proposal" : "request";
      const body = { ...(required === undefined ? {} : { required }), ...ends };
      return {
        type,
        thread: someThread(agent),
        to: pick([others, ["*"], others.slice(0, 1), undefined]),
        body,
      };
    }
    if (drawn < 0.35) {
      const key = (typeOf(asked) === "proposal") !== chance(0.1) ? "acks" : "answers";
      return {
        type: "ack",
        thread,
        to: ["*"],
        body: { [key]: placeOf(asked), approve: chance(0.8), ...ends },
      };
    }
    if (drawn < 0.65) {
      const asks = lines.filter(
        (line) => line.author === agent.handle && ["proposal", "request"].includes(line.type),
      );
      const acked = new Set(
        lines.filter(({ type }) => type === "ack").map(({ body }) => JSON.stringify(body)),
      );
      const answered = asks.filter(({ id }) => [...acked].some((body) => body.includes(id)));
      const own = (chance(0.8) ? pick(answered) : undefined) ?? pick(asks) ?? asked;
      const parties = partiesOf(own);
      const entries = parties.map((party) => anyEntry(own, party));
      if (chance(0.08)) entries.push(...entries.slice(0, 1));
      if (chance(0.05)) entries.pop();
      const of = typeOf(own) === "request" && chance(0.8) ? pick(parties) : undefined;
      const outcome = chance(0.7) ? "approved" : chance(0.95) ? "ended" : "rejected";
      const answers =
        of === undefined ? entries : entries.filter((_, index) => parties[index] === of);
      const body = { decides: placeOf(own), outcome, answers, ...(of === undefined ? {} : { of }) };
      return { type: "correction", thread: chance(0.95) ? own.thread : thread, to: ["*"], body };
    }
    if (drawn < 0.8) {
      const wire = readWire(pinned, lines);
      const { reached, afters } = pathOf(wire);
      const earlier = pick(lines.filter((line) => readChange(line) !== undefined));
      const from = chance(0.3) && earlier !== undefined ? readChange(earlier)?.after : undefined;
      const starts = new Map(reached);
      if (chance(0.15)) starts.delete(pick(handles) ?? "");
      const makes = new Map(starts);
      if (chance(0.5)) makes.set(pick([...handles, "eve"]) ?? "eve", true);
      else if (random() < 0.5) makes.delete(pick(others) ?? "");
      const required = takersOf(starts, makes).filter((handle) => handle !== agent.handle);
      const follows = from ?? pick(afters) ?? pinned.epoch;
      const left = lines.filter(isLeave).map(placeOf);
      const body = {
        ...{
          action: "members",
          after: follows,
          starts: rosterJson(starts),
          makes: rosterJson(makes),
        },
        leaves: chance(0.2) ? left : [],
        required: chance(0.9) ? required : others.slice(0, 1),
        ...ends,
      };
      return { type: "proposal", thread: threadOf(pinned.wireId, follows), to: ["*"], body };
    }
    if (drawn < 0.83) {
      const after = pick(pathOf(readWire(pinned, lines)).applied) ?? 1;
      return { type: "shutdown", to: ["*"], body: { leave: true, after } };
    }
    const entries = others.map((handle) => {
      const [, seq, id] = anyPlace(handle);
      return [handle, [seq ?? 1, id, below(5)]] as const;
    });
    return { type: "heartbeat", to: ["*"], body: { heads: Object.fromEntries(entries) } };
  }

  function actHostilely(agent: Agent): void {
    if (chance(0.25)) {
      // What makes a fork worth while is that it is right otherwise.
      agent.kind = "honest";
      if (chance(0.5)) runDaemon(agent);
      else actHonestly(agent);
      agent.kind = "hostile";
      return;
    }
    const own = lines.filter((line) => line.author === agent.handle && line.seq !== null);
    const drawn = random();
    const prev = drawn < 0.8 ? agent.tip : drawn < 0.97 ? pick(own) : undefined;
    write(agent, hostileDraft(agent), prev);
  }

  // --- Agents that do not chain ---

  function actUnchained(agent: Agent): void {
    const asked = pick(
      [...agent.held.values()].filter((line) => partiesOf(line).includes(agent.handle)),
    );
    const drawn = random();
    if (drawn < 0.1) {
      agent.kind = "honest";
      write(agent, { type: "heartbeat", to: ["*"], body: {} });
    } else if (drawn < 0.4 || asked === undefined) {
      const others = othersOf(agent).map(({ handle }) => handle);
      const to = pick([others.slice(0, 1), [pick(others) ?? "forge"], undefined, others, ["*"]]);
      const body: JsonValue = chance(0.2) ? { required: others.slice(0, 1) } : { text: "?" };
      writeUnchained(agent, { type: chance(0.7) ? "proposal" : "request", to, body });
    } else {
      const shape = pick<JsonObject>([{ acks: asked.id }, { answers: asked.id }, {}]) ?? {};
      const approve = pick<JsonObject>([{}, { approve: true }, { approve: false }]) ?? {};
      const body = { ...shape, ...approve };
      writeUnchained(agent, { type: "ack", thread: asked.thread, to: [asked.author], body });
    }
  }

  for (let step = 0; step < steps; step += 1) {
    const agent = pick(agents);
    if (agent === undefined) break;
    if (chance(0.55)) {
      const from = pick(othersOf(agent));
      if (from !== undefined) deliver(from, agent);
      continue;
    }
    if (agent.isDead) continue;
    if (agent.kind === "honest") actHonestly(agent);
    else if (agent.kind === "hostile") actHostilely(agent);
    else actUnchained(agent);
  }
  return { seed, pinned, lines, agents };
}
