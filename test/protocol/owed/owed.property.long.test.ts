import { expect, test } from "vitest";
import { amount } from "../../support/amounts.ts";
import { randomFrom } from "../../support/random.ts";
import { shuffle } from "../../support/timed-lines.ts";
import { naiveOwed } from "./naive-owed.ts";
import { agents, MEMBERS, owed } from "./owed-rows.ts";

test("what is owed is what the text says, in any order and with copies", () => {
  for (let seed = 1; seed <= amount(40, 3_000); seed += 1) {
    const random = randomFrom(seed);
    const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
    const writers = agents();
    for (let minute = 1; minute <= 12; minute += 1) {
      const writer = pick(writers);
      const said = writers.flatMap(({ lines }) => lines);
      const named = said.length === 0 ? undefined : pick(said);
      const place = named && [named.author, named.seq, named.id];
      const saying = {
        ...{ minute, takenMinute: minute + pick([0, 0, 2]), thread: pick(["t1", "t2"]) },
        ...{
          to: pick([["forge"], ["scribe"], ["*"], ["scribe", "ann"]]),
          isAckRequired: random() < 0.4,
        },
      };
      const isLoose = writer.author === "ann";
      const type = pick([
        "ship",
        "request",
        "proposal",
        "incident",
        "ack",
        "ack",
        "correction",
        "feedback",
      ]);
      const field = pick(["acks", "answers", "about", "counters", "resolves", "nothing"]);
      const value = isLoose ? named?.id : place;
      const body = {
        ...(type === "ack" || random() < 0.3 ? { [field]: value } : {}),
        ...(type === "correction"
          ? { decides: place, outcome: pick(["ended", "approved"]), answers: [] }
          : {}),
        ...(type === "proposal" && random() < 0.3 ? { required: [pick(MEMBERS)] } : {}),
        ...(type === "request" && random() < 0.5 ? { request_type: "x" } : {}),
      };
      if (isLoose) writer.sayLoose(type, body, saying);
      else writer.say(type, body, saying);
    }
    const lines = writers.flatMap((writer) => writer.lines);
    const expected = naiveOwed(lines, MEMBERS, "forge");
    for (const order of [lines, shuffle(lines, random), shuffle([...lines, ...lines], random)])
      expect({ seed, owed: [...owed(order)].toSorted() }).toEqual({ seed, owed: expected });
  }
});
