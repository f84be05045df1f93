import { expect, it } from "vitest";
import { readAsk, readClose } from "../../../src/protocol/asks/ask-line.ts";
import { verdictOf } from "../../../src/protocol/asks/closes.ts";
import type { History } from "../../../src/protocol/asks/history.ts";
import type { PlaceJson } from "../../../src/wire/places.ts";
import { storeOf, Writer } from "../../support/chain-lines.ts";

// Each clause that a close has to fulfil is there because its absence was punished: with the mistake planted, the
// same judge lets a close through that binds somebody against its word.

const T = "t1";
const pair = ([, seq, id]: PlaceJson): unknown => [seq, id];

interface Scene {
  readonly forge: Writer;
  readonly scribe: Writer;
  readonly ask: PlaceJson;
}

type Mistake = (history: History, scene: Scene) => Partial<History>;

function begin(): Scene {
  const forge = new Writer("forge");
  const scribe = new Writer("scribe");
  scribe.beat({});
  return { forge, scribe, ask: forge.say("proposal", T, { required: ["scribe"] }) };
}

function agree({ scribe, ask }: Scene, approve = true): PlaceJson {
  return scribe.say("ack", T, { acks: ask, approve });
}

function close({ forge, scribe, ask }: Scene, ack: PlaceJson, at = scribe.last): PlaceJson {
  const answers = [{ by: "scribe", ack: pair(ack), at: pair(at) }];
  return forge.say("correction", T, { decides: ask, outcome: "approved", answers });
}

/** What the judge says of the last line of forge, with some answers of its history replaced. */
function verdict(scene: Scene, mistake?: Mistake): unknown {
  const { forge, scribe, ask } = scene;
  const store = storeOf([...forge.lines, ...scribe.lines]);
  const history = store.history("w");
  const replaced = new Map(Object.entries(mistake?.(history, scene) ?? {}));
  const judged = new Proxy(history, {
    get(target, name) {
      const value: unknown = replaced.get(String(name)) ?? Reflect.get(target, name, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
  const [author, seq, id] = ask;
  const asked = history.linked({ author, seq, id });
  const [, last, lastId] = forge.last;
  const line = history.linked({ author, seq: last, id: lastId });
  const [read, closed] = [asked && readAsk(asked), line && readClose(line)];
  if (read === undefined || closed === undefined || line === undefined) throw new Error("no close");
  const found = verdictOf(judged, read, read.parties ?? [], { line, close: closed });
  store.close();
  return typeof found === "string" ? found : "open";
}

it.each<[string, (scene: Scene) => unknown, Mistake]>([
  [
    "an asker can forget what it knew",
    (scene) => {
      const yes = agree(scene);
      const no = agree(scene, false);
      scene.forge.beat({ scribe: no });
      return close(scene, yes, yes);
    },
    () => ({ isKnownBehind: () => false }),
  ],
  [
    "only heads are knowledge: a silent asker knows nothing",
    (scene) => {
      const yes = agree(scene);
      const no = agree(scene, false);
      scene.forge.say("ack", T, { about: no });
      return close(scene, yes, yes);
    },
    (history) => ({
      isKnownBehind: (tip, at) => history.firstHead(tip, at, "taken_in") !== undefined,
    }),
  ],
  [
    "an asker is bound to what it has left",
    (scene) => {
      const yes = agree(scene);
      const counter = scene.scribe.say("proposal", "t2", { required: ["forge"] });
      scene.forge.say("ack", T, { acks: counter, approve: true });
      return close(scene, yes);
    },
    (_, { ask: [author, seq, id] }) => ({
      standing: () => ({ words: 2, asks: 1, position: { author, seq, id } }),
    }),
  ],
  [
    "any answer does, not the last one",
    (scene) => {
      const yes = agree(scene);
      agree(scene, false);
      agree(scene);
      return close(scene, yes);
    },
    (history, { scribe }) => ({
      lastAnswer: (tip, ask) => {
        const answer = history.lastAnswer(tip, ask);
        const first = scribe.lines[1];
        return (
          answer && first && { approves: true, place: { ...answer.place, seq: 2, id: first.id } }
        );
      },
    }),
  ],
  [
    "words beyond the bound are read by nobody, and bind",
    (scene) => {
      const yes = agree(scene);
      for (let word = 0; word < 1_024; word += 1) scene.scribe.say("ack", T, {});
      return close(scene, yes);
    },
    (history) => ({
      standing: (tip, thread) => ({ ...history.standing(tip, thread), words: 1 }),
    }),
  ],
  [
    "a bare ack binds an agent that has a chain",
    (scene) => {
      const { forge, scribe } = scene;
      forge.beat({ scribe: scribe.last });
      const [, , id] = scribe.sayLoose("ack", T, { acks: scene.ask[2] }, ["forge"]);
      const answers = [{ by: "scribe", ack: [null, id] }];
      return forge.say("correction", T, { decides: scene.ask, outcome: "approved", answers });
    },
    () => ({ knowsChain: () => false }),
  ],
])("with the mistake that %s, a close would bind wrongly", (_what, play, mistake) => {
  const scene = begin();
  play(scene);
  expect([verdict(scene), verdict(scene, mistake)]).toEqual(["no", "yes"]);
});

it("a close that names lines which are not held is open, and would be invalid if they were only counted", () => {
  const scene = begin();
  const yes = agree(scene);
  scene.forge.beat({ scribe: ["scribe", 9, "9".repeat(64)] });
  close(scene, yes);
  const forgets: Mistake = () => ({ lastUnlinked: () => undefined });
  expect([verdict(scene), verdict(scene, forgets)]).toEqual(["open", "yes"]);
});

it("an answer says itself whether it is to a proposal or to a request", () => {
  const scene = begin();
  const yes = scene.scribe.say("ack", T, { answers: scene.ask, approve: true });
  close(scene, yes);
  expect(verdict(scene)).toBe("no");
});

it("two changes with one `after` need a taker that names no end, and such a word counts nowhere", () => {
  const thread = "roster:w";
  const starts = { forge: true, scribe: true };
  const change = (by: Writer, other: string, added: string): PlaceJson =>
    by.say("proposal", thread, {
      ...{ action: "members", after: 0, starts, leaves: [], required: [other] },
      makes: { ...starts, [added]: true },
    });
  const forge = new Writer("forge");
  const scribe = new Writer("scribe");
  const ours = change(scribe, "forge", "zoe");
  const ask = change(forge, "scribe", "eve");
  const yes = scribe.say("ack", thread, { acks: ask, approve: true });
  const answers = [{ by: "scribe", ack: pair(yes), at: pair(yes) }];
  forge.say("correction", thread, { decides: ask, outcome: "approved", answers });
  const scene = { forge, scribe, ask };
  expect(ours[0]).toBe("scribe");
  expect([verdict(scene), verdict(scene, () => ({ takeCounts: () => "yes" }))]).toEqual([
    "no",
    "yes",
  ]);
});
