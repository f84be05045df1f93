import { expect, test } from "vitest";
import {
  incidentOf,
  trouble,
  TROUBLES,
  unexplained,
  type TroubleRow,
} from "../../src/api/troubles.ts";

const silent = (peer: string) => trouble("peer_silent", { peer });
const codes = (...troubles: Parameters<typeof unexplained>[0]) =>
  unexplained(troubles).map(({ code, peer }) => (peer === null ? code : `${code} ${peer}`));

test("a row is explained by other rows only", () => {
  const rows = Object.entries<TroubleRow>(TROUBLES);
  const named = rows.flatMap(([code, { behind = [] }]) => behind.map((other) => [code, other]));
  for (const [code, other = ""] of named) {
    expect(other).not.toBe(code);
    expect(TROUBLES).toHaveProperty(other);
  }
});

test.each(["transport", "offline"] as const)(
  "while there is %s, no peer is called silent",
  (code) => {
    const remote = trouble(code, { problem: "no route to host", hint: "nothing" });
    expect(codes(silent("scribe"), remote, silent("mason"))).toEqual([code]);
  },
);

test("a clock, a hold or a carrier of one peer explains the silence of that peer alone", () => {
  for (const cause of [
    trouble("clock_skew", { peer: "scribe", difference: "an hour" }),
    trouble("peer_held", { peer: "scribe" }),
    trouble("log_unreadable", { peer: "scribe", problem: "a folder" }),
  ])
    expect(codes(silent("scribe"), cause, silent("mason"))).toEqual([
      `${cause.code} scribe`,
      "peer_silent mason",
    ]);
});

test("of one peer a code is listed once, of none as often as it is there", () => {
  const gap = trouble("log_gap", { peer: "scribe", seq: 2 });
  const area = trouble("storage", { area: "own files", problem: "disk full", hint: "free space" });
  expect(codes(gap, area, gap, area)).toEqual(["log_gap scribe", "storage", "storage"]);
});

test("a trouble and the incident about it have the same words", () => {
  const facts = { peer: "scribe", seq: 3, lines: "a1 and b2" };
  expect(trouble("log_forked", facts, 0)).toEqual({
    ...{ code: "log_forked", severity: "error", audience: "operator", peer: "scribe" },
    detail:
      "the chain of scribe is forked at line 3, so nothing from there on is delivered: lines a1 and b2",
    end: "deaddrop peers show scribe",
    since: "1970-01-01T00:00:00.000Z",
  });
  expect(incidentOf("log_forked", facts, "scribe:3")).toEqual({
    ...{ key: "log_forked:scribe:3", cause: "log_forked", peer: "scribe", concernsWire: true },
    subject: "the chain of scribe is forked at line 3, so nothing from there on is delivered",
    detail: "lines a1 and b2; deaddrop peers show scribe",
  });
});
