import { describe, expect, it } from "vitest";
import {
  applySendKeys,
  emptySendKeys,
  keyedSend,
  MAX_SEND_KEYS,
  type SendKeysState,
} from "../../../src/protocol/receipts/send-keys.ts";

const HOUR = 3_600_000;

function keyed(state: SendKeysState, name: string, at: number, digest = "a".repeat(64)): void {
  applySendKeys(state, { kind: "keyed", key: { name, digest }, messages: [], at });
}

describe("the keys of sends", () => {
  it("are known for 24 hours, to the millisecond", () => {
    const state = emptySendKeys();
    keyed(state, "one", 1_000);
    expect(keyedSend(state, "one", 1_000 + 24 * HOUR - 1)).toMatchObject({ at: 1_000 });
    expect(keyedSend(state, "one", 1_000 + 24 * HOUR)).toBeUndefined();
    expect(keyedSend(state, "two", 1_000)).toBeUndefined();
  });

  it("are forgotten when another one comes after their time", () => {
    const state = emptySendKeys();
    keyed(state, "one", 0);
    keyed(state, "two", HOUR);
    keyed(state, "three", 24 * HOUR);
    expect([...state.keys()]).toEqual(["two", "three"]);
  });

  it("are bounded: the oldest goes first, and one that is used again is the newest", () => {
    const state = emptySendKeys();
    for (let at = 0; at < MAX_SEND_KEYS; at += 1) keyed(state, `key ${at}`, at);
    keyed(state, "key 0", MAX_SEND_KEYS, "b".repeat(64));
    keyed(state, "one more", MAX_SEND_KEYS);
    expect(state.size).toBe(MAX_SEND_KEYS);
    expect(state.has("key 1")).toBe(false);
    expect(state.get("key 0")).toMatchObject({ digest: "b".repeat(64) });
  });
});
