import { expect, test } from "vitest";
import { openHeads, type HeadsStore } from "../../../src/storage/own-log/heads.ts";
import { MemoryDisk, type MemoryProcess } from "../../support/disk/memory-disk.ts";

const PATH = "/heads.json";
const LOG = "scribe_to_forge";
const headAt = (seq: number) => ({ seq, id: String(seq).repeat(64) });
const saved = (store: HeadsStore, seq: number) =>
  store.save({ peers: new Map([[LOG, headAt(seq)]]) });

function storeAt(seq: number): { readonly store: HeadsStore; readonly process: MemoryProcess } {
  const process = new MemoryDisk().process();
  const store = openHeads(process, PATH);
  saved(store, seq);
  return { store, process };
}

test("a head that could not be written is not remembered: the next save writes it", () => {
  const { store, process } = storeAt(1);
  process.failAt(1, "EIO");
  expect(() => saved(store, 2)).toThrow("input/output error");
  expect(store.peer(LOG)).toEqual(headAt(1));
  process.heal();
  saved(store, 2);
  expect(openHeads(process, PATH).peer(LOG)).toEqual(headAt(2));
});

test("a head that is forgotten is gone from the disk, too", () => {
  const { store, process } = storeAt(1);
  store.save({ peers: new Map([[LOG, undefined]]) });
  expect(store.peer(LOG)).toBeUndefined();
  expect(openHeads(process, PATH).peers()).toEqual(new Map());
});

test("what has not changed is not written again", () => {
  const { store, process } = storeAt(1);
  process.failAt(1, "EIO");
  saved(store, 1);
  expect(store.peer(LOG)).toEqual(headAt(1));
});

test("heads that were seen are written with the next save, whatever that is about, and once", () => {
  const { store, process } = storeAt(1);
  store.see(LOG, headAt(2));
  expect(store.peer(LOG)).toEqual(headAt(2));
  expect(openHeads(process, PATH).peer(LOG)).toEqual(headAt(1));
  process.failAt(1, "EIO");
  expect(() => store.save()).toThrow("input/output error");
  expect(store.peer(LOG)).toEqual(headAt(2));
  store.save();
  expect(openHeads(process, PATH).peer(LOG)).toEqual(headAt(2));
  const { operations } = process;
  store.save();
  expect(process.operations).toBe(operations);
});
