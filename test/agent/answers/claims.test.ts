import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { checkView, claimForecastView, claimsView } from "../../../src/agent/answers/claims.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { placeJson } from "../../../src/wire/places.ts";
import { CoreWire } from "../../support/core-wire.ts";

/** What an agent is told of claims. Spec 3.6, 3.7. */

let root: string;
let wire: CoreWire;
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "deaddrop-claims-"));
  wire = new CoreWire(root, ["forge", "scribe"]);
  await wire.settle();
});
afterEach(() => {
  wire.close();
  rmSync(root, { recursive: true, force: true });
});

async function claim(by: string, paths: readonly string[]) {
  const body = fromPlain({ paths, reason: "parser work", ttl_seconds: 600 });
  const line = wire.agent(by).say("mine", { type: "claim", to: ["*"], body });
  await wire.settle();
  return line;
}

describe("claims", () => {
  test("both sides see the claim, and what names it", async () => {
    const line = await claim("forge", ["src/parser/**"]);
    for (const { core } of wire.agents.values())
      expect(claimsView(core)).toEqual([
        {
          ...{ place: placeJson(line), event_id: line.id, correlation_id: line.thread },
          ...{ from: "forge", to: ["scribe"], paths: ["src/parser/**"], mode: "exclusive" },
          ...{ reason: "parser work", status: "held", against: [], owners: [] },
          since: expect.any(String),
          until: expect.any(String),
        },
      ]);
  });

  test("it blocks the other's path and not our own, and forecasts name it", async () => {
    const { id } = await claim("forge", ["src/parser/**"]);
    const check = (name: string) =>
      checkView(wire.agent(name).core, { paths: ["src/parser/a.ts", "README.md"] });
    expect(check("scribe")).toMatchObject({
      ...{ handle: "scribe", behind: [] },
      paths: [
        { verdict: "blocked", blocked_by: [{ kind: "claim", from: "forge", event_id: id }] },
        { verdict: "free", blocked_by: [] },
      ],
    });
    expect(check("forge").paths.map(({ verdict }) => verdict)).toEqual(["free", "free"]);
    const asked = { paths: ["src/**"], mode: "exclusive" } as const;
    expect(claimForecastView(wire.agent("scribe").core, asked).against).toMatchObject([
      { event_id: id, from: "forge", paths: ["src/parser/**"] },
    ]);
    expect(claimForecastView(wire.agent("forge").core, asked).against).toEqual([]);
  });

  test("a claim ends with its time and with its release", async () => {
    const first = await claim("forge", ["a/**"]);
    await claim("scribe", ["b/**"]);
    wire.agent("forge").say("done", { type: "release", to: ["*"], correlationId: first.thread });
    await wire.settle();
    const froms = (): string[] => claimsView(wire.agent("scribe").core).map(({ from }) => from);
    expect(froms()).toEqual(["scribe"]);
    wire.nowMs += 600_000;
    expect(froms()).toEqual([]);
  });

  test("who was not read to the end may still block: the check says so", async () => {
    const fresh = new CoreWire(root, ["forge", "scribe"]);
    expect(checkView(fresh.agent("forge").core, { paths: ["a"] }).behind).toEqual([
      "forge",
      "scribe",
    ]);
    fresh.close();
  });
});
