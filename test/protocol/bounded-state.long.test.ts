import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { apply } from "../../src/protocol/core.ts";
import type { LineEvent } from "../../src/protocol/events.ts";
import { writeSnapshot } from "../../src/protocol/snapshot.ts";
import { emptyState, type State } from "../../src/protocol/state.ts";
import { sizeOf } from "../../src/protocol/decisions/proposal-thread.ts";
import { makeLayout } from "../../src/wire/layout.ts";
import {
  lineEvent,
  NOON,
  scriptEnv,
  WireScript,
  type Saying,
} from "../support/scripts/wire-script.ts";

// However long the logs are: what is remembered of them stops growing. Lines are copies of one, with
// what makes them different, because a hundred thousand of them take long to compose.
const LAYOUT = makeLayout("pairwise", ["a", "b"]);
const ENV = scriptEnv(LAYOUT, "a");

class Flood {
  readonly state: State = emptyState();
  readonly #template: LineEvent;
  #line = 0;

  constructor(saying: Saying) {
    const script = new WireScript("pairwise", ["a", "b"]);
    this.#template = lineEvent(script.say("b_to_a", NOON, saying), "a");
  }

  /** So many more lines; `thread` says of which thread each of them is. */
  add(count: number, thread: (line: number) => string): void {
    for (const last = this.#line + count; this.#line < last;) {
      const line = (this.#line += 1);
      const message: LineEvent["message"] = {
        ...this.#template.message,
        id: createHash("sha256").update(String(line)).digest("hex"),
        seq: line,
        correlationId: thread(line),
      };
      apply(this.state, { ...this.#template, line, at: NOON + line, message }, ENV);
    }
  }

  characters(): number {
    return [...writeSnapshot(this.state)].reduce((sum, { length }) => sum + length, 0);
  }
}

type Thread = (line: number) => string;
const own: Thread = (line) => `thread ${line}`;
const oneOfAThousand: Thread = (line) => `thread ${line % 1_000}`;
const one: Thread = () => "thread";

test.each<[string, Saying, Thread, number]>([
  ["plain words, each in its own thread", { type: "feedback" }, own, 30_000],
  ["plain words in a thousand threads", { type: "feedback" }, oneOfAThousand, 140_000],
  ["plain words in one thread", { type: "feedback" }, one, 20_000],
  ["heartbeats", { type: "heartbeat", body: { state: "idle" } }, own, 30_000],
])("of more %s no more is remembered", (_name, saying, thread, enough) => {
  const flood = new Flood(saying);
  flood.add(enough, thread);
  const { proposals } = flood.state;
  const lines = [...proposals.topics.values()].reduce((sum, topic) => sum + sizeOf(topic), 0);
  expect(proposals.lineCount).toBe(lines);
  const before = flood.characters();
  flood.add(enough / 4, thread);
  expect(flood.characters()).toBeLessThan(before * 1.05 + 100_000);
});
