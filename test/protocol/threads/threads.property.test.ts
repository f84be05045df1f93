import fc from "fast-check";
import { expect, test } from "vitest";
import { apply } from "../../../src/protocol/core.ts";
import type { LineEvent } from "../../../src/protocol/events.ts";
import { emptyState } from "../../../src/protocol/state.ts";
import { pendingView } from "../../../src/protocol/threads/threads-view.ts";
import { threadsView } from "./all-threads.ts";
import { interleave } from "../../support/scripts/outcome-arbitraries.ts";
import {
  hours,
  lineEvent,
  NOON,
  scriptEnv,
  seconds,
  WireScript,
} from "../../support/scripts/wire-script.ts";

const AGENTS = ["a", "b", "c"];

const step = fc.record({
  from: fc.constantFrom(...AGENTS),
  to: fc.subarray(["a", "b", "c", "*"], { minLength: 1 }),
  type: fc.constantFrom("ship", "request", "warning", "ack", "ack", "proposal", "correction"),
  thread: fc.constantFrom(1, 1, 1, 2),
  asks: fc.boolean(),
  /** How the line names an earlier one of its thread, if it does. */
  names: fc.option(fc.nat(5), { freq: 3 }),
  answersRequest: fc.boolean(),
  /** Some lines are received at the same moment. */
  wait: fc.constantFrom(0, 1, 5),
  refused: fc.nat(9).map((chance) => chance === 0),
});
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** A line, and what the model has to know of it. */
interface Said {
  readonly event: LineEvent;
  readonly step: Step;
  readonly id: string;
  readonly requestId: string;
  readonly names: string | undefined;
}

const nameOf = (count: number): string => (0x0badcafe00 + count).toString(16);

/** Conversations in two threads: each begins with a line of `a`, whose timestamp is its name. */
function talk(steps: readonly Step[]): { said: Said[]; script: WireScript } {
  const script = new WireScript("outbox", AGENTS);
  const said: Said[] = [];
  const threadNames = new Map<number, string>();
  let at = NOON;
  for (const each of steps) {
    at += seconds(each.wait);
    const name = threadNames.get(each.thread);
    const from = name === undefined ? "a" : each.from;
    const type = name === undefined ? "ship" : each.type;
    // To all of three, a proposal that names nobody needs nobody.
    const to = type === "proposal" ? ["*"] : each.to;
    const earlier = said.filter((other) => other.step.thread === each.thread);
    const named = each.names === null ? undefined : earlier[earlier.length - 1 - each.names]?.id;
    const asked = earlier.find(({ id }) => id === named);
    const requestId = type === "request" ? nameOf(said.length) : (asked?.requestId ?? nameOf(0));
    const key = type === "correction" ? "corrects" : type === "proposal" ? "counters" : "acks";
    const line = script.say(from, name === undefined ? at + each.thread / 1_000 : at, {
      type,
      to,
      body: {
        nonce: said.length,
        ...(named === undefined ? {} : { [key]: named }),
        ...(each.answersRequest ? { request_id: requestId, approve: true } : {}),
      },
      ...(name === undefined ? {} : { thread: name }),
    });
    threadNames.set(each.thread, name ?? line.message.correlationId);
    const event = lineEvent(line, "b", {
      message: { ...line.message, ackRequired: each.asks || type === "proposal" },
      refused: each.refused ? "tier_refused" : undefined,
    });
    const { id } = line.message;
    said.push({ event, step: { ...each, from, to, type }, id, requestId, names: named });
  }
  return { said, script };
}

const inOrder = (a: Said, b: Said): number =>
  a.event.at - b.event.at ||
  (a.event.log < b.event.log ? -1 : a.event.log > b.event.log ? 1 : a.event.line - b.event.line);

/** Spec 3.3 of all the lines of one thread at once. */
function slowThread(lines: readonly Said[]) {
  const messages = [...lines].sort(inOrder);
  const taken = messages.filter(({ event }) => event.refused === undefined);
  const root = messages.find(
    ({ event }) => event.message.correlationId === event.message.timestamp,
  );
  const asking = taken.filter(({ event, step }) => {
    // Among three agents a proposal that names nobody can never be ratified: it asks for nothing.
    return asks({ event, step }) && step.type !== "proposal";
  });
  const owed = asking.flatMap((asked) =>
    AGENTS.filter((party) => {
      const { from, to } = asked.step;
      if (party === from || !(to.includes("*") || to.includes(party))) return false;
      return !taken.some(
        (line) =>
          line.step.from === party &&
          isAnAnswer(line, asked) &&
          (line.names === asked.id || line.event.at >= asked.event.at),
      );
    }).map((party) => `${party} owes on ${asked.id}`),
  );
  const anyAsked = messages.some(asks);
  return {
    root: root?.id ?? null,
    status: owed.length > 0 ? "waiting_on" : anyAsked ? "closed" : "open",
    participants: [...new Set(messages.map(({ step: { from } }) => from))],
    messages: messages.map(({ id, step: { from } }) => ({
      id,
      corrections: messages
        .filter((other) => other.step.type === "correction" && other.step.from === from)
        .filter((other) => (other.names ?? root?.id) === id)
        .map((other) => other.id),
    })),
    owed: owed.sort(),
  };
}

function asks({ event, step }: Pick<Said, "event" | "step">): boolean {
  return event.message.ackRequired || step.type === "request";
}

/** Of a request, `answersRequest` says that it has a request id: it is no plain one then. */
function isAnAnswer({ step, names }: Said, { step: asked, id }: Said): boolean {
  const { type, answersRequest } = step;
  if (asked.type === "request" && asked.answersRequest) {
    return type === "ack" && answersRequest && names === id;
  }
  if (type === "ack" || type === "proposal") return true;
  if (type === "request") return false;
  if (answersRequest) return true;
  return type !== "correction" && asked.type === "request" && !asked.answersRequest;
}

test("threads are what their lines say, in whatever order the logs came", () => {
  const seen = new Map<string, number>();
  const steps = fc.array(step, { minLength: 2, maxLength: 16 });
  fc.assert(
    fc.property(steps, fc.array(fc.nat(5), { minLength: 1, maxLength: 20 }), (plan, picks) => {
      const { said, script } = talk(plan);
      const env = scriptEnv(script.layout, "b");
      const state = emptyState();
      const events = interleave(
        said.map(({ event }) => event),
        picks,
      );
      for (const event of events) {
        apply(state, event, env);
        // Told again it changes nothing.
        apply(state, event, env);
      }
      const nowMs = NOON + hours(1);
      const names = [...new Set(said.map(({ event }) => event.message.correlationId))];
      const expected = names.map((name) =>
        slowThread(said.filter(({ event }) => event.message.correlationId === name)),
      );
      const views = threadsView(state, env, nowMs);
      const found = names.map((name) => {
        const [view, ...more] = views.filter(({ correlation_id: id }) => id === name);
        if (view === undefined || more.length > 0) throw new Error(`${more.length + 1} of ${name}`);
        return {
          root: view.root,
          status: view.status,
          participants: view.participants,
          messages: view.messages.map(({ event_id: id, corrections }) => ({ id, corrections })),
          owed: view.obligations.map((each) => `${each.owed_by} owes on ${each.event_id}`).sort(),
        };
      });
      expect(found).toEqual(expected);
      const pending = pendingView(state, env, nowMs);
      expect(pending.map((each) => `${each.owed_by} owes on ${each.event_id}`).sort()).toEqual(
        expected.flatMap(({ owed }) => owed).sort(),
      );
      const since = pending.map((each) => each.since);
      expect(since).toEqual([...since].sort());
      for (const { status } of found) seen.set(status, (seen.get(status) ?? 0) + 1);
    }),
    { numRuns: 600 },
  );
  const statuses = ["open", "closed", "waiting_on"];
  expect(statuses.filter((status) => (seen.get(status) ?? 0) < 20)).toEqual([]);
});
