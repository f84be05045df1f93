import { expect, test } from "vitest";
import { contestedBy, isContested } from "../../../src/protocol/claims/claim-conflicts.ts";
import { isOver, type ClaimStatus } from "../../../src/protocol/claims/claim-shapes.ts";
import { claimsView, forecastClaim } from "../../../src/protocol/claims/claims-view.ts";
import { checkPaths } from "../../../src/protocol/claims/path-check.ts";
import { apply } from "../../../src/protocol/core.ts";
import { emptyState } from "../../../src/protocol/state.ts";
import { OutcomeScript } from "../../support/scripts/outcome-script.ts";
import { lineEvent, NOON, scriptEnv, WireScript } from "../../support/scripts/wire-script.ts";

const THREE = ["a", "b", "c"];
const MINUTE_MS = 60_000;

test("a claim is shown whole, with whom it binds and until when", () => {
  const script = new WireScript("outbox", THREE);
  const body = {
    paths: ["src/**", "docs/a.md"],
    mode: "shared",
    ttl_seconds: 90,
    reason: "a port",
  };
  const line = script.say("a", NOON, { type: "claim", to: ["c"], body });
  const env = scriptEnv(script.layout, "c");
  const state = emptyState();
  apply(state, lineEvent(line, "c", { at: NOON + 5_000 }), env);
  const facts = { claims: state.claims, logs: state.logs, env, nowMs: NOON + MINUTE_MS };
  expect(claimsView(facts)).toEqual([
    {
      event_id: line.message.id,
      correlation_id: line.message.correlationId,
      from: "a",
      to: ["c"],
      paths: body.paths,
      mode: "shared",
      reason: "a port",
      status: "held",
      against: [],
      owners: [],
      since: new Date(NOON + 5_000).toISOString(),
      until: new Date(NOON + 95_000).toISOString(),
    },
  ]);
  apply(state, { kind: "set_back", at: NOON }, env);
  expect(claimsView(facts)[0]?.until).toBe(new Date(NOON + 90_000).toISOString());
});

test("a claim that we refuse is none; its release and answers to it are nothing", () => {
  const script = new OutcomeScript("outbox", THREE, ["a claims A paths=src/**", "b grants A"]);
  const refused = script.events("c", () => ({ refused: "tier_refused" }));
  expect(script.claimStandings(script.fold("c", refused), "c", NOON + MINUTE_MS)).toEqual([]);
});

test("a release that we refuse ends the claim all the same", () => {
  const script = new OutcomeScript("outbox", THREE, ["a claims A paths=src/**", "a releases A"]);
  const events = script.events("c", ({ message }) =>
    message.type === "release" ? { refused: "tier_refused" } : {},
  );
  expect(script.claimStandings(script.fold("c", events), "c", NOON + MINUTE_MS)).toEqual([
    "A a released",
  ]);
});

test("claims that are over are remembered, 64 lines of a log at most", () => {
  const steps = Array.from({ length: 70 }, (_, at) => [
    `a claims C${at} paths=p${at}`,
    `a releases C${at}`,
  ]).flat();
  const script = new OutcomeScript("outbox", THREE, [...steps, "a claims D paths=q"]);
  const standings = script.claimStandings(script.fold("c"), "c", NOON + MINUTE_MS);
  expect(standings).toHaveLength(64);
  expect(standings).toContain("D a held");
  expect(standings).not.toContain("C6 a released");
  expect(standings).toContain("C7 a released");
});

test("a conflict begins when a claim comes that is contested with ours, and lasts as long as that", () => {
  const steps = ["a claims A paths=src/**", "b claims B paths=src/x.ts", "b releases B"];
  const script = new OutcomeScript("outbox", THREE, steps);
  const begins = (self: string): unknown[] => {
    const env = script.env(self);
    const state = emptyState();
    return script.events(self).map((event) => {
      apply(state, event, env);
      const facts = { claims: state.claims, logs: state.logs, env, nowMs: event.at };
      const changed = [...state.claims.byLog.values()].flat().filter(({ id }) => {
        return id === event.message.id;
      });
      const thread = script.order[1]?.message.correlationId ?? "";
      const begun = contestedBy(facts, event, changed).map(({ peer }) => peer);
      return [begun, isContested(facts, thread)];
    });
  };
  expect(begins("a")).toEqual([
    [[], false],
    [["b"], true],
    [[], false],
  ]);
  expect(begins("b")[1]).toEqual([["a"], true]);
  // It is none of ours.
  expect(begins("c")[1]).toEqual([[], true]);
});

test("what may be edited says which logs are not read to their end", () => {
  const script = new WireScript("outbox", THREE);
  const env = scriptEnv(script.layout, "c", {}, { caughtUp: (log) => log !== "b" });
  expect(checkPaths(emptyState(), env, NOON, ["x"])).toEqual({
    handle: "c",
    behind: ["b"],
    paths: [{ path: "x", verdict: "free", domains: [], decisions: [], claims: [], blocked_by: [] }],
  });
});

test("a block by a claim names who claims, until when, and why", () => {
  const script = new WireScript("outbox", THREE);
  const body = { paths: ["src/**"], reason: "a port" };
  const line = script.say("a", NOON, { type: "claim", body });
  const env = scriptEnv(script.layout, "c");
  const state = emptyState();
  apply(state, lineEvent(line, "c"), env);
  const [checked] = checkPaths(state, env, NOON + MINUTE_MS, ["src/x"]).paths;
  expect(checked?.blocked_by).toEqual([
    {
      kind: "claim",
      from: "a",
      event_id: line.message.id,
      until: new Date(NOON + 60 * MINUTE_MS).toISOString(),
      reason: "a port",
    },
  ]);
});

test("a claim that is not sent yet is weighed by the same rules", () => {
  const domains = new Map([["api", { owner: "b", paths: ["src/api/"] }]]);
  const steps = [
    "a claims A paths=src/**",
    "b claims B paths=docs/** mode=shared",
    "a claims C paths=src/api/x.ts",
  ];
  const script = new OutcomeScript("outbox", THREE, steps);
  const env = script.env("c", { domains });
  const { claims, logs } = script.fold("c");
  const facts = { claims, logs, env, nowMs: NOON + MINUTE_MS };
  const meets = (path: string, mode: "exclusive" | "shared" = "exclusive"): string[][] => {
    const { against, owners } = forecastClaim(facts, { paths: [path], mode });
    const names = against.map(({ event_id: id }) => [...script.names].find(([, of]) => of === id));
    return [names.map((found) => found?.[0] ?? "?"), owners.map(({ owner }) => owner)];
  };
  expect(meets("src/ui/*")).toEqual([["A"], []]);
  expect(meets("docs/a.md")).toEqual([["B"], []]);
  expect(meets("docs/a.md", "shared")).toEqual([[], []]);
  // Within a domain its owner decides between two.
  expect(meets("src/api/x.ts")).toEqual([[], ["b"]]);
  expect(meets("**")).toEqual([["A", "B"], ["b"]]);
  expect(meets("test/**")).toEqual([[], []]);
});

test("a forecast names each claim that it would meet, with its paths and its end", () => {
  const script = new OutcomeScript("outbox", THREE, [
    "a claims A paths=src/**,docs/* ttl=90 to=b",
    "b claims B paths=src/x ttl=60",
  ]);
  const { claims, logs } = script.fold("c");
  const facts = { claims, logs, env: script.env("c"), nowMs: NOON + 2_000 };
  const met = (id: string, from: string, paths: string[], endMs: number) => {
    return { event_id: script.idOf(id), from, paths, until: new Date(endMs).toISOString() };
  };
  expect(forecastClaim(facts, { paths: ["src/x"], mode: "exclusive" })).toEqual({
    against: [
      met("A", "a", ["src/**", "docs/*"], NOON + 90_000),
      met("B", "b", ["src/x"], NOON + 61_000),
    ],
    owners: [],
  });
});

test("claims are shown oldest first, of one moment by log and line", () => {
  const steps = ["b claims B paths=b", "a claims A paths=a", "a claims C paths=c"];
  const script = new OutcomeScript("outbox", THREE, [...steps, "b claims D paths=d"]);
  const order = (ats: readonly number[]): string => {
    const [ofB, first, second, last] = script.events("c").map((event, index) => {
      return { ...event, at: NOON + (ats[index] ?? 0) };
    });
    const events = [ofB, first, second, last].flatMap((event) => event ?? []);
    const { claims, logs } = script.fold("c", events);
    const facts = { claims, logs, env: script.env("c"), nowMs: NOON };
    return claimsView(facts)
      .map(({ paths }) => paths.join())
      .join("");
  };
  expect(order([1, 2, 3, 4])).toBe("bacd");
  expect(order([3, 1, 2, 4])).toBe("acbd");
  expect(order([1, 1, 2, 3])).toBe("abcd");
  expect(order([4, 4, 4, 4])).toBe("acbd");
});

test.each<[ClaimStatus, boolean]>([
  ["released", true],
  ["expired", true],
  ["held", false],
  ["waiting", false],
  ["denied", false],
  ["lost", false],
  ["contested", false],
  ["void", false],
])("a claim is over once its author or its time has ended it: %s", (status, expected) => {
  expect(isOver({ status })).toBe(expected);
});
