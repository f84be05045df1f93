import { describe, expect, test } from "vitest";
import { lineEvent, type LinePlace, type TakenLine } from "../../src/protocol/line-event.ts";
import { NOON, WireScript } from "../support/scripts/wire-script.ts";

const PLACE: LinePlace = { log: "b_to_a", line: 3, own: false };
const NOTHING: TakenLine = {
  verdict: "blank",
  at: NOON,
  live: true,
  message: undefined,
  reason: undefined,
  afterGap: false,
};

function scene() {
  const script = new WireScript("pairwise", ["a", "b"]);
  const { message, raw } = script.say("b_to_a", NOON, { type: "feedback", subject: "größer ☃" });
  const taken: TakenLine = { ...NOTHING, verdict: "accepted", message };
  return { message, raw, taken, bytes: new TextEncoder().encode(raw) };
}

describe("a line that is no message", () => {
  test("is skipped when it is blank", () => {
    expect(lineEvent(PLACE, NOTHING, undefined)).toStrictEqual({
      kind: "skipped",
      log: "b_to_a",
      line: 3,
      at: NOON,
    });
  });

  test("is skipped as a copy when it is a duplicate", () => {
    const { bytes } = scene();
    expect(lineEvent(PLACE, { ...NOTHING, verdict: "duplicate" }, bytes)).toStrictEqual({
      kind: "skipped",
      log: "b_to_a",
      line: 3,
      at: NOON,
      isCopy: true,
    });
  });

  test("is refused with its reason when it is not its author's", () => {
    const taken: TakenLine = { ...NOTHING, verdict: "unauthentic", reason: "schema" };
    expect(lineEvent(PLACE, taken, undefined)).toStrictEqual({
      kind: "refused",
      log: "b_to_a",
      line: 3,
      at: NOON,
      reason: "schema",
    });
  });
});

describe("several lines that prove nothing", () => {
  const taken: TakenLine = { ...NOTHING, verdict: "unauthentic" };

  test("are one event that names the first of them, and how many they are", () => {
    expect(lineEvent({ ...PLACE, first: 1, count: 2 }, taken, undefined)).toStrictEqual({
      kind: "refused",
      log: "b_to_a",
      line: 3,
      at: NOON,
      first: 1,
      count: 2,
      reason: "malformed",
    });
  });

  test.each([
    ["the first", { first: 1 }],
    ["their number", { count: 2 }],
  ])("are one line where the journal names only %s", (_what, known) => {
    const event = lineEvent({ ...PLACE, ...known }, taken, undefined);
    expect(Object.keys(event)).toEqual(["kind", "log", "line", "at", "reason"]);
  });
});

describe("a line of its author", () => {
  test("is an event with its message and its text", () => {
    const { message, raw, taken, bytes } = scene();
    expect(lineEvent(PLACE, taken, bytes)).toStrictEqual({
      kind: "line",
      log: "b_to_a",
      line: 3,
      at: NOON,
      live: true,
      own: false,
      message,
      raw,
      refused: undefined,
      afterGap: false,
    });
  });

  test("keeps why it is refused, whose log it is in, and how it was read", () => {
    const { taken, bytes } = scene();
    const place: LinePlace = { ...PLACE, own: true, read: "so far" };
    const refused = { verdict: "refused", reason: "tier_refused", live: false } as const;
    const event = lineEvent(place, { ...taken, ...refused, afterGap: true }, bytes);
    expect(event).toMatchObject({
      kind: "line",
      live: false,
      own: true,
      refused: "tier_refused",
      afterGap: true,
      read: "so far",
    });
  });

  test("has the text of its own bytes when those are part of a larger buffer", () => {
    const { raw, taken, bytes } = scene();
    const buffer = new Uint8Array(bytes.length + 20).fill(0x78);
    buffer.set(bytes, 7);
    const event = lineEvent(PLACE, taken, buffer.subarray(7, 7 + bytes.length));
    expect(event).toHaveProperty("raw", raw);
  });

  test("is no event without its message or its bytes", () => {
    const { taken, bytes } = scene();
    const noMessage = { ...taken, message: undefined };
    expect(() => lineEvent(PLACE, noMessage, bytes)).toThrow("b_to_a:3: no message");
    expect(() => lineEvent(PLACE, taken, undefined)).toThrow("b_to_a:3: no message");
  });
});
