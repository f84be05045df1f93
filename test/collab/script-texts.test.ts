import { appendFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { newFolder, PRIMARY, script, ScriptedRound, type Said } from "./scripted-round.ts";

// Every text that other programs look for: which stream, which exit code. Spec 6.4.

const refused = (text: string) => ({
  code: 2,
  stdout: "",
  stderr: expect.stringMatching(
    new RegExp(`^error: .*${text.replaceAll(/[.*+?^${}()|[\]\\]/gu, "\\$&")}`, "u"),
  ) as string,
});

const found = (text: string, code = 2) => ({
  code,
  stdout: expect.stringContaining(text) as string,
  stderr: "",
});

describe.each([1, 2] as const)("schema %i", (schema) => {
  const rounds = () => new ScriptedRound(schema);

  test("a whole round is completed, and valid at every step", async () => {
    const round = rounds();
    const valid = async (): Promise<void> => {
      expect(await round.validate()).toEqual({
        code: 0,
        stdout: "ACP validation passed\n",
        stderr: "",
      });
    };
    await round.init();
    await valid();
    await round.propose();
    await valid();
    await round.review();
    await valid();
    await round.accept();
    await valid();
    await round.complete();
    await valid();
    expect(await round.next("ann")).toEqual(
      found("next action: stop; collaboration is complete", 0),
    );
  });

  test("a whole round of three: reviews and acceptances come in any order", async () => {
    const round = rounds();
    await round.init("--participant", "cid");
    await round.propose();
    for (const name of ["cid", "bob"]) {
      round.addReview(round.lastSeq + 1, name);
      await round.say(name, "review_submitted");
    }
    await round.say("ann", "proposal_revised");
    await round.say("ann", "question_classified");
    for (const name of ["cid", "ann", "bob"]) await round.say(name, "decision_accepted");
    await round.complete();
    expect(await round.validate()).toMatchObject({ code: 0, stdout: "ACP validation passed\n" });
    const { currentPhase, waitingFor } = JSON.parse(round.read("protocol.json")) as {
      currentPhase: string;
      waitingFor: string[];
    };
    expect([currentPhase, waitingFor]).toEqual(["completed", []]);
  });

  test("append: reply_to and the phase, in one line with all reasons", async () => {
    const round = rounds();
    await round.init();
    const both = await round.append("bob", "review_submitted");
    expect(both).toEqual(refused("reply_to is required after initialized"));
    expect(both).toEqual(refused("review_submitted is not allowed from phase drafting"));
    expect(both).toEqual(refused("; "));
    for (const self of ["2", "3"]) {
      const said = await round.append("ann", "blocked", "--reply-to", self);
      expect(said).toEqual(refused("reply_to"));
    }
  });

  test("append: what is missing, all at once", async () => {
    const said = await script("append_event", newFolder(), "--folder", "r");
    expect(said).toEqual(refused("--participant is missing; --event is missing; --summary is"));
  });

  test("append: open questions", async () => {
    const round = rounds();
    await round.init();
    await round.propose();
    await round.review();
    await round.say("ann", "proposal_revised");
    await round.say("ann", "question_classified");
    for (const item of [
      "[unresolved] Which?",
      "[blocking] No.",
      "[resolved] TBD",
      "[deferred_nonblocking] Later",
    ]) {
      round.write("readiness.md", `# Readiness\n- ${item}\n`);
      const reply = ["--reply-to", String(round.lastSeq)];
      expect(await round.append("bob", "decision_accepted", ...reply)).toEqual(
        refused("unresolved readiness"),
      );
    }
    round.write("readiness.md", "- [deferred_nonblocking] Later. reason: it can wait.\n");
    await round.say("bob", "decision_accepted");
  });

  test("append: completed", async () => {
    const round = rounds();
    await round.toReadiness();
    const complete = (doc: string): Promise<Said> =>
      round.append("ann", "completed", "--reply-to", String(round.lastSeq), "--doc", doc);
    expect(await complete("conclusion.md")).toEqual(refused("completed requires"));
    expect(await complete("conclusion.md")).toEqual(refused("conclusion.md"));
    expect(await complete("conclusion.md")).toEqual(refused("completion gates"));
    expect(await complete("decisions.md")).toEqual(
      refused("completed must reference conclusion.md"),
    );
    if (schema === 2) await round.freeze();
    round.check();
    await round.say("ann", "readiness_passed");
    for (const outcome of [
      "",
      "- [blocked] No.",
      "- [proceed] a\n- [defer] b",
      "- [proceed] TBD",
    ]) {
      const before = round.read("conclusion.md");
      round.conclude(outcome);
      expect(await complete("conclusion.md")).toEqual(refused("conclusion.md"));
      round.write("conclusion.md", before);
    }
  });

  test("validate: reply_to, headings, foreign files, gates, time", async () => {
    const round = rounds();
    await round.init();
    await round.propose();
    round.writeReview(9, "bob");
    expect(await round.validate()).toEqual(found("review.md heading seq 9"));
    round.write("review.md", "# Review\n");
    await round.review();
    round.writeReview(round.lastSeq, "ann");
    expect(await round.validate()).toEqual(
      found("participant 'ann' does not match event from 'bob'"),
    );
    round.writeReview(round.lastSeq, "bob");
    for (const file of ["state.log", "discussion.md", "opinions.md"]) {
      round.write(file, "");
      expect(await round.validate()).toEqual(found(`${file} is not part of the protocol`));
    }
  });

  test("validate: what the log says of itself", async () => {
    const round = rounds();
    await round.init();
    const late = {
      seq: 2,
      from: "bob",
      event: "blocked",
      at: "2020-01-01T00:00:00Z",
      summary: "-",
    };
    appendFileSync(`${round.folder}/events.jsonl`, `${JSON.stringify(late)}\n`);
    expect(await round.validate()).toEqual(found("reply_to"));
    expect(await round.validate()).toEqual(found("at must not be earlier than the previous event"));
  });

  test("validate: an obsolete file in a gate", async () => {
    const round = rounds();
    await round.init();
    round.change("protocol.json", (protocol) => {
      const text = "state.log is closed";
      protocol["completionGates"] = [schema === 1 ? text : { source: "objective", text }];
    });
    expect(await round.validate()).toEqual(
      found("completion gate must not reference obsolete file state.log"),
    );
  });

  test("validate: a completed round whose documents were changed", async () => {
    const round = rounds();
    await round.toReadiness();
    await round.complete();
    round.write("conclusion.md", "# Conclusion\n");
    expect(await round.validate()).toEqual(found("completed requires"));
    expect(await round.validate()).toEqual(found("conclusion.md"));
  });

  test("next: who is to do what", async () => {
    const round = rounds();
    await round.init();
    const first = { 1: "update proposal.md", 2: "draft the primary deliverable" }[schema];
    expect(await round.next("ann")).toEqual(found(`next action: ${first}`, 0));
    await round.propose();
    const waiting = await round.next("ann");
    expect(waiting).toEqual(found("wait for the listed reviewer", 0));
    const files = { 1: "proposal.md", 2: "proposal.md or deliverables" }[schema];
    expect(waiting).toEqual(found(`do not edit ${files}`, 0));
    for (const line of [
      "phase: reviewing",
      "proposal owner: ann",
      "waiting for: bob",
      "last event: ",
    ]) {
      expect(waiting).toEqual(found(line, 0));
    }
    expect(await round.next("eve")).toEqual(refused("'eve' is no participant"));
    round.change("protocol.json", (protocol) => (protocol["currentPhase"] = "dreaming"));
    expect(await round.next("ann")).toEqual({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("unknown phase") as string,
    });
  });
});

describe("schema 2 alone", () => {
  test("append: the primary deliverable comes first, named and with its role", async () => {
    const round = new ScriptedRound(2);
    await round.init();
    const reply = ["--reply-to", "1"];
    expect(await round.append("ann", "proposal_submitted", ...reply)).toEqual(
      refused("proposal_submitted requires prior primary deliverable_drafted"),
    );
    expect(await round.append("ann", "deliverable_drafted", ...reply)).toEqual(
      refused("deliverable events require role"),
    );
    const other = ["--role", "primary", "--doc", "deliverables/other.md"];
    expect(await round.append("ann", "deliverable_drafted", ...reply, ...other)).toEqual(
      refused("doc must reference the primary deliverable"),
    );
  });

  test("append: a freeze has the hash of what is frozen, and comes before readiness", async () => {
    const round = new ScriptedRound(2);
    await round.toReadiness();
    const reply = ["--reply-to", String(round.lastSeq)];
    const primary = ["--role", "primary", "--doc", PRIMARY];
    expect(await round.append("ann", "deliverable_frozen", ...reply, ...primary)).toEqual(
      refused("deliverable_frozen requires sha256"),
    );
    const wrong = ["--sha256", "0".repeat(64)];
    expect(await round.append("ann", "deliverable_frozen", ...reply, ...primary, ...wrong)).toEqual(
      refused("sha256 does not match"),
    );
    expect(await round.append("ann", "readiness_passed", ...reply)).toEqual(
      refused("readiness_passed requires primary deliverable_frozen"),
    );
  });

  test("init: a custom deliverable says its file and what it must answer", async () => {
    const round = new ScriptedRound(2);
    const said = await round.init("--primary-deliverable-type", "custom");
    expect(said).toEqual(refused("custom deliverables require --primary-deliverable-file"));
    expect(said).toEqual(
      refused("custom deliverables require at least one --primary-deliverable-check"),
    );
  });

  test("validate: what schema 2 needs", async () => {
    const one = new ScriptedRound(1);
    await one.init();
    for (const text of [
      "protocol.json protocol must be 'acp'",
      "protocol.json schemaVersion must be 2",
      "protocol.json deliverables.primary is required",
    ]) {
      expect(await one.validate("--schema", "2")).toEqual(found(text));
    }
    const two = new ScriptedRound(2);
    await two.init();
    two.write("decisions.md", "### First one\n\n- Decision: x\n");
    expect(await two.validate()).toEqual(found("accepted decision headings must use D<number>"));
    two.write("decisions.md", "### D1. First\n\n- Decision: x\n");
    expect(await two.validate()).toEqual(found("accepted decision D1 requires Reflected in"));
  });

  test("validate: a frozen file that changes", async () => {
    const round = new ScriptedRound(2);
    await round.toReadiness();
    await round.freeze();
    round.write(PRIMARY, `${round.read(PRIMARY)}\nOne more word.\n`);
    expect(await round.validate()).toEqual(
      found("deliverable_frozen sha256 does not match current file"),
    );
  });
});

describe("wait", () => {
  test("says in its help how long it waits", async () => {
    const { code, stdout } = await script("wait_turn", newFolder(), "--help");
    expect(code).toBe(0);
    const words = stdout.replaceAll(/\s+/gu, " ");
    expect(words).toContain("defaults to 1800 seconds");
    expect(words).toContain("0 for no timeout");
  });

  test("its time is over", async () => {
    const round = new ScriptedRound(1);
    await round.init();
    const at = ["--folder", "round", "--participant", "bob"];
    expect(await script("wait_turn", round.cwd, ...at, "--timeout", "1")).toEqual({
      code: 1,
      stdout: "waiting: waiting for ann after seq 1\n",
      stderr: "timeout: waiting for ann after seq 1\n",
    });
  });

  test("it is the turn, or the round has ended", async () => {
    const round = new ScriptedRound(1);
    await round.init();
    const turn = (name: string) =>
      script("wait_turn", round.cwd, "--folder", "round", "--participant", name);
    const first = await turn("ann");
    expect(first.stdout).toMatch(/^ready: ann is listed in waitingFor\n/u);
    expect(first.stdout).toContain("next action: update proposal.md");
    await round.say("bob", "blocked");
    expect((await turn("bob")).stdout).toMatch(/^ready: phase is blocked\n/u);
    expect(await turn("eve")).toEqual(refused("'eve' is no participant"));
    expect(
      await script("wait_turn", round.cwd, "--folder", "none", "--participant", "ann"),
    ).toEqual(refused("no such folder"));
  });
});
