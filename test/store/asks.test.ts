import { expect, test } from "vitest";
import { storeOf, Writer } from "../support/chain-lines.ts";

test("of each asker the newest asks are listed and the newest open ones, so nobody hides another's", () => {
  const [forge, mallory] = [new Writer("forge"), new Writer("mallory")];
  const ask = (by: Writer, thread: string, body: object = {}) =>
    by.say("proposal", thread, { required: ["ann"], ...body }, ["ann"]);
  const open = ask(forge, "t");
  for (let at = 0; at < 40; at += 1) {
    const closed = ask(forge, `c${at}`);
    forge.say("correction", `c${at}`, { decides: closed, outcome: "ended", answers: [] });
  }
  for (let at = 0; at < 500; at += 1) ask(mallory, `m${at}`);
  const store = storeOf([...forge.lines, ...mallory.lines]);
  const listed = store.asks.newest("proposal", 32);
  const by = (author: string) => listed.filter((part) => part.ask.place.author === author);
  expect([by("forge").length, by("mallory").length]).toEqual([17, 16]);
  expect(by("forge")[0]).toMatchObject({ state: "open", ask: { place: { id: open[2] } } });
  expect(by("mallory").at(-1)?.ask.thread).toBe("m499");
  expect(store.asks.newest("request", 32)).toEqual([]);
});

test("asks are found by the beginning of their event id or of their request_id", () => {
  const forge = new Writer("forge");
  const body = { required: ["ann", "bob"], request_type: "x", request_id: "4f2a91c0" };
  const ask = forge.say("request", "t", body, ["ann", "bob"]);
  const store = storeOf(forge.lines);
  const found = (prefix: string) => store.asks.withPrefix(prefix, 9).map(({ party }) => party);
  expect([found("4f2a91"), found("4f2a91c0"), found(ask[2].slice(0, 6)), found(ask[2])]).toEqual(
    Array.from({ length: 4 }, () => ["ann", "bob"]),
  );
  expect([found("4f2a91c1"), found("%"), found("4f2a91c00")]).toEqual([[], [], []]);
});
