import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nextTimestamp } from "../../src/wire/compose.ts";
import { formatMicros, parseTimestamp } from "../../src/wire/timestamp.ts";

describe("timestamps that are read", () => {
  for (const [text, utc] of [
    ["2026-06-01T10:00:00.000Z", "2026-06-01T10:00:00.000Z"],
    ["2026-06-01T10:00:00Z", "2026-06-01T10:00:00.000Z"],
    ["2026-06-01T10:00Z", "2026-06-01T10:00:00.000Z"],
    ["2026-06-01T10:00+02:00", "2026-06-01T08:00:00.000Z"],
    ["2026-06-01T10:00:00.5-05:30", "2026-06-01T15:30:00.500Z"],
    ["2026-06-01T10:00:00+0200", "2026-06-01T08:00:00.000Z"],
    ["2026-06-01T10:00:00-02", "2026-06-01T12:00:00.000Z"],
    ["2026-01-01T00:30:00+01:00", "2025-12-31T23:30:00.000Z"],
    ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"],
    ["2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000Z"],
    ["2026-06-01T23:59:59+23:59", "2026-06-01T00:00:59.000Z"],
    ["2026-06-01T00:00:00-23:59", "2026-06-01T23:59:00.000Z"],
    ["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"],
    ["0099-03-01T00:00:00Z", "0099-03-01T00:00:00.000Z"],
    ["0100-03-01T00:00:00Z", "0100-03-01T00:00:00.000Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
    ["0004-02-29T00:00:00Z", "0004-02-29T00:00:00.000Z"],
  ] as const) {
    it(text, () => {
      expect(new Date(parseTimestamp(text)!).toISOString()).toBe(utc);
    });
  }

  it("keep microseconds as a fraction of the millisecond, and cut what is finer", () => {
    const second = Date.UTC(2026, 5, 1, 10);
    expect(parseTimestamp("2026-06-01T10:00:00.123456Z")).toBe(second + 123.456);
    expect(parseTimestamp("2026-06-01T10:00:00.123456789123456789Z")).toBe(second + 123.456);
    expect(parseTimestamp("2026-06-01T10:00:00.000001-00:00")).toBe(second + 0.001);
  });
});

describe("timestamps that are refused", () => {
  for (const text of [
    "",
    "2026-06-01",
    "2026-06-01T10:00:00",
    "2026-06-01 10:00:00Z",
    "2026-06-01t10:00:00z",
    "2026-06-01T10:00:00.Z",
    "2026-06-01T10:00:00,5Z",
    "2026-06-01T10:00.5Z",
    "2026-06-01T10Z",
    "2026-06-01T24:00:00Z",
    "2026-06-01T10:60:00Z",
    "2026-06-30T23:59:60Z",
    "2026-02-29T00:00:00Z",
    "1900-02-29T00:00:00Z",
    "2026-06-31T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-09-31T00:00:00Z",
    "2026-11-31T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-00-01T00:00:00Z",
    "2026-06-00T00:00:00Z",
    "2026-06-32T00:00:00Z",
    "0000-01-01T00:00:00Z",
    "2026-06-01T10:00:00+24:00",
    "2026-06-01T10:00:00+10:60",
    "2026-06-01T10:00:00+2",
    "2026-06-01T10:00:00+02:0",
    "2026-06-01T10:00:00ZZ",
    "2026-06-01T10:00:00Z\n",
    " 2026-06-01T10:00:00Z",
    "2026-06-01T10:00 2026-06-01T10:00:00Z",
    "12026-06-01T10:00:00Z",
    "+002026-06-01T10:00:00Z",
    "2026-6-1T10:00:00Z",
    "２０２６-06-01T10:00:00Z",
    `2026-06-01T10:00:00.${"1".repeat(19)}Z`,
    `2026-06-01T10:00:00.${"1".repeat(100_000)}Z`,
  ]) {
    it(JSON.stringify(text).slice(0, 48), () => {
      expect(parseTimestamp(text)).toBeUndefined();
    });
  }
});

describe("our own timestamps", () => {
  const now = Date.UTC(2026, 5, 1, 10);

  it("are UTC with microseconds", () => {
    expect(nextTimestamp(now, 7, undefined)).toBe("2026-06-01T10:00:00.000007Z");
    expect(nextTimestamp(now + 1, 999, undefined)).toBe("2026-06-01T10:00:00.001999Z");
  });

  it("come after the last one, even when the clock stands or went back", () => {
    expect(nextTimestamp(now, 7, "2026-06-01T10:00:00.000007Z")).toBe(
      "2026-06-01T10:00:00.000008Z",
    );
    expect(nextTimestamp(now, 7, "2026-06-01T10:00:59.999999Z")).toBe(
      "2026-06-01T10:01:00.000000Z",
    );
    expect(nextTimestamp(now, 7, "2026-06-01T10:01:00.000007Z")).toBe(
      "2026-06-01T10:01:00.000008Z",
    );
    expect(nextTimestamp(now, 7, "2026-06-01T12:00:00.000006+02:00")).toBe(
      "2026-06-01T10:00:00.000007Z",
    );
  });

  it("go back to the clock when the last one is more than 60 s ahead", () => {
    expect(nextTimestamp(now, 7, "2026-06-01T10:01:00.000008Z")).toBe(
      "2026-06-01T10:00:00.000007Z",
    );
    expect(nextTimestamp(now, 7, "9999-12-31T23:59:59.999999Z")).toBe(
      "2026-06-01T10:00:00.000007Z",
    );
  });

  it("read back to the microsecond", () => {
    const micros = fc
      .integer({ min: 0, max: Date.UTC(9999, 11, 31) })
      .chain((ms) =>
        fc.integer({ min: 0, max: 999 }).map((rest) => Math.min(ms * 1_000 + rest, 2 ** 51)),
      );
    fc.assert(
      fc.property(micros, (moment) => {
        expect(Math.round(parseTimestamp(formatMicros(moment))! * 1_000)).toBe(moment);
      }),
    );
  });

  it("read as JavaScript's own Date reads them", () => {
    fc.assert(
      fc.property(
        fc.date({ noInvalidDate: true, min: new Date(0), max: new Date("9999-12-31") }),
        (date) => {
          expect(parseTimestamp(date.toISOString())).toBe(date.getTime());
        },
      ),
    );
  });
});
