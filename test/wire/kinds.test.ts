import { describe, expect, it } from "vitest";
import { MESSAGE_TYPES, isMessageType, kindOf, typeOf } from "../../src/wire/kinds.ts";

describe("types and kinds, Spec 1.3", () => {
  it("are the published table", () => {
    expect(MESSAGE_TYPES.map((type) => `${type} ${kindOf(type)}`)).toEqual([
      "heartbeat 100",
      "decision 1",
      "claim 1100",
      "release 1101",
      "ship 1200",
      "warning 1201",
      "request 1210",
      "feedback 1300",
      "incident 1400",
      "ack 1500",
      "proposal 1600",
      "correction 1700",
      "shutdown 1800",
      "agent_card 10000",
      "trust_tier_announcement 10001",
    ]);
    for (const type of MESSAGE_TYPES) expect(typeOf(kindOf(type)!)).toBe(type);
  });

  it("know nothing else", () => {
    expect(kindOf("toString")).toBeUndefined();
    expect(isMessageType("__proto__")).toBe(false);
    expect(isMessageType("ack")).toBe(true);
    expect(typeOf(7)).toBe("kind:7");
  });
});
