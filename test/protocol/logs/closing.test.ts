import { describe, expect, test } from "vitest";
import { decideClosing } from "../../../src/protocol/logs/closing.ts";
import { applyLogs } from "../../../src/protocol/logs/logs.ts";
import { emptyLogs, type LogsState } from "../../../src/protocol/logs/logs-state.ts";
import { makeLayout } from "../../../src/wire/layout.ts";
import { closingBody, continuingBody } from "../../../src/wire/roster/closing.ts";
import {
  lineEvent,
  NOON,
  scriptEnv,
  WireScript,
  type ScriptLine,
} from "../../support/scripts/wire-script.ts";

/** A wire of a, b and c that moves, and what `self` has to say while these lines are held. */
function scene() {
  const script = new WireScript("moving", ["a", "b", "c"]);
  const logs: LogsState = emptyLogs();
  const env = scriptEnv(script.layout, "a");
  const read = (...lines: ScriptLine[]) => {
    for (const line of lines) applyLogs(logs, lineEvent(line, "a"), env);
  };
  const close = (log: string) =>
    script.say(log, NOON, { type: "correction", body: closingBody(log, "a") });
  const said = (self = "a") => decideClosing(logs, { layout: script.layout, self });
  return { script, logs, env, read, close, said };
}

describe("on a wire that has moved our agent first", () => {
  test("closes each of its logs, before it writes to its outbox", () => {
    const close = (log: string, to: string) => ({
      do: "send",
      log,
      draft: {
        to: [to],
        type: "correction",
        subject: "this log is closed: a goes on in its outbox",
        body: { closes: log, into: "a" },
        priority: "low",
      },
    });
    const { said } = scene();
    expect(said()).toEqual([close("a_to_b", "b"), close("a_to_c", "c")]);
    expect(said("b").map(({ log }) => log)).toEqual(["b_to_a", "b_to_c"]);
  });

  test("closes those that are still open, also when it has written there", () => {
    const { script, said, read, close } = scene();
    read(script.say("a_to_b", NOON, { type: "feedback" }), script.beat("a_to_b", NOON));
    expect(said().map(({ log }) => log)).toEqual(["a_to_b", "a_to_c"]);
    read(close("a_to_c"));
    expect(said().map(({ log }) => log)).toEqual(["a_to_b"]);
    expect(said()).toEqual(said());
  });

  test("then begins its outbox, which names the lines that have closed its logs", () => {
    const { script, said, read, close } = scene();
    read(script.say("a_to_c", NOON, { type: "feedback" }));
    const [toC, toB] = [close("a_to_c"), close("a_to_b")];
    read(toC, toB);
    expect(said()).toEqual([
      {
        do: "send",
        log: "a",
        draft: {
          to: ["*"],
          type: "correction",
          subject: "this outbox goes on with what a wrote before",
          body: {
            continues: [
              { log: "a_to_b", seq: 1, event_id: toB.message.id },
              { log: "a_to_c", seq: 2, event_id: toC.message.id },
            ],
          },
          priority: "low",
        },
      },
    ]);
  });

  test("has no more to say when its outbox has begun", () => {
    const { script, said, read } = scene();
    read(...script.move("a", NOON));
    expect(said()).toEqual([]);
    expect(said("b")).toHaveLength(2);
    read(script.say("a", NOON, { type: "feedback" }));
    expect(said()).toEqual([]);
  });

  test("begins its outbox where others alone have written", () => {
    const { logs, env, said, read, close } = scene();
    read(close("a_to_b"), close("a_to_c"));
    applyLogs(logs, { kind: "refused", log: "a", line: 1, at: NOON, reason: "malformed" }, env);
    expect(said().map(({ log }) => log)).toEqual(["a"]);
  });
});

test.each([["pairwise"], ["outbox"]] as const)("a wire that was made %s moves nothing", (kind) => {
  const layout = makeLayout(kind, ["a", "b", "c"]);
  expect(decideClosing(emptyLogs(), { layout, self: "a" })).toEqual([]);
});

test("a log is closed by its author's closing line alone", () => {
  const { script, said, read } = scene();
  const open = () => said().map(({ log }) => log);
  read(
    script.say("a_to_b", NOON, { type: "correction", body: closingBody("a_to_c", "a") }),
    script.say("a_to_b", NOON, { type: "correction", body: closingBody("a_to_b", "b") }),
    script.say("a_to_b", NOON, { type: "feedback", body: closingBody("a_to_b", "a") }),
    script.say("a_to_b", NOON, {
      type: "correction",
      body: closingBody("a_to_b", "a"),
      unsigned: true,
    }),
    script.say("b_to_a", NOON, { type: "correction", body: closingBody("b_to_a", "b") }),
  );
  expect(open()).toEqual(["a_to_b", "a_to_c"]);
});

test("the lines that are decided are those that close a log and go on with it", () => {
  const { script, said, read } = scene();
  for (const { log, draft } of [...said()]) read(script.say(log, NOON, draft));
  const [first, ...more] = said();
  if (first === undefined) throw new Error("one line");
  const heads = ["a_to_b", "a_to_c"].map((log) => {
    const message = script.lines.get(log)?.[0]?.message;
    return { log, seq: message?.seq ?? 0, id: message?.id ?? "" };
  });
  expect([first.draft.body, more]).toEqual([continuingBody(heads), []]);
  read(script.say(first.log, NOON, first.draft));
  expect(said()).toEqual([]);
});
