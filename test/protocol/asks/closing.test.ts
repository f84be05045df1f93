import { describe, expect, it } from "vitest";
import { HOUR_MS, MINUTE_MS } from "../../../src/wire/durations.ts";
import type { PlaceJson } from "../../../src/wire/places.ts";
import { AskingAgent } from "../../support/asking-agents.ts";

const T = "t1";

function reasons(agent: AskingAgent, places: readonly PlaceJson[]): unknown[] {
  return places.map(([, , id]) => {
    const line = agent.lines.find((each) => each.id === id);
    const { outcome: is, reason } = (line?.body ?? {}) as { outcome: string; reason: string };
    return `${is}: ${reason}`;
  });
}

function pair(): { forge: AskingAgent; scribe: AskingAgent } {
  return { forge: new AskingAgent("forge"), scribe: new AskingAgent("scribe") };
}

function propose(by: AskingAgent, to: string, body: object = {}, thread = T): PlaceJson {
  return by.say({ type: "proposal", thread, to: [to], body: { required: [to], ...body } });
}

function ack(by: AskingAgent, ask: PlaceJson, approve = true): PlaceJson {
  return by.say({ type: "ack", thread: T, body: { acks: ask, approve } });
}

describe("our daemon closes", () => {
  it("what all have agreed to, once", () => {
    const { forge, scribe } = pair();
    const ask = propose(forge, "scribe");
    expect(forge.close()).toEqual([]);
    scribe.read(forge);
    ack(scribe, ask);
    forge.read(scribe);
    expect(reasons(forge, forge.close())).toEqual(["approved: agreed by all"]);
    expect(forge.close()).toEqual([]);
    scribe.read(forge);
    expect(scribe.outcome(ask)).toBe("approved");
  });

  it.each(["a rejecting answer", "a counter"])("what %s ends, and names it", (how) => {
    const { forge, scribe } = pair();
    const ask = propose(forge, "scribe");
    scribe.read(forge);
    if (how === "a counter") propose(scribe, "forge", { counters: ask });
    else ack(scribe, ask, false);
    forge.read(scribe);
    expect(reasons(forge, forge.close())).toEqual(["ended: rejected"]);
    expect(forge.outcome(ask)).toBe("rejected");
  });

  it("its own proposal when its agent agrees to another one, and no third agent's does that elsewhere", () => {
    const { forge, scribe } = pair();
    const ask = propose(forge, "scribe");
    scribe.read(forge);
    const other = propose(scribe, "forge", {}, "t2");
    const counter = propose(scribe, "forge");
    forge.read(scribe);
    forge.say({ type: "ack", thread: "t2", body: { acks: other, approve: true } });
    expect(forge.close()).toEqual([]);
    ack(forge, counter);
    expect(reasons(forge, forge.close())).toEqual(["ended: withdrawn"]);
    expect(forge.outcome(ask)).toBe("ended");
  });

  it("nothing while a party is held for a fork, or while a line of it is named and not held", () => {
    const { forge, scribe } = pair();
    const ask = propose(forge, "scribe");
    scribe.read(forge);
    ack(scribe, ask);
    forge.read(scribe);
    forge.forked.add("scribe");
    expect(forge.close()).toEqual([]);
    forge.forked.clear();
    forge.say({
      type: "heartbeat",
      thread: "",
      body: { heads: { scribe: [9, "0".repeat(64), 0] } },
    });
    expect(forge.close()).toEqual([]);
  });

  it("an ask in no chain when its agent answers it, in its chain or by hand", () => {
    for (const approve of [true, false]) {
      const ann = new AskingAgent("ann", false);
      const { scribe } = pair();
      const ask = ann.say({ type: "proposal", thread: T, to: ["scribe"], body: {} });
      scribe.read(ann);
      expect(scribe.close()).toEqual([]);
      if (approve) ack(scribe, ask, approve);
      else {
        const hand = { ...ann.lines[0], author: "scribe", id: "1".repeat(64), type: "ack" };
        scribe.take({ ...hand, body: { acks: ask[2], approve } } as (typeof ann.lines)[0] & object);
      }
      const how = approve ? "approved: agreed" : "ended: rejected";
      expect(reasons(scribe, scribe.close())).toEqual([how]);
      expect(scribe.outcome(ask)).toBe(approve ? "approved" : "rejected");
      expect(scribe.close()).toEqual([]);
    }
  });

  it("what a bare ack answers, and ends what its author asks in that thread", () => {
    const ann = new AskingAgent("ann", false);
    const forge = new AskingAgent("forge");
    const ask = propose(forge, "ann", {}, "new");
    const { thread } = forge;
    const asked = ann.say({ type: "proposal", thread, to: ["forge"], body: {} });
    ann.say({ type: "ack", thread, to: ["forge"], body: "fine" });
    forge.read(ann);
    expect(reasons(forge, forge.close())).toEqual([
      "approved: agreed by all",
      "ended: answered otherwise",
    ]);
    expect([forge.outcome(ask), forge.outcome(asked)]).toEqual(["approved", "ended"]);
  });
});

describe("our daemon ends for time", () => {
  function asked(body: object, type = "proposal"): { forge: AskingAgent; scribe: AskingAgent } {
    const { forge, scribe } = pair();
    forge.say({ type, thread: T, to: ["scribe"], body: { required: ["scribe"], ...body } });
    return { forge, scribe };
  }

  function endsAfter(forge: AskingAgent, waitMs: number): void {
    forge.nowMs += waitMs - MINUTE_MS;
    expect(forge.close()).toEqual([]);
    forge.nowMs += 2 * MINUTE_MS;
    expect(forge.close()).toHaveLength(1);
  }

  it("a proposal that was read by one that is free, after answer_minutes", () => {
    const { forge, scribe } = asked({});
    scribe.read(forge);
    scribe.beat();
    forge.read(scribe);
    forge.ready("scribe");
    endsAfter(forge, 30 * MINUTE_MS);
  });

  it("a proposal that was not read, and a request, after proposal_hours", () => {
    const { forge } = asked({});
    forge.ready("scribe");
    endsAfter(forge, 24 * HOUR_MS);
    endsAfter(asked({ request_type: "shutdown" }, "request").forge, 24 * HOUR_MS);
  });

  it("no plain request, and what is due when it is due", () => {
    const { forge } = asked({}, "request");
    forge.nowMs += 1_000 * HOUR_MS;
    expect(forge.close()).toEqual([]);
    const due = new Date(forge.nowMs - 999 * HOUR_MS).toISOString();
    endsAfter(asked({ due }).forge, HOUR_MS);
    const soon = new Date(forge.nowMs - 1_000 * HOUR_MS + MINUTE_MS).toISOString();
    endsAfter(asked({ due: soon }).forge, 24 * HOUR_MS);
  });

  it("at once when a party has left", () => {
    const { forge } = asked({}, "request");
    forge.left.add("scribe");
    expect(reasons(forge, forge.close())).toEqual(["ended: a party left"]);
  });
});
