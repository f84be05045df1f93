import { afterAll, beforeAll, expect, test } from "vitest";
import { beginWorkCount } from "../../support/work-count.ts";
import type { Saying } from "../../support/scripts/wire-script.ts";

// A peer may fill a thread with lines that decide, as many as are read of one. What each further line
// costs stays within bounds. Counted in blocks of code that ran, so that every machine says the same.

type Counter = Awaited<ReturnType<typeof beginWorkCount>>;
let counter: Counter;
let modules: Modules;

async function loaded() {
  const { apply } = await import("../../../src/protocol/core.ts");
  const { emptyState } = await import("../../../src/protocol/state.ts");
  const { lineEvent, NOON, scriptEnv, WireScript } =
    await import("../../support/scripts/wire-script.ts");
  return { apply, emptyState, lineEvent, NOON, scriptEnv, WireScript };
}
type Modules = Awaited<ReturnType<typeof loaded>>;

beforeAll(async () => {
  counter = await beginWorkCount((url) => url.includes("/src/protocol/"));
  modules = await loaded();
});
afterAll(() => counter.end());

const NOWHERE = { acks: "0".repeat(64) };

/** Blocks that run for the last of so many lines of a peer in the thread of its first proposal. */
async function costOfLast(
  count: number,
  saying: (n: number) => Saying,
  heads?: { readonly lines: number },
): Promise<number> {
  const { apply, emptyState, lineEvent, NOON, scriptEnv, WireScript } = modules;
  const script = new WireScript("pairwise", ["a", "b"]);
  const env = scriptEnv(script.layout, "a");
  const state = emptyState();
  const take = (line: ReturnType<Modules["WireScript"]["prototype"]["say"]>): void =>
    apply(state, lineEvent(line, "a"), env);
  const first = script.say("b_to_a", NOON, { type: "proposal" });
  take(first);
  if (heads !== undefined) take(script.beat("b_to_a", NOON + 1, { a_to_b: heads }));
  const thread = first.message.correlationId;
  const say = (n: number) => script.say("b_to_a", NOON + 2 + n, { thread, ...saying(n) });
  for (let n = 1; n < count; n += 1) take(say(n));
  const last = say(count);
  return counter.during(() => take(last));
}

const FEW = 100;
const MANY = 400;

test("acks of something that is nowhere cost no more than their number", async () => {
  const ack = () => ({ type: "ack", body: NOWHERE });
  const few = await costOfLast(FEW, ack);
  const many = await costOfLast(MANY, ack);
  expect(many / few).toBeLessThan((MANY / FEW) * 1.5);
});

test("proposals that wait for lines which never come cost no more than their number", async () => {
  const saying = (n: number): Saying =>
    n % 2 === 0 ? { type: "proposal" } : { type: "ack", body: NOWHERE };
  const few = await costOfLast(FEW, saying, { lines: 1_000_000 });
  const many = await costOfLast(MANY, saying, { lines: 1_000_000 });
  expect(many / few).toBeLessThan((MANY / FEW) * 1.5);
});

test.each<[string, (n: number) => Saying]>([
  ["proposals", () => ({ type: "proposal", unsigned: true })],
  [
    "proposals and acks",
    (n) => ({ type: n % 2 === 0 ? "proposal" : "ack", unsigned: true, body: {} }),
  ],
])("of unchained %s each costs a look at the others, and no more", async (_what, saying) => {
  const few = await costOfLast(FEW, saying);
  const many = await costOfLast(MANY, saying);
  expect(many).toBeLessThan(MANY * MANY * 12);
  expect(many / few).toBeLessThan((MANY / FEW) ** 2 * 1.2);
});
