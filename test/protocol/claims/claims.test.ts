import { describe, expect, test } from "vitest";
import { checkPaths } from "../../../src/protocol/claims/path-check.ts";
import type { Domains } from "../../../src/protocol/env.ts";
import { OutcomeScript } from "../../support/scripts/outcome-script.ts";
import { NOON, type EnvChange } from "../../support/scripts/wire-script.ts";
import { foldedTwice } from "../../support/scripts/folded-twice.ts";

const THREE = ["a", "b", "c"];
const MINUTE_MS = 60_000;
const A_CLAIMS = "a claims A paths=src/**";
const B_CLAIMS = "b claims B paths=src/api/*";

interface Scene extends EnvChange {
  readonly roster?: readonly string[];
  readonly kind?: "pairwise" | "outbox";
  readonly viewer?: string;
  readonly atMs?: number;
}

function scriptOf(steps: readonly string[], { roster = THREE, kind = "outbox" }: Scene) {
  return new OutcomeScript(kind, roster, steps);
}

function standings(steps: readonly string[], scene: Scene = {}): string[] {
  const { viewer = "c", atMs = MINUTE_MS, roster: _roster, kind: _kind, ...change } = scene;
  const script = scriptOf(steps, scene);
  const events = script.events(viewer);
  const byLog = [...events].sort((x, y) => (x.log < y.log ? -1 : x.log > y.log ? 1 : 0));
  const backwards = [...events].sort((x, y) => (x.log < y.log ? 1 : x.log > y.log ? -1 : 0));
  const [first, ...others] = [events, byLog, backwards].map((each) =>
    script.claimStandings(script.fold(viewer, each), viewer, NOON + atMs, change),
  );
  // In whatever order the logs are read, read twice, and with a checkpoint in between.
  for (const other of others) expect(other).toEqual(first);
  const again = foldedTwice(script, viewer, events, Math.floor(events.length / 2));
  expect(script.claimStandings(again, viewer, NOON + atMs, change)).toEqual(first);
  return first ?? [];
}

function verdicts(steps: readonly string[], paths: readonly string[], scene: Scene = {}) {
  const { viewer = "c", atMs = MINUTE_MS, roster: _roster, kind: _kind, ...change } = scene;
  const script = scriptOf(steps, scene);
  const env = script.env(viewer, change);
  return checkPaths(script.fold(viewer), env, NOON + atMs, paths).paths.map(
    ({ path, verdict, blocked_by }) =>
      [path, verdict, ...blocked_by.map((by) => (by.kind === "claim" ? by.from : by.domain))].join(
        " ",
      ),
  );
}

const OWNED: Domains = new Map([["api", { owner: "c", paths: ["src/api/"] }]]);

describe("two claims where nobody owns the paths", () => {
  test("neither author knew of the other: nobody holds until one releases", () => {
    const both = [A_CLAIMS, B_CLAIMS];
    expect(standings(both)).toEqual(["A a contested B", "B b contested A"]);
    expect(verdicts(both, ["src/api/x.ts"])).toEqual(["src/api/x.ts free"]);
    const released = [...both, "a releases A"];
    expect(standings(released)).toEqual(["A a released", "B b held"]);
    expect(verdicts(released, ["src/api/x.ts", "src/x.ts"])).toEqual([
      "src/api/x.ts blocked b",
      "src/x.ts free",
    ]);
  });

  test("the one whose author knew of the other loses, and holds when that one ends", () => {
    const known = [A_CLAIMS, "b beats", B_CLAIMS];
    expect(standings(known)).toEqual(["A a held", "B b lost A"]);
    expect(standings([...known, "a releases A"])).toEqual(["A a released", "B b held"]);
    expect(standings([`${A_CLAIMS} ttl=30`, "b beats", B_CLAIMS])).toEqual([
      "A a expired",
      "B b held",
    ]);
    expect(standings([A_CLAIMS, "a releases A", "b beats", B_CLAIMS])).toEqual([
      "A a released",
      "B b held",
    ]);
  });

  test("a beat that counts lines which we lack leaves it open", () => {
    expect(standings([A_CLAIMS, "b beats a=9", B_CLAIMS])).toEqual([
      "A a contested B",
      "B b contested A",
    ]);
  });

  test("two shared ones do not disturb each other; one exclusive of the two is enough", () => {
    const shared = [`${A_CLAIMS} mode=shared`, `${B_CLAIMS} mode=shared`];
    expect(standings(shared)).toEqual(["A a held", "B b held"]);
    expect(verdicts(shared, ["src/api/x.ts"])).toEqual(["src/api/x.ts free"]);
    expect(standings([A_CLAIMS, "b beats", `${B_CLAIMS} mode=shared`])).toEqual([
      "A a held",
      "B b lost A",
    ]);
  });

  test("an author's own claims may overlap, and patterns that share no path do not", () => {
    expect(standings([A_CLAIMS, "a claims B paths=src/x.ts"])).toEqual(["A a held", "B a held"]);
    expect(standings([A_CLAIMS, "b claims B paths=docs/**,test/*"])).toEqual([
      "A a held",
      "B b held",
    ]);
  });
});

describe("where the paths have an owner", () => {
  const change = { domains: OWNED };
  const mine = "a claims A paths=src/api/x.ts";

  test("the owner's word grants; its last one counts; nobody else's does", () => {
    expect(standings([mine], change)).toEqual(["A a waiting"]);
    expect(standings([mine, "c grants A"], change)).toEqual(["A a held"]);
    expect(standings([mine, "c acks A"], change)).toEqual(["A a held"]);
    expect(standings([mine, "c denies A"], change)).toEqual(["A a denied"]);
    expect(standings([mine, "c grants A", "c denies A"], change)).toEqual(["A a denied"]);
    expect(standings([mine, "b grants A"], change)).toEqual(["A a waiting"]);
  });

  test("no claim binds the owner of the paths; a granted one binds the others", () => {
    const granted = [mine, "c grants A"];
    expect(verdicts(granted, ["src/api/x.ts"], change)).toEqual(["src/api/x.ts own"]);
    expect(verdicts(granted, ["src/api/x.ts"], { ...change, viewer: "b" })).toEqual([
      "src/api/x.ts blocked api a",
    ]);
    expect(verdicts([mine], ["src/api/x.ts"], { ...change, viewer: "b" })).toEqual([
      "src/api/x.ts blocked api",
    ]);
    // The owner has agreed that its author works there.
    expect(verdicts(granted, ["src/api/x.ts"], { ...change, viewer: "a" })).toEqual([
      "src/api/x.ts covered",
    ]);
    expect(verdicts([mine], ["src/api/x.ts"], { ...change, viewer: "a" })).toEqual([
      "src/api/x.ts blocked api",
    ]);
  });

  test("the owner decides between two; a claim that goes beyond the domain contests the rest", () => {
    const two = [mine, "b claims B paths=src/api/*", "c grants A"];
    expect(standings(two, change)).toEqual(["A a held", "B b waiting"]);
    const wide = ["a claims A paths=**", "b claims B paths=**", "c grants A"];
    expect(standings(wide, change)).toEqual(["A a contested B", "B b contested A"]);
    expect(verdicts(wide, ["docs/a.md"], { ...change, viewer: "c" })).toEqual(["docs/a.md free"]);
  });

  test("a folder that a domain names without what is below it is not only the owner's", () => {
    const shallow = { domains: new Map([["top", { owner: "c", paths: ["src/*"] }]]) };
    const two = ["a claims A paths=src/api", "b claims B paths=src/api", "c grants A"];
    expect(standings(two, shallow)).toEqual(["A a contested B", "B b contested A"]);
  });

  test("of its own domain its owner claims without anybody's word", () => {
    const own = ["c claims C paths=src/api/**"];
    expect(standings(own, change)).toEqual(["C c held"]);
    expect(verdicts(own, ["src/api/x.ts"], { ...change, viewer: "a" })).toEqual([
      "src/api/x.ts blocked api c",
    ]);
  });
});

describe("what binds nobody", () => {
  test("a claim in a pair's log binds that pair alone", () => {
    const pair = { kind: "pairwise", roster: THREE } as const;
    const steps = ["a claims A paths=src/**"];
    expect(verdicts(steps, ["src/x.ts"], { ...pair, viewer: "b" })).toEqual(["src/x.ts blocked a"]);
    expect(verdicts(steps, ["src/x.ts"], { ...pair, viewer: "c" })).toEqual(["src/x.ts free"]);
    expect(verdicts(["a claims A paths=src/** to=b"], ["src/x.ts"])).toEqual(["src/x.ts free"]);
  });

  test("a claim of an agent that may not claim any more", () => {
    const tierOf = () => ({ tier: "VERIFIED" as const, sinceMs: 0 });
    expect(standings([A_CLAIMS], { tierOf })).toEqual(["A a void"]);
    expect(verdicts([A_CLAIMS], ["src/x.ts"], { tierOf })).toEqual(["src/x.ts free"]);
  });

  test.each([
    ["no path", "a claims A"],
    [
      "33 patterns",
      `a claims A paths=${Array.from({ length: 33 }, (_, at) => `p${at}`).join(",")}`,
    ],
    ["a path above the project", "a claims A paths=src/x,../secrets/**"],
    ["a path of the disk's root", "a claims A paths=/etc/**"],
    [
      "patterns of more than 2,048 characters",
      `a claims A paths=${"x/".repeat(512)},${"y/".repeat(520)}`,
    ],
    ["a mode that there is not", "a claims A paths=src/** mode=greedy"],
    ["no time", "a claims A paths=src/** ttl=0"],
    ["more than a day", "a claims A paths=src/** ttl=86401"],
    ["a time that is no number", "a claims A paths=src/** ttl=soon"],
  ])("a claim with %s is none", (_what, step) => {
    expect(standings([step])).toEqual([]);
  });

  test("a ninth claim while eight are live; one that has ended makes room", () => {
    const eight = Array.from({ length: 8 }, (_, at) => `a claims C${at} paths=p${at}`);
    expect(standings([...eight, "a claims D paths=q"])).toHaveLength(8);
    expect(standings([...eight, "a releases C3", "a claims D paths=q"])).toContain("D a held");
  });

  test("a release ends what came before it in its own log, and nothing of others", () => {
    expect(standings([A_CLAIMS, "b releases A"])).toEqual(["A a held"]);
    const again = [A_CLAIMS, "a releases A", "a claims B paths=src/**"];
    expect(standings(again)).toEqual(["A a released", "B a held"]);
  });
});

test("a claim ends by its TTL from our receipt; of history from its timestamp", () => {
  const step = [`${A_CLAIMS} ttl=60`];
  expect(standings(step, { atMs: 59_999 })).toEqual(["A a held"]);
  expect(standings(step, { atMs: 60_000 })).toEqual(["A a expired"]);
  const script = scriptOf(step, {});
  const late = script.events("c", () => ({ at: NOON + MINUTE_MS }));
  const history = script.events("c", () => ({ at: NOON + MINUTE_MS, live: false }));
  const nowMs = NOON + 2 * MINUTE_MS - 1;
  expect(script.claimStandings(script.fold("c", late), "c", nowMs)).toEqual(["A a held"]);
  expect(script.claimStandings(script.fold("c", history), "c", nowMs)).toEqual(["A a expired"]);
});
