import { describe, expect, it } from "vitest";
import type { ClaimForecast, ClaimView } from "../../src/api/views.ts";
import { draftedBy, ID, PLACE, refusedBy, run, whoami, type Outside } from "./fake-cli.ts";

const OTHER = "7".repeat(64);

const claimed = (change: Partial<ClaimView> = {}): ClaimView => ({
  place: PLACE,
  event_id: ID,
  correlation_id: "thread-1",
  from: "scribe",
  to: ["forge", "mason"],
  paths: ["src/**"],
  mode: "exclusive",
  reason: null,
  status: "held",
  against: [],
  owners: [],
  since: "2026-11-21T11:00:00.000Z",
  until: "2026-11-21T13:00:00.000Z",
  ...change,
});

const there = (claims: readonly ClaimView[], forecast: Partial<ClaimForecast> = {}): Outside => ({
  views: {
    whoami: whoami("forge", "scribe", "mason"),
    claims: [...claims],
    claim_forecast: { against: [], owners: [], ...forecast },
  },
});

async function refused(args: readonly string[], outside: Outside): Promise<string> {
  const { exitCode, stderr } = await refusedBy(args, outside);
  expect(exitCode).toBe(1);
  return stderr;
}

describe("claim", () => {
  it("claims patterns for everybody, alone, for an hour", async () => {
    const draft = await draftedBy(["claim", "src/**", "docs/a.md"], there([]));
    expect(draft).toMatchObject({
      to: ["*"],
      type: "claim",
      subject: "claim: src/**, docs/a.md",
      body: { paths: ["src/**", "docs/a.md"], mode: "exclusive" },
    });
    expect(draft?.body).not.toHaveProperty("ttl_seconds");
  });

  it("takes how long, with whom and why", async () => {
    const args = ["claim", "src/**", "--shared", "--for", "2h", "--to", "mason", "--reason", "new"];
    expect(await draftedBy(args, there([]))).toMatchObject({
      to: ["mason"],
      body: { mode: "shared", ttl_seconds: 7_200, reason: "new" },
    });
  });

  it.each([
    [["/etc/**"], "is no pattern of paths below the project's folder"],
    [["../x"], "is no pattern of paths below the project's folder"],
    [[""], "is no pattern of paths below the project's folder"],
    [Array.from({ length: 33 }, (_, at) => `p${at}`), "at most 32 are allowed"],
    [["src/**", "--for", "25h"], "is no span of time up to a day"],
    [["src/**", "--for", "0h"], "is no span of time up to a day"],
    [["src/**", "--for", "soon"], "is no span of time"],
  ])("refuses %j", async (args, why) => {
    expect(await refused(["claim", ...args], there([]))).toContain(why);
  });

  it("is not sent into another's claim, unless somebody insists", async () => {
    const until = "2026-11-21T13:00:00.000Z";
    const against = [{ event_id: ID, from: "scribe", paths: ["src/**"], until }];
    const outside = there([], { against });
    const words = await refused(["claim", "src/api/*"], outside);
    expect(words).toContain('scribe claims "src/**" until 2026-11-21T13:00:00.000Z');
    expect(words).toContain("deaddrop send scribe");
    expect(await draftedBy(["claim", "src/api/*", "--anyway"], outside)).toBeDefined();
  });

  it("says who has to accept it", async () => {
    const outside = there([], { owners: [{ domain: "api", owner: "mason" }] });
    const { stdout } = await run(["claim", "src/**"], outside);
    expect(stdout).toContain("Where the paths have an owner it holds once mason has accepted it.");
  });
});

describe("release", () => {
  const ours = (change: Partial<ClaimView> = {}) => claimed({ from: "forge", ...change });

  it("ends the only claim, in all the logs that have a line of it", async () => {
    const pair = [ours({ to: ["scribe"] }), ours({ event_id: OTHER, to: ["mason"] })];
    const draft = await draftedBy(["release"], there([...pair, claimed()]));
    expect(draft).toMatchObject({
      to: ["scribe", "mason"],
      type: "release",
      correlationId: "thread-1",
      body: {},
    });
  });

  it("asks which one is meant, and takes a prefix of its id", async () => {
    const two = [ours(), ours({ event_id: OTHER, correlation_id: "thread-2" })];
    expect(await refused(["release"], there(two))).toContain("which claim?");
    expect(await draftedBy(["release", OTHER.slice(0, 6)], there(two))).toMatchObject({
      correlationId: "thread-2",
    });
  });

  it("refuses what is over, another's, or named by nobody", async () => {
    expect(await refused(["release"], there([ours({ status: "expired" })]))).toContain(
      "you claim nothing",
    );
    expect(await refused(["release", ID], there([claimed()]))).toContain("no claim of yours");
    expect(await refused(["release", "4f"], there([ours()]))).toContain("no claim of yours");
  });
});

describe("claims", () => {
  it("lists what is not over, with what each is worth", async () => {
    const all = [
      claimed({ reason: "new routes" }),
      claimed({ status: "contested", against: [{ event_id: OTHER, from: "mason" }] }),
      claimed({
        status: "waiting",
        owners: [
          { domain: "api", owner: "mason", says: "waiting" },
          { domain: "ui", owner: "forge", says: "granted" },
        ],
      }),
      claimed({ status: "released" }),
    ];
    const { stdout } = await run(["claims"], there(all));
    const lines = stdout.trimEnd().split("\n");
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatch(/ends .*src\/\*\*; new routes/u);
    expect(lines[1]).toContain("contested with mason 7777777777");
    expect(lines[2]).toContain("waits for mason (api)");
    expect(lines[2]).not.toContain("forge (ui)");
    const { stdout: more } = await run(["claims", "--all"], there(all));
    expect(more.trimEnd().split("\n")).toHaveLength(4);
  });
});
