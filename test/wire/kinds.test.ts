import { describe, expect, it } from "vitest";
import { MESSAGE_TYPES, isMessageType, kindOf, typeOf, typeSpelled } from "../../src/wire/kinds.ts";
import { parseMessage } from "../../src/wire/message.ts";

const PLAIN = {
  timestamp: "2026-11-21T12:00:00Z",
  from: "scribe",
  subject: "s",
  body: "b",
  correlation_id: "t",
};

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

  it("have three other spellings, which are read and never written", () => {
    const spelled = { shutdown_request: "request", shutdown_response: "ack" } as const;
    const all = { ...spelled, plan_approval_response: "ack" };
    for (const [name, type] of Object.entries(all)) {
      expect(typeSpelled(name)).toBe(type);
      expect(isMessageType(name)).toBe(false);
    }
    expect(typeSpelled("shutdown")).toBe("shutdown");
    expect(typeSpelled("plan_approval")).toBeUndefined();
  });

  it("agree on a line that spells its type in another way", () => {
    const line = (fields: object) =>
      parseMessage(Buffer.from(JSON.stringify({ ...PLAIN, ...fields }), "utf8"));
    expect(line({ type: "shutdown_request" })).toMatchObject({ message: { type: "request" } });
    expect(line({ type: "shutdown_request", kind: 1210 }).ok).toBe(true);
    expect(line({ type: "shutdown_request", kind: 1500 })).toMatchObject({
      reason: "kind_mismatch",
    });
    // What is true of the type is true of its other spelling: an ack begins no thread.
    const begins = { type: "shutdown_response", correlation_id: PLAIN.timestamp };
    expect(line(begins)).toMatchObject({ reason: "schema" });
  });
});
