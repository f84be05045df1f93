import { describe, expect, it } from "vitest";
import { sentState, type SentFacts, type SentState } from "../../../src/protocol/beats/receipts.ts";
import { Database } from "../../../src/store/database.ts";
import { Store } from "../../../src/store/store.ts";
import type { ChainPlace, PlaceJson } from "../../../src/wire/places.ts";
import type { ModelLine } from "../../model/model.ts";
import { newLine, storeOf, Writer } from "../../support/chain-lines.ts";

const chainPlace = ([author, seq, id]: PlaceJson): ChainPlace => {
  if (seq === null) throw new Error("no place of a chain");
  return { author, seq, id };
};

/** `read` of the head of one place. */
function head(
  by: Writer,
  [author, seq, id]: PlaceJson,
  read: number,
  type = "heartbeat",
): PlaceJson {
  return by.say(type, "", { heads: { [author]: [seq, id, read] } });
}

function shown(lines: readonly ModelLine[], tip: PlaceJson, line: PlaceJson): string {
  const history = storeOf(lines).history("w");
  const [by, of] = [chainPlace(tip), chainPlace(line)];
  if (history.firstHead(by, of, "read") !== undefined) return "read";
  return history.firstHead(by, of, "taken_in") === undefined ? "nothing" : "taken in";
}

describe("what heads prove of a line", () => {
  const forge = new Writer("forge");
  const [f1, f2, f3] = [1, 2, 3].map((n) => forge.say("ship", `t${n}`, {})) as [
    PlaceJson,
    PlaceJson,
    PlaceJson,
  ];

  it("is taken in, and read up to its number, from that beat on", () => {
    const scribe = new Writer("scribe");
    const s1 = scribe.say("ship", "t", {});
    const s2 = head(scribe, f2, 1);
    const s3 = scribe.say("ship", "t", {});
    const lines = [...forge.lines, ...scribe.lines];
    expect([s1, s2, s3].map((tip) => shown(lines, tip, f1))).toEqual(["nothing", "read", "read"]);
    expect([s1, s2, s3].map((tip) => shown(lines, tip, f2))).toEqual([
      "nothing",
      "taken in",
      "taken in",
    ]);
    expect(shown(lines, s3, f3)).toBe("nothing");
  });

  it("only rises along a branch, whatever a later beat says", () => {
    const scribe = new Writer("scribe");
    head(scribe, f3, 2);
    const lower = head(scribe, f1, 0);
    const lines = [...forge.lines, ...scribe.lines];
    expect([f1, f2, f3].map((line) => shown(lines, lower, line))).toEqual([
      "read",
      "read",
      "taken in",
    ]);
  });

  it("is nothing on another branch, in another type of line, and of a line that nobody holds", () => {
    const scribe = new Writer("scribe");
    const s1 = head(scribe, f3, 3, "ship");
    head(scribe, ["forge", 3, "0".repeat(64)], 3);
    const s3 = head(scribe, f3, 3);
    scribe.goBackTo(s1);
    const other = scribe.say("ship", "t", {});
    const lines = [...forge.lines, ...scribe.lines];
    expect([s1, s3, other].map((tip) => shown(lines, tip, f3))).toEqual([
      "nothing",
      "read",
      "nothing",
    ]);
  });

  it("is taken for the branch of the line alone, where its author has forked", () => {
    const author = new Writer("forge");
    const base = author.say("ship", "t", {});
    const left = author.say("ship", "left", {});
    author.goBackTo(base);
    const right = author.say("ship", "right", {});
    const scribe = new Writer("scribe");
    const tip = head(scribe, right, 2);
    const lines = [...author.lines, ...scribe.lines];
    expect([base, left, right].map((line) => shown(lines, tip, line))).toEqual([
      "read",
      "nothing",
      "read",
    ]);
  });

  it("counts from the moment on at which the line is held and linked", () => {
    const scribe = new Writer("scribe");
    const tip = head(scribe, f3, 3);
    expect(shown(scribe.lines, tip, f1)).toBe("nothing");
    expect(shown([...scribe.lines, ...forge.lines.toReversed()], tip, f1)).toBe("read");
  });

  it("can be asked of all branches at once", () => {
    const scribe = new Writer("scribe");
    const s1 = scribe.say("ship", "t", {});
    head(scribe, f2, 2);
    scribe.goBackTo(s1);
    head(scribe, f3, 1);
    const history = storeOf([...forge.lines, ...scribe.lines]).history("w");
    const asked = [f1, f2, f3].map(chainPlace);
    expect(asked.map((line) => history.hasHead("scribe", line, "taken_in"))).toEqual([
      true,
      true,
      true,
    ]);
    expect(asked.map((line) => history.hasHead("scribe", line, "read"))).toEqual([
      true,
      true,
      false,
    ]);
  });
});

describe("the state of a line that we sent", () => {
  function scene() {
    const forge = new Writer("forge");
    const scribe = new Writer("scribe");
    const line = forge.say("request", "t1", {}, ["scribe"]);
    const facts = { isPublished: true, lifeMs: undefined as number | undefined };
    const state = (receivedMs?: (line: ModelLine) => number): SentState => {
      const store = new Store(Database.open(":memory:"));
      store.write((into) => {
        for (const each of [...forge.lines, ...scribe.lines])
          into.hold(newLine(each, receivedMs?.(each)));
      });
      const tip = scribe.lines.findLast(({ seq }) => seq !== null);
      const known: SentFacts = {
        publishedMs: () => (facts.isPublished ? 100 : undefined),
        tip: () => tip && chainPlace([tip.author, tip.seq, tip.id]),
        lifeMs: () => facts.lifeMs,
      };
      return sentState(
        store.history("w"),
        known,
        { place: chainPlace(line), thread: "t1" },
        "scribe",
      );
    };
    return { forge, scribe, line, facts, state };
  }

  it("is stored, published, delivered, read and answered", () => {
    const { scribe, line, facts, state } = scene();
    facts.isPublished = false;
    const states = [state()];
    facts.isPublished = true;
    states.push(state());
    head(scribe, line, 0);
    states.push(state());
    head(scribe, line, 1);
    states.push(state());
    scribe.say("ack", "t1", { answers: line, approve: true });
    states.push(state());
    expect(states.map(({ is }) => is)).toEqual([
      ...["stored", "published", "delivered", "read", "answered"],
    ]);
  });

  it("is refused with the reason, though heads go on over it", () => {
    const { forge, scribe, line, state } = scene();
    const [, , lineId] = line;
    const f2 = forge.say("ship", "t2", {});
    scribe.say("heartbeat", "", { refused: [["forge", 1, 1, lineId, "body_too_large"]] });
    expect(state()).toMatchObject({ is: "refused", reason: "body_too_large" });
    head(scribe, f2, 2);
    expect(state()).toMatchObject({ is: "refused", reason: "body_too_large" });
    scribe.say("ack", "t1", { about: line });
    expect(state()).toMatchObject({ is: "answered" });
  });

  it("is refused by a range of a later line's branch, and not after it was delivered", () => {
    const { forge, scribe, line, state } = scene();
    const [, , laterId] = forge.say("ship", "t2", {});
    scribe.say("heartbeat", "", { refused: [["forge", 2, 2, laterId, "schema"]] });
    expect(state()).toMatchObject({ is: "published" });
    head(scribe, line, 0);
    scribe.say("heartbeat", "", { refused: [["forge", 1, 2, laterId, "log_forked"]] });
    expect(state()).toMatchObject({ is: "delivered" });
  });

  it("is answered by a counter, and by nothing else that names it", () => {
    for (const [type, body, is] of [
      ["proposal", { counters: "LINE" }, "answered"],
      ["ack", { acks: "LINE", approve: false }, "answered"],
      ["ack", { corrects: "LINE" }, "published"],
      ["correction", { corrects: "LINE" }, "published"],
      ["ship", { about: "LINE" }, "published"],
    ] as const) {
      const { scribe, line, state } = scene();
      const fields = Object.entries(body).map(([name, value]) => [
        name,
        value === "LINE" ? line : value,
      ]);
      scribe.say(type, "t1", Object.fromEntries(fields));
      expect(state()).toMatchObject({ is });
    }
  });

  it("of one that does not chain is delivered by a sign of life after it was published", () => {
    const { facts, state } = scene();
    facts.lifeMs = 100;
    expect(state()).toMatchObject({ is: "published" });
    facts.lifeMs = 101;
    expect(state()).toMatchObject({ is: "delivered" });
  });

  it("of one that does not chain is answered by a later ack in the thread that names it or nothing", () => {
    const later = ({ seq }: ModelLine): number => (seq === null ? 2 : 1);
    const earlier = ({ seq }: ModelLine): number => (seq === null ? 0 : 1);
    const answered = (thread: string, body: (id: string) => unknown, at = later): string => {
      const { scribe, line, state } = scene();
      scribe.sayLoose("ack", thread, body(line[2]), ["forge"]);
      return state(at).is;
    };
    expect(answered("t1", () => "thanks")).toBe("answered");
    expect(answered("t1", (lineId) => ({ acks: lineId }))).toBe("answered");
    expect(answered("t1", () => ({ acks: "0".repeat(64) }))).toBe("published");
    expect(answered("t2", () => "thanks")).toBe("published");
    expect(answered("t1", () => "thanks", earlier)).toBe("published");
  });
});
