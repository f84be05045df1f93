import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { IncidentView, SafeModeView } from "../../src/api/views.ts";
import { ESCALATION, ID, OWN_PLACE, PLACE, resolved, run, whoami } from "./fake-cli.ts";

const THREE = { whoami: whoami("forge", "scribe", "mason") };

function incident(fields: Partial<IncidentView> = {}): IncidentView {
  return {
    place: PLACE,
    event_id: ID,
    correlation_id: "thread-1",
    from: "scribe",
    severity: "high",
    subject: "main is broken",
    raised_at: "2026-11-21T11:58:00Z",
    addressees: [
      {
        handle: "forge",
        acked: false,
        acked_at: null,
        escalates_at: null,
        stage: "unread",
        escalated: false,
      },
      {
        handle: "mason",
        acked: true,
        acked_at: "2026-11-21T11:59:00Z",
        escalates_at: null,
        stage: null,
        escalated: false,
      },
    ],
    status: "open",
    ...fields,
  };
}

describe("incident", () => {
  it("raise: to all by their handles, with severity, and an ack is required", async () => {
    const { recording } = await run(["incident", "raise", "main is broken"], { views: THREE });
    expect(recording.drafts).toEqual([
      {
        to: ["scribe", "mason"],
        type: "incident",
        subject: "main is broken",
        body: { severity: "medium" },
        ackRequired: true,
      },
    ]);
  });

  it("raise says what high and critical lead to", async () => {
    const { stdout } = await run(["incident", "raise", "--help"]);
    expect(stdout).toContain("high and critical stop the wire");
  });

  it("raise: to some, with words", async () => {
    const flags = ["--severity", "critical", "--to", "mason", "--ref", "git:4f2a"];
    const { recording } = await run(["incident", "raise", "s", "text", ...flags], { views: THREE });
    expect(recording.drafts).toMatchObject([
      { to: ["mason"], body: { severity: "critical", text: "text" }, refs: ["git:4f2a"] },
    ]);
    const odd = await run(["incident", "raise", "s", "--severity", "awful"], { views: THREE });
    expect(odd).toMatchObject({ exitCode: 1, recording: { drafts: [] } });
  });

  it("ack and resolve name the incident, in its thread", async () => {
    const views = { ...THREE, resolve_id: resolved("incident") };
    const ack = await run(["incident", "ack", "4f2a91", "--reason", "on it"], { views });
    expect(ack.recording.drafts).toMatchObject([
      {
        type: "ack",
        to: ["scribe"],
        body: { about: PLACE, reason: "on it" },
        correlationId: "thread-1",
      },
    ]);
    const own = { ...THREE, resolve_id: resolved("incident", "forge", "mason") };
    const resolve = await run(["incident", "resolve", "4f2a91", "fixed"], { views: own });
    expect(resolve.recording.drafts).toEqual([
      {
        type: "incident",
        to: ["mason"],
        subject: "resolved: forge's incident: the plan",
        body: { resolves: OWN_PLACE, text: "fixed" },
        correlationId: "thread-1",
      },
    ]);
  });

  it("says of an ack or a resolution that repeats another that it changes nothing", async () => {
    const noteOf = async (what: "ack" | "resolve", incidents: IncidentView[]) => {
      const views = { ...THREE, resolve_id: resolved("incident"), incidents };
      return (await run(["incident", what, "4f2a91"], { views })).stdout;
    };
    const [own, ...others] = incident().addressees;
    if (own === undefined) throw new Error("no addressee");
    const acked = incident({ addressees: [{ ...own, acked: true }, ...others] });
    expect(await noteOf("ack", [acked])).toContain(
      "You had acked it before, so this changes nothing.",
    );
    expect(await noteOf("resolve", [incident({ status: "resolved" })])).toContain(
      "It was resolved before, so this changes nothing.",
    );
    for (const what of ["ack", "resolve"] as const) {
      expect(await noteOf(what, [incident()])).not.toContain("before");
    }
  });

  it("list shows those that are open, and with --all the rest", async () => {
    const incidents = [incident(), incident({ status: "resolved", subject: "old" })];
    const { stdout } = await run(["incident", "list"], { views: { incidents } });
    expect(stdout).toBe(
      "4f2a91c700  high  open  scribe  2 min ago  forge: not acked, mason: acked  main is broken\n",
    );
    const all = await run(["incident", "list", "--all", "--json"], { views: { incidents } });
    expect(JSON.parse(all.stdout)).toEqual(incidents);
  });

  it("list does not say of an incident that is here that it has not come here", async () => {
    const [own, ...others] = incident().addressees;
    if (own === undefined) throw new Error("no addressee");
    const addressees = [own, ...others].map((who) => ({
      ...who,
      acked: false,
      stage: "undelivered" as const,
    }));
    const views = { incidents: [incident({ addressees })] };
    const { stdout } = await run(["incident", "list"], { views });
    expect(stdout).toContain("forge: not acked, mason: not delivered yet");
  });

  it("list --follow shows an incident again when it changes, to its end", async () => {
    const rounds = [
      [incident({ event_id: "old", status: "resolved" as const }), incident()],
      [incident()],
      [incident({ status: "acked" })],
      [incident({ status: "resolved" })],
    ];
    let round = 0;
    const incidents = () => {
      const answer = rounds[round++];
      if (answer === undefined) throw new Error("the end of this scene");
      return answer;
    };
    const { stdout } = await run(["incident", "list", "--follow", "--json"], {
      views: { incidents },
    });
    const states = stdout
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as IncidentView).status);
    expect(states).toEqual(["open", "acked", "resolved"]);
  });

  it("notices lists what the daemon told, harmless on a terminal", async () => {
    const notice = {
      at: "2026-11-21T11:58:00Z",
      cause: "log_gap",
      peer: null,
      subject: "gap",
      detail: "\u001b]8;;x",
    };
    const { stdout } = await run(["incident", "notices"], { views: { notices: [notice] } });
    expect(stdout).toBe("2 min ago  log_gap  -  gap: \\x1b]8;;x\n");
  });
});

it("incident ack and resolve answer incidents alone: of a proposal, an ack is agreement", async () => {
  for (const args of [["ack"], ["resolve"]]) {
    const views = { ...THREE, resolve_id: resolved("proposal") };
    const { recording, stderr } = await run(["incident", ...args, "4f2a91"], { views });
    expect(recording.drafts).toEqual([]);
    expect(stderr).toContain("4f2a91 is no incident: it is scribe's proposal: the plan");
  }
});

describe("resume", () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "deaddrop-resume-"));
  });
  afterEach(() => rmSync(home, { recursive: true }));

  const mode: SafeModeView = {
    active: true,
    since: "2026-11-21T11:00:00Z",
    author: "forge",
    incident_id: ID,
    escalation_id: ESCALATION,
    of: "mason",
    place: OWN_PLACE,
    escalations: [["forge", 4, ESCALATION]],
  };
  const journal = () => join(home, "inter-agent-deaddrop/7c3a91e2b4d05f16/forge/operator.jsonl");
  const resume = (
    args: readonly string[],
    safe_mode: SafeModeView | null = mode,
    terminal: { tty?: boolean; stdin?: string } = {},
  ) =>
    run(["resume", ...args], {
      ...terminal,
      views: { ...THREE, safe_mode, resolve_id: resolved("incident", "forge", "mason") },
      env: { XDG_STATE_HOME: home, NO_COLOR: "1" },
    });

  it("ends safe mode for all, and is recorded before it is sent", async () => {
    const { recording, exitCode } = await resume(["--yes", "--reason", "by phone"]);
    expect(exitCode).toBe(0);
    expect(recording.drafts).toEqual([
      {
        to: ["scribe", "mason"],
        type: "incident",
        subject: "resumed: forge's incident: the plan",
        body: { resumes: [["forge", 4, ESCALATION]], reason: "by phone" },
        correlationId: "thread-1",
      },
    ]);
    expect(JSON.parse(readFileSync(journal(), "utf8"))).toMatchObject({
      action: "resume",
      target: ESCALATION,
      consent: "flags",
      reason: "by phone",
    });
    expect(statSync(journal()).mode & 0o777).toBe(0o600);
  });

  it("ends it for this agent alone when the incident is another's", async () => {
    const { recording } = await resume(["--yes", "--reason", "r"], { ...mode, author: "scribe" });
    expect(recording.drafts).toMatchObject([
      {
        subject: "resumed here: forge's incident: the plan",
        body: { resumes: mode.escalations, reason: "r" },
      },
    ]);
  });

  it("asks on a terminal, and takes the word typed", async () => {
    const terminal = { tty: true, stdin: "resume\nrest" };
    const { recording, stderr } = await resume(["--reason", "r"], mode, terminal);
    expect(stderr).toBe(
      [
        "mason did not ack incident 4f2a91c700 of forge.",
        "It is forge's incident: the plan",
        "Safe mode ends for all; this is signed and sent.",
        "Type resume to go on: ",
      ].join("\n"),
    );
    expect(recording.drafts).toHaveLength(1);
    expect(JSON.parse(readFileSync(journal(), "utf8"))).toMatchObject({
      consent: "typed",
      reason: "r",
    });
  });

  it.each(["yes\n", "", "resume here\n"])("takes %j for a no", async (stdin) => {
    const { recording, stderr, exitCode } = await resume(["--reason", "r"], mode, {
      tty: true,
      stdin,
    });
    expect({ exitCode, drafts: recording.drafts }).toEqual({ exitCode: 1, drafts: [] });
    expect(stderr).toContain("not confirmed; nothing was changed");
    expect(existsSync(journal())).toBe(false);
  });

  it.each([
    ["without a reason", ["--yes"], mode, "needs --reason"],
    ["without a terminal or --yes", ["--reason", "r"], mode, "the operator's to decide"],
    ["what is not on", ["--yes", "--reason", "r"], null, "no safe mode"],
    ["what ended", ["--yes", "--reason", "r"], { ...mode, active: false }, "no safe mode"],
  ])("refuses %s, and sends and records nothing", async (_what, args, safeMode, problem) => {
    const { exitCode, stderr, recording } = await resume(args, safeMode);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(problem);
    expect(recording.drafts).toEqual([]);
    expect(existsSync(journal())).toBe(false);
  });
});
