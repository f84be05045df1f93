import { describe, expect, it } from "vitest";
import { endingOf } from "../../../src/protocol/asks/closing.ts";
import { agreeToChange, Members, proposeChange } from "../../../src/protocol/asks/members.ts";
import type { Roster } from "../../../src/protocol/asks/members-change.ts";
import type { ChainPlace, PlaceJson } from "../../../src/wire/places.ts";
import type { AskingAgent } from "../../support/asking-agents.ts";
import { ChangingAgent, PINNED } from "../../support/changing-agents.ts";

const names = (agent: ChangingAgent): string => [...agent.members.inForce.roster.keys()].join(" ");

function team(): { forge: ChangingAgent; scribe: ChangingAgent; mason: ChangingAgent } {
  const [forge, scribe, mason] = ["forge", "scribe", "mason"].map(
    (name) => new ChangingAgent(name),
  );
  if (forge === undefined || scribe === undefined || mason === undefined) throw new Error("team");
  return { forge, scribe, mason };
}

function tell(...agents: readonly AskingAgent[]): void {
  for (let isQuiet = false; !isQuiet;) {
    isQuiet = true;
    for (const agent of agents) {
      for (const other of agents) if (agent !== other && agent.read(other)) isQuiet = false;
      if (agent.close().length > 0) isQuiet = false;
    }
  }
}

const add = (handle: string) => (roster: Roster) => new Map([...roster, [handle, true]]);
const remove = (handle: string) => (roster: Roster) =>
  new Map([...roster].filter(([name]) => name !== handle));

describe("members", () => {
  it("are changed when all that chain agree, and the next change follows", () => {
    const { forge, scribe, mason } = team();
    const change = forge.propose(add("eve"));
    tell(forge, scribe, mason);
    expect(names(scribe)).toBe("forge scribe mason");
    expect(scribe.agree(change)).toBe("agreed");
    expect(mason.agree(change)).toBe("agreed");
    tell(forge, scribe, mason);
    for (const agent of [forge, scribe, mason]) expect(names(agent)).toBe("forge scribe mason eve");
    const next = mason.propose(remove("eve"));
    tell(forge, scribe, mason);
    expect(forge.agree(next)).toBe("agreed");
    tell(forge, scribe, mason);
    // Eve chains and is not in what it makes, so nobody asks her.
    expect(scribe.agree(next)).toBe("agreed");
    tell(forge, scribe, mason);
    expect(names(forge)).toBe("forge scribe mason");
  });

  it("take one change for each `after`, and another only behind its end", () => {
    const { forge, scribe, mason } = team();
    const one = forge.propose(add("eve"));
    const other = scribe.propose(add("zoe"));
    tell(forge, scribe, mason);
    expect(mason.agree(one)).toBe("agreed");
    expect(mason.agree(other)).toBe("another_change");
    expect(forge.agree(other)).toBe("another_change");
    expect(forge.propose(add("adam"))).toBe("another_change");
    const [open] = forge.store.asks.open("forge");
    if (open === undefined) throw new Error("nothing is open");
    for (const draft of endingOf(forge.history, open, "no agreement")) forge.say(draft);
    tell(forge, scribe, mason);
    expect(forge.agree(other)).toBe("agreed");
    expect(mason.agree(other)).toBe("agreed");
    tell(forge, scribe, mason);
    for (const agent of [forge, scribe, mason]) expect(names(agent)).toBe("forge scribe mason zoe");
  });

  it("leave without anybody, and come back by a change that counts the leave", () => {
    const { forge, scribe, mason } = team();
    mason.say({ type: "shutdown", thread: "", body: { leave: true, after: 0 } });
    tell(forge, scribe, mason);
    expect(names(forge)).toBe("forge scribe");
    const back = forge.propose(add("mason"));
    tell(forge, scribe, mason);
    expect(scribe.agree(back)).toBe("agreed");
    tell(forge, scribe, mason);
    expect(names(scribe)).toBe("forge scribe mason");
  });

  it("leave while a change is agreed to, which voids nothing", () => {
    const { forge, scribe, mason } = team();
    const change = forge.propose(add("eve"));
    scribe.read(forge);
    mason.read(forge);
    scribe.agree(change);
    mason.agree(change);
    mason.say({ type: "shutdown", thread: "", body: { leave: true, after: 0 } });
    forge.read(scribe);
    forge.read(mason);
    expect(forge.close()).toHaveLength(1);
    tell(forge, scribe, mason);
    expect(names(scribe)).toBe("forge scribe eve");
  });

  it("agree in such a thread to nothing but changes that are not void", () => {
    const { forge, scribe } = team();
    const void_ = forge.say({
      ...{ type: "proposal", thread: "roster:w", to: ["scribe"] },
      body: { required: ["scribe"], decision: "no change" },
    });
    tell(forge, scribe);
    expect(scribe.agree(void_)).toBe("void");
  });

  it("refuse what is no step, and a removal where fewer than three are", () => {
    const { forge, scribe, mason } = team();
    expect(forge.propose((roster) => add("a")(add("b")(roster)))).toBe("not_one_step");
    expect(forge.propose(remove("forge"))).toBe("not_a_member");
    mason.say({ type: "shutdown", thread: "", body: { leave: true, after: 0 } });
    tell(forge, scribe, mason);
    expect(forge.propose(remove("scribe"))).toBe("not_one_step");
  });

  it("are found again only when a change or a leave comes", () => {
    const { forge, mason } = team();
    const before = forge.members.inForce;
    forge.say({ type: "proposal", thread: "t1", to: ["scribe"], body: {} });
    expect(forge.members.inForce).toBe(before);
    mason.say({ type: "shutdown", thread: "", body: { leave: true, after: 0 } });
    forge.read(mason);
    expect(forge.members.inForce).not.toBe(before);
    expect(new Members(forge.history, PINNED).inForce).toEqual(forge.members.inForce);
  });
});

it("what is agreed names the end of what was taken before", () => {
  const { forge, scribe } = team();
  const tip = forge.whole.get("forge") as ChainPlace;
  const makes = add("eve")(forge.members.inForce.roster);
  const draft = proposeChange(forge.history, forge.members.inForce, "forge", tip, makes);
  if (!draft.ok) throw new Error(draft.reason);
  const change = forge.say({ type: "proposal", ...draft });
  const close = { decides: change, outcome: "ended", answers: [] };
  const end = forge.say({ type: "correction", thread: draft.thread, body: close });
  scribe.read(forge);
  const again = forge.propose(add("zoe"));
  expect(forge.lines.at(-1)?.body).toMatchObject({ ends: [end] });
  scribe.read(forge);
  const [author, seq, id] = again as PlaceJson;
  const place = { author, seq, id } as ChainPlace;
  const mine = scribe.whole.get("scribe") as ChainPlace;
  expect(agreeToChange(scribe.history, "scribe", mine, place)).toEqual({ ok: true, body: {} });
});
