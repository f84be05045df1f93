import { afterEach, describe, expect, test } from "vitest";
import { amount } from "../../support/amounts.ts";
import { SharedWire, WAYS } from "./shared-wire.ts";

let wire: SharedWire;
afterEach(() => wire.remove());

const TWO = [["forge"], ["scribe"]];

describe.each(WAYS)("%s", (way) => {
  test("delivers each message once, in the order of its log", async () => {
    wire = new SharedWire(way, TWO);
    await wire.start();
    for (let at = 0; at < 6; at += 1) {
      await wire.say("forge", { subject: `forge ${at}` });
      if (at % 2 === 0) await wire.say("scribe", { subject: `scribe ${at}` });
      if (at % 3 === 0) await wire.round();
    }
    await wire.check();
    expect(wire.subjects("scribe")).toEqual([0, 1, 2, 3, 4, 5].map((at) => `forge ${at}`));
    expect(wire.subjects("forge")).toEqual([0, 2, 4].map((at) => `scribe ${at}`));
  });

  const rounds = amount(12, 500);
  test(`loses nothing when both write and carry at the same moment, ${rounds} rounds`, async () => {
    wire = new SharedWire(way, TWO);
    await wire.start();
    for (let round = 0; round < rounds; round += 1) {
      wire.suspend(1_000);
      await wire.say("forge", { subject: `forge ${round}` });
      await wire.say("scribe", { subject: `scribe ${round}` });
      await wire.roundAtOnce();
    }
    await wire.check();
    const all = (of: string) => Array.from({ length: rounds }, (_, at) => `${of} ${at}`);
    expect([wire.subjects("scribe"), wire.subjects("forge")]).toEqual([
      all("forge"),
      all("scribe"),
    ]);
  });

  test("gives a host that joins late all of the history, once", async () => {
    wire = new SharedWire(way, [["forge"], ["scribe"], ["quill"]]);
    await wire.start("forge", "scribe");
    for (let at = 0; at < 5; at += 1) {
      await wire.say("forge", { subject: `forge ${at}` });
      await wire.say("scribe", { subject: `scribe ${at}`, to: ["forge", "quill"] });
      await wire.pass(60_000);
    }
    await wire.start("quill");
    await wire.say("quill", { subject: "here I am" });
    await wire.say("forge", { subject: "welcome" });
    await wire.pass(60_000);
    await wire.check();
    const expected = [0, 1, 2, 3, 4].flatMap((at) => [`forge ${at}`, `scribe ${at}`]);
    expect(wire.subjects("quill").toSorted()).toEqual([...expected, "welcome"].toSorted());
    expect(wire.subjects("forge").at(-1)).toBe("here I am");
  });
});
