import { afterEach, describe, expect, test } from "vitest";
import { SharedWire, WAYS } from "./shared-wire.ts";

let wire: SharedWire;
afterEach(() => wire.remove());

/** forge and quill live on one host, scribe on another. */
async function three(way: (typeof WAYS)[number]): Promise<void> {
  wire = new SharedWire(way, [["forge", "quill"], ["scribe"]]);
  await wire.start();
}

async function allSay(what: string): Promise<void> {
  for (const handle of wire.roster.filter((each) => wire.isUp(each))) {
    await wire.say(handle, { subject: `${handle} ${what}` });
  }
}

const movers = (): string[] =>
  wire.roster.filter(
    (handle) => wire.isUp(handle) && wire.process(handle).transport?.health().isMover === true,
  );

describe.each(WAYS)("%s", (way) => {
  test("three agents on two hosts hear each other", async () => {
    await three(way);
    await allSay("first");
    await wire.check();
    for (const handle of wire.roster) {
      const others = wire.roster.filter((each) => each !== handle);
      expect(wire.subjects(handle).toSorted()).toEqual(others.map((each) => `${each} first`));
    }
  });

  test("one of two on a host dies, and the other goes on", async () => {
    await three(way);
    await allSay("first");
    await wire.settle();
    expect(movers()).toEqual(way === "git" ? ["forge", "scribe"] : []);
    wire.kill("forge");
    await allSay("second");
    await wire.settle();
    expect(movers()).toEqual(way === "git" ? ["quill", "scribe"] : []);
    expect(wire.subjects("quill")).toContain("scribe second");
    await wire.start("forge");
    await allSay("third");
    await wire.check();
    expect(movers()).toEqual(way === "git" ? ["quill", "scribe"] : []);
    for (const handle of ["forge", "quill"]) {
      const ofScribe = wire.subjects(handle).filter((subject) => subject.startsWith("scribe "));
      expect(ofScribe).toEqual(["scribe first", "scribe second", "scribe third"]);
    }
  });
});
