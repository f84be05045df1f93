import { describe, expect, test } from "vitest";
import { IdColumn } from "../../../src/protocol/logs/id-column.ts";
import { eventId } from "../../support/scripts/event-id.ts";

const ids = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => eventId(`line ${at}`));

describe("a column of ids", () => {
  test.each([0, 1, 511, 512, 513, 1_025])("holds %i ids in their order", (count) => {
    const all = ids(count);
    const column = IdColumn.of(all);
    expect([column.length, ...column]).toEqual([count, ...all]);
    const places = [0, 1, 510, 511, 512, 1_024, 1_025, -1, -2, -512, -513, -1_025, -1_026];
    expect(places.map((place) => column.at(place))).toEqual(places.map((place) => all.at(place)));
  });

  test("finds each id where it is, also those that came after the first search", () => {
    const all = ids(700);
    const column = IdColumn.of(all.slice(0, 9));
    for (const [place, id] of all.entries()) {
      if (place >= 9) column.push(id);
      expect(column.placesOf(id)).toEqual([place]);
    }
    for (const [place, id] of all.entries()) expect(column.placesOf(id)).toEqual([place]);
    expect(column.placesOf(eventId("another"))).toEqual([]);
  });

  test("tells ids apart that begin alike", () => {
    const alike = ids(200).map((id) => `00000000${id.slice(8)}`);
    const column = IdColumn.of(alike);
    expect(alike.map((id) => column.placesOf(id))).toEqual(alike.map((_id, place) => [place]));
    expect(column.placesOf(`00000000${eventId("another").slice(8)}`)).toEqual([]);
  });

  test("names all places of an id, the first one first", () => {
    const [a = "", b = ""] = ids(2);
    const column = IdColumn.of([a, b, a]);
    expect(column.placesOf(a)).toEqual([0, 2]);
    column.push(a);
    expect(column.placesOf(a)).toEqual([0, 2, 3]);
    for (const id of ids(200).slice(2)) column.push(id);
    expect(column.placesOf(a)).toEqual([0, 2, 3]);
  });

  test.each([1, 511, 512, 513, 999])("forgets the first %i of a thousand", (count) => {
    const all = ids(1_000);
    const column = IdColumn.of(all);
    expect(column.placesOf(all[999] ?? "")).toEqual([999]);
    column.dropFirst(count);
    const more = ids(1_200).slice(1_000);
    for (const id of more) column.push(id);
    const left = [...all.slice(count), ...more];
    expect([...column]).toEqual(left);
    expect(column.placesOf(all[count - 1] ?? "")).toEqual([]);
    expect(column.placesOf(left[0] ?? "")).toEqual([0]);
    expect(column.placesOf(left.at(-1) ?? "")).toEqual([left.length - 1]);
  });

  test("forgets all of them, none of them, and no more than there are", () => {
    const column = IdColumn.of(ids(5));
    column.dropFirst(0);
    column.dropFirst(-3);
    expect([...column]).toEqual(ids(5));
    column.dropFirst(7);
    expect([...column]).toEqual([]);
    expect(column.placesOf(ids(1)[0] ?? "")).toEqual([]);
    column.push(eventId("new"));
    expect([column.length, column.at(0), column.at(-1)]).toEqual([
      ...[1, eventId("new"), eventId("new")],
    ]);
  });

  test("gives a column of those that are kept, and stays as it is", () => {
    const all = ids(400);
    const column = IdColumn.of(all);
    column.dropFirst(130);
    const odd = column.filter((place) => place % 2 === 1);
    const kept = all.slice(130).filter((_id, place) => place % 2 === 1);
    expect([...odd]).toEqual(kept);
    expect(kept.map((id) => odd.placesOf(id))).toEqual(kept.map((_id, place) => [place]));
    odd.push(eventId("new"));
    expect([...column]).toEqual(all.slice(130));
    expect(odd.length).toBe(136);
  });

  test("takes event ids alone, and knows no other text", () => {
    const [id = ""] = ids(1);
    const column = IdColumn.of([id]);
    const others = ["", "x", id.slice(1), `${id}0`, id.toUpperCase(), `${id.slice(1)}g`, `${id}\n`];
    for (const other of others) {
      expect(() => column.push(other)).toThrow(new TypeError(`no event id: ${other}`));
      expect(column.placesOf(other)).toEqual([]);
    }
    expect(column.length).toBe(1);
  });

  test.each([0, 1, 511, 512, 513, 2_000])(
    "of %i ids gives pieces that make the same column",
    (count) => {
      const column = IdColumn.of(ids(count + 300));
      column.dropFirst(300);
      const again = IdColumn.of(ids(3));
      for (const piece of column.pieces()) expect(again.pushPiece(piece)).toBe(true);
      expect([...again]).toEqual([...ids(3), ...column]);
      again.dropFirst(3);
      expect(again).toEqual(column);
      expect(again.placesOf(again.at(-1) ?? "")).toEqual(count === 0 ? [] : [count - 1]);
    },
  );

  test("takes no piece of something else, and adds nothing of it", () => {
    const column = new IdColumn();
    const [piece = ""] = IdColumn.of(ids(2)).pieces();
    const others = ["", 7, null, [piece], piece.slice(4), `${piece}AAAA`, `${piece} `, `*${piece}`];
    for (const other of others) expect(column.pushPiece(other)).toBe(false);
    expect(column.length).toBe(0);
    expect(column.pushPiece(piece)).toBe(true);
  });

  test("equals one with the same ids, however it came to them", () => {
    const dropped = IdColumn.of(ids(300));
    dropped.dropFirst(200);
    expect(dropped).toEqual(IdColumn.of(ids(300).slice(200)));
    expect(dropped).not.toEqual(IdColumn.of(ids(300).slice(201)));
    expect(dropped).not.toEqual(IdColumn.of(ids(100)));
  });
});
