import { appendFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { PRIMARY, script, ScriptedRound } from "../scripted-round.ts";

/** The findings of `validate`, a line each, behind its verdict. */
async function findings(round: ScriptedRound, ...flags: string[]): Promise<string[]> {
  const { stdout } = await round.validate(...flags);
  return stdout.trimEnd().split("\n").slice(1);
}

async function started(schema: 1 | 2): Promise<ScriptedRound> {
  const round = new ScriptedRound(schema);
  await round.init();
  return round;
}

describe("the folder", () => {
  test("that is no round, or a broken one, is named", async () => {
    const round = await started(1);
    round.write("protocol.json", "{");
    expect(await findings(round)).toEqual([
      expect.stringContaining("ERROR: protocol.json is no JSON"),
    ]);
    round.write("protocol.json", "[]");
    expect(await findings(round)).toEqual(["ERROR: protocol.json must hold a JSON object"]);
    rmSync(join(round.folder, "protocol.json"));
    expect((await round.validate()).code).toBe(2);
    rmSync(round.folder, { recursive: true });
    expect(await findings(round)).toEqual([expect.stringContaining("no such folder")]);
  });

  test("lacks documents, or has links for them", async () => {
    const round = await started(1);
    rmSync(join(round.folder, "proposal.md"));
    rmSync(join(round.folder, "review.md"));
    symlinkSync("proposal.md", join(round.folder, "review.md"));
    expect(await findings(round)).toEqual([
      "ERROR: proposal.md is missing",
      expect.stringContaining("ERROR: review.md cannot be read: "),
    ]);
  });

  test("may be named through a link", async () => {
    const round = await started(1);
    symlinkSync(round.folder, join(round.cwd, "link"));
    const said = await script(
      "append_event",
      round.cwd,
      ...["--folder", "link", "--participant", "ann", "--event", "proposal_submitted"],
      ...["--summary", "Here.", "--reply-to", "1"],
    );
    expect(said).toMatchObject({ code: 0, stderr: "" });
  });

  test("has files of its own besides: nobody minds", async () => {
    const round = await started(1);
    round.write("notes.txt", "mine");
    rmSync(join(round.folder, "README.md"));
    expect(await findings(round)).toEqual([]);
  });

  test("of schema 3 is told what it must be", async () => {
    const round = await started(2);
    round.change("protocol.json", (protocol) => (protocol["schemaVersion"] = 3));
    expect(await findings(round)).toEqual(["ERROR: protocol.json schemaVersion must be 2"]);
  });

  test("has participants as texts, and is judged by the schema that is asked for", async () => {
    const round = await started(1);
    round.change("protocol.json", (protocol) => (protocol["participants"] = ["ann", "bob"]));
    expect(await findings(round)).toEqual([]);
    const two = await started(2);
    expect(await findings(two, "--schema", "1")).toContain(
      "ERROR: protocol.json completionGates must be a list of texts, at least one",
    );
    round.change("protocol.json", (protocol) => (protocol["version"] = 1));
    expect(await findings(round)).toEqual(["ERROR: protocol.json must not have version"]);
  });
});

describe("protocol.json and the events", () => {
  test("differ: an error, and a warning where only the last event is missing", async () => {
    const round = await started(1);
    const before = round.read("protocol.json");
    await round.say("ann", "proposal_submitted");
    round.write("protocol.json", before);
    expect(await findings(round)).toEqual([
      "WARNING: protocol.json does not know event 2 yet: append, next and status complete it",
    ]);
    const next = await round.next("ann");
    expect(next.stderr).toBe("protocol.json did not know event 2 yet: it is completed now\n");
    expect(await findings(round)).toEqual([]);
    round.change("protocol.json", (protocol) => (protocol["waitingFor"] = ["eve"]));
    expect(await findings(round)).toEqual([
      'ERROR: protocol.json waitingFor is ["eve"]; the events say ["bob"]',
    ]);
  });

  test("an event of schema 1 may answer itself there: a warning", async () => {
    const line = { seq: 2, from: "bob", event: "blocked", at: "2026-11-21T12:00:00Z" };
    const own = `${JSON.stringify({ ...line, summary: "-", reply_to: 2 })}\n`;
    const one = await started(1);
    appendFileSync(join(one.folder, "events.jsonl"), own);
    expect(await findings(one)).toContain(
      "WARNING: events.jsonl line 2: reply_to 2 is its own seq",
    );
    const two = await started(2);
    appendFileSync(join(two.folder, "events.jsonl"), own);
    expect(await findings(two)).toContain(
      "ERROR: events.jsonl line 2: reply_to must be the seq of an earlier event, below 2",
    );
  });

  test("every line that is none is named, with what is wrong in it", async () => {
    const round = await started(1);
    const lines = ["{", "[]", '{"seq":"2"}', '{"seq":2,"from":"bob","event":"dance"}', "", "\t"];
    appendFileSync(join(round.folder, "events.jsonl"), lines.join("\n"));
    const found = (await findings(round)).join("\n");
    for (const text of [
      "line 2: no JSON object: a torn line.",
      "line 3: no JSON object",
      "line 4: seq must be a whole number from 1",
      "line 5: unknown event 'dance'",
      "line 5: at must be an instant",
      "line 5: summary must be a text",
    ]) {
      expect(found).toContain(text);
    }
  });
});

describe("documents", () => {
  test("a heading that would take forever is none", async () => {
    const round = await started(1);
    round.write("review.md", `## ${" - a".repeat(100_000)}\n${"- [x".repeat(100_000)}\n`);
    round.write("readiness.md", `${" ".repeat(200_000)}- [${"a".repeat(200_000)}\n`);
    expect(await findings(round)).toEqual([]);
  });

  test("what Python takes for the end of a line is one here, too", async () => {
    const round = await started(1);
    await round.propose();
    await round.review();
    await round.say("ann", "proposal_revised");
    await round.say("ann", "question_classified");
    for (const end of ["\u2028", "\u0085", "\u000c", "\u001d", "\r"]) {
      round.write("readiness.md", `# Readiness${end}- [unresolved] Hidden?\n`);
      const said = await round.append("ann", "decision_accepted", "--reply-to", "5");
      expect(said.stderr).toContain("unresolved readiness item: [unresolved] Hidden?");
    }
  });

  test("a review without its parts, and a mark that means nothing: warnings", async () => {
    const round = await started(1);
    await round.propose();
    round.write("review.md", "## now - bob - seq 3\n\n- Context: x\n\n**Concerns** y\n");
    await round.say("bob", "review_submitted");
    round.write("readiness.md", "- [resolve] x\n");
    expect(await findings(round)).toEqual([
      "WARNING: review.md: the review of seq 3 has no Position, no Required Changes, no Questions",
      "WARNING: readiness.md: [resolve] means nothing; use resolved, deferred_nonblocking, blocking, unresolved",
    ]);
    expect((await round.validate()).code).toBe(1);
  });

  test("decisions are numbered 1, 2, 3 and name a declared deliverable", async () => {
    const round = await started(2);
    const entry = (heading: string, to: string) =>
      `### ${heading}\n\n- Decision: x\n- Reflected in: ${to}\n`;
    round.write("decisions.md", entry("D1. a", PRIMARY) + entry("D3. b", "elsewhere.md"));
    expect(await findings(round)).toEqual([
      "ERROR: accepted decision D3 is number 2: they are numbered 1, 2, 3 …",
      `ERROR: accepted decision D3 Reflected in must name a declared deliverable: ${PRIMARY}`,
    ]);
  });

  test("a review of schema 2 says what it is about", async () => {
    const round = await started(2);
    await round.propose();
    round.write("review.md", "## now - bob - seq 4\n");
    const said = await round.append("bob", "review_submitted", "--reply-to", "3");
    for (const text of [
      "Reviewed primary deliverable:",
      PRIMARY,
      "Review Scope:",
      "completeness",
    ]) {
      expect(said.stderr).toContain(text);
    }
  });

  test("sections may be empty before the freeze, not after it", async () => {
    const round = new ScriptedRound(2);
    await round.toReadiness();
    round.write(PRIMARY, round.read(PRIMARY).replace("Draft", "Frozen"));
    const flags = ["--role", "primary", "--doc", PRIMARY, "--sha256", round.sha256(PRIMARY)];
    const reply = ["--reply-to", String(round.lastSeq)];
    const said = await round.append("ann", "deliverable_frozen", ...reply, ...flags);
    expect(said.stderr).toContain("the section ## Context is empty");
  });

  test("a freeze in the role of a supporting one does not count for the primary", async () => {
    const round = new ScriptedRound(2);
    await round.toReadiness();
    await round.freeze();
    round.write(PRIMARY, `${round.read(PRIMARY)}\nChanged.\n`);
    const flags = ["--role", "supporting", "--doc", PRIMARY, "--sha256", round.sha256(PRIMARY)];
    await round.say("bob", "deliverable_frozen", ...flags);
    expect((await findings(round)).join()).toContain("does not match current file");
  });
});

describe("a protocol.json that is not ours", () => {
  test("leads nowhere, and is refused at once where it is deep or long", async () => {
    const round = await started(2);
    const whole = round.read("protocol.json");
    const change = async (how: (deliverables: Record<string, unknown>) => void) => {
      round.write("protocol.json", whole);
      round.change("protocol.json", (protocol) =>
        how(protocol["deliverables"] as Record<string, unknown>),
      );
      return findings(round);
    };
    for (const dir of ["../..", "/etc", "a\0b", "", 7]) {
      expect(await change((deliverables) => (deliverables["dir"] = dir))).toContain(
        "ERROR: protocol.json deliverables.dir must be a relative path without ..",
      );
    }
    const many = Array.from({ length: 1_000 }, () => ({ type: "adr", file: "x.md" }));
    expect(await change((deliverables) => (deliverables["supporting"] = many))).toContain(
      "ERROR: protocol.json deliverables.supporting must have at most 256 entries",
    );
    const deep = `{"deep": ${"[".repeat(100_000)}${"]".repeat(100_000)},`;
    round.write("protocol.json", whole.replace("{", deep));
    expect(await findings(round)).toEqual(["ERROR: protocol.json is nested deeper than 64 levels"]);
    round.write("protocol.json", whole);
    const deepEvent = `{"seq":2,"event":${"[".repeat(100_000)}${"]".repeat(100_000)}}\n`;
    appendFileSync(join(round.folder, "events.jsonl"), deepEvent);
    expect((await findings(round)).join()).toContain("unknown event that is no text");
  });
});

describe("edits out of turn", () => {
  const WARNING = /WARNING: (\S+) was edited out of turn, after seq (\d+)/u;
  const edited = async (round: ScriptedRound) =>
    (await findings(round)).map((each) => WARNING.exec(each)?.slice(1).join(" ") ?? each);

  test("the proposal while it is reviewed; what others write then is theirs to write", async () => {
    const round = await started(1);
    round.write("proposal.md", "# Proposal\n\nMine.\n");
    await round.propose();
    round.write("readiness.md", `${round.read("readiness.md")}\n- [resolved] Asked.\n`);
    expect(await edited(round)).toEqual([]);
    round.write("proposal.md", "# Proposal\n\nAnother.\n");
    expect(await edited(round)).toEqual(["proposal.md 2"]);
    await round.review();
    expect(await edited(round)).toEqual(["proposal.md 2"]);
    round.write("proposal.md", "# Proposal\n\nRevised.\n");
    expect(await edited(round)).toEqual(["proposal.md 2"]);
  });

  test("anything when the round has ended", async () => {
    const round = await started(1);
    await round.say("bob", "blocked");
    round.write("decisions.md", "# Decisions\n\nLate.\n");
    expect(await edited(round)).toEqual(["decisions.md 2"]);
    expect((await round.validate()).code).toBe(1);
  });

  test("a damaged memory of them says nothing", async () => {
    const round = await started(1);
    const state = join(round.cwd, ".home/.local/state/inter-agent-deaddrop/collab");
    for (const name of readdirSync(state)) writeFileSync(join(state, name), "{");
    expect(await findings(round)).toEqual([]);
  });
});

describe("large rounds", () => {
  test("10,000 events, and a document of 50 MB", async () => {
    const round = await started(2);
    const seqs = Array.from({ length: 10_000 }, (_, at) => at + 2);
    const at = "2026-11-21T12:00:00Z";
    const lines = seqs.map((seq) =>
      JSON.stringify({
        ...{ seq, from: "bob", event: "deliverable_drafted", at, summary: "-" },
        ...{ doc: PRIMARY, reply_to: 1, role: "supporting" },
      }),
    );
    appendFileSync(join(round.folder, "events.jsonl"), `${lines.join("\n")}\n`);
    round.write("proposal.md", "All of it is text. ".repeat(2_600_000));
    expect(await findings(round)).toEqual([]);
    await round.say("ann", "deliverable_drafted", "--role", "primary", "--doc", PRIMARY);
    expect((await round.next("ann")).stdout).toContain("last event: seq 10002");
  });
});
