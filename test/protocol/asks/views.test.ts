import { describe, expect, it } from "vitest";
import { readAsk } from "../../../src/protocol/asks/ask-line.ts";
import { noticeOf, viewAsk, type AskView } from "../../../src/protocol/asks/views.ts";
import { MINUTE_MS } from "../../../src/wire/durations.ts";
import type { PlaceJson } from "../../../src/wire/places.ts";
import { AskingAgent } from "../../support/asking-agents.ts";

const T = "t1";

function view(agent: AskingAgent, [author, seq, id]: PlaceJson, silent: string[] = []): AskView {
  const place = { author, seq, id };
  const line = agent.history.linked(place) ?? agent.history.loose(place);
  const ask = line === undefined ? undefined : readAsk(line);
  if (ask === undefined) throw new Error("no ask is there");
  const onlookers = {
    whole: (name: string) => agent.whole.get(name),
    chains: (name: string) => agent.whole.has(name),
    isSilent: (name: string) => silent.includes(name),
  };
  return viewAsk(agent.history, onlookers, ask, undefined);
}

function propose(by: AskingAgent, to: readonly string[]): PlaceJson {
  return by.say({ type: "proposal", thread: T, to, body: { required: to } });
}

function ack(by: AskingAgent, ask: PlaceJson): PlaceJson {
  return by.say({ type: "ack", thread: T, body: { acks: ask, approve: true } });
}

function agents(): Record<"forge" | "scribe" | "mason", AskingAgent> {
  const [forge, scribe, mason] = ["forge", "scribe", "mason"].map((name) => new AskingAgent(name));
  if (forge === undefined || scribe === undefined || mason === undefined) throw new Error("agents");
  return { forge, scribe, mason };
}

describe("a view of an ask", () => {
  it("says who has not agreed, and since when all have and nobody closes", () => {
    const { forge, scribe, mason } = agents();
    const ask = propose(forge, ["scribe", "mason"]);
    scribe.read(forge);
    mason.read(forge);
    ack(scribe, ask);
    mason.read(scribe);
    expect(view(mason, ask)).toMatchObject({ lacks: ["mason"], agreed: undefined });
    mason.nowMs += MINUTE_MS;
    ack(mason, ask);
    const agreed = { sinceMs: mason.nowMs, closer: "forge", isSilent: false };
    expect(view(mason, ask)).toMatchObject({ lacks: [], agreed });
    const shown = view(mason, ask);
    expect(noticeOf(shown, "mason", mason.nowMs)).toBeUndefined();
    expect(noticeOf(shown, "mason", mason.nowMs + 10 * MINUTE_MS)).toMatchObject({
      ...{ kind: "agreed_not_closed", who: "forge" },
    });
    expect(noticeOf(view(mason, ask, ["forge"]), "mason", 0)?.kind).toBe("agreed_not_closed");
    expect(noticeOf(shown, "ann", Infinity)).toBeUndefined();
  });

  it("says which of two that cross is proposed again, to both the same", () => {
    const { forge, scribe } = agents();
    const one = propose(forge, ["scribe"]);
    const other = propose(scribe, ["forge"]);
    forge.read(scribe);
    scribe.read(forge);
    ack(forge, other);
    ack(scribe, one);
    forge.read(scribe);
    scribe.read(forge);
    forge.close();
    scribe.close();
    forge.read(scribe);
    scribe.read(forge);
    const again = one[2] < other[2] ? "forge" : "scribe";
    for (const agent of [forge, scribe]) {
      for (const ask of [one, other]) {
        const shown = view(agent, ask);
        expect(shown).toMatchObject({ isWithdrawn: true, outcome: { is: "ended" } });
        expect(noticeOf(shown, agent.name, 0)).toMatchObject({ kind: "withdrawn", who: again });
      }
    }
  });

  it("says for which line of a party a close waits", () => {
    const { forge, scribe, mason } = agents();
    const ask = propose(forge, ["scribe"]);
    scribe.read(forge);
    const yes = ack(scribe, ask);
    forge.read(scribe);
    forge.close();
    mason.read(forge);
    expect(view(mason, ask).outcome).toMatchObject({
      is: "pending",
      waitsFor: [{ author: "scribe", seq: yes[1] }],
    });
  });

  it("tells what nobody's chain proves", () => {
    const { forge } = agents();
    const ann = new AskingAgent("ann", false);
    const ask = forge.say({ type: "proposal", thread: "new", to: ["ann"], body: {} });
    const { thread } = forge;
    ann.say({ type: "ack", thread, to: ["forge"], body: "fine" });
    forge.read(ann);
    forge.close();
    expect(view(forge, ask)).toMatchObject({
      outcome: { is: "approved" },
      unprovedByName: ["ann"],
    });
    const loose = ann.say({ type: "proposal", thread: T, to: ["bob"], body: {} });
    forge.read(ann);
    expect(view(forge, loose)).toMatchObject({ isUnproved: true, outcome: { is: "pending" } });
    const chained = ann.say({ type: "proposal", thread: T, to: ["forge"], body: {} });
    forge.read(ann);
    expect(view(forge, chained).isUnproved).toBe(false);
  });
});
