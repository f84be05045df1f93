import { cpSync, renameSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import { ScriptedRound } from "../../collab/scripted-round.ts";
import { hook } from "../../support/processes/hook-processes.ts";
import { makeWire, removeWires, type Daemon } from "../../support/processes/live-wire.ts";
import {
  BIN,
  killChildren,
  start,
  until,
  type Started,
} from "../../support/processes/real-processes.ts";

afterEach(removeWires);
afterEach(killChildren);

/** `deaddrop collab wait` as a process that waits already. */
async function waiting(round: ScriptedRound, participant: string): Promise<Started> {
  const at = ["collab", "wait", "--folder", round.folder, "--participant", participant];
  const env = { ...process.env, HOME: round.cwd };
  const started = start(process.execPath, [BIN, ...at], { env });
  await until("it waits", () => started.stdout().startsWith("waiting: "));
  return started;
}

test("three that wait at once are all told by the event that gives them their turn", async () => {
  const round = new ScriptedRound(1);
  await round.init("--participant", "cid", "--participant", "dan");
  const all = await Promise.all(["bob", "cid", "dan"].map((name) => waiting(round, name)));
  await round.say("ann", "proposal_submitted");
  const ends = await Promise.all(all.map(({ ended }) => ended));
  for (const [at, { code, stdout, stderr }] of ends.entries()) {
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain(`ready: ${["bob", "cid", "dan"][at]} is listed in waitingFor\n`);
    expect(stdout).toContain("next action: write your review in review.md");
  }
});

test("a folder that is replaced is waited for", async () => {
  const round = new ScriptedRound(1);
  await round.init();
  const bob = await waiting(round, "bob");
  cpSync(round.folder, `${round.folder}.copy`, { recursive: true });
  renameSync(round.folder, `${round.folder}.old`);
  renameSync(`${round.folder}.copy`, round.folder);
  await round.say("ann", "proposal_submitted");
  expect(await bob.ended).toMatchObject({ code: 0 });
});

test("a daemon tells its agent once that its turn has come, also over a restart", async () => {
  const wire = makeWire({ cadenceSeconds: 1, deadlineSeconds: 3_600 });
  const round = new ScriptedRound(1);
  await round.init();
  const watch = ["collab", "watch", "--folder", round.folder, "--participant", "bob"];
  const turns = (daemon: Daemon) =>
    daemon.log().filter(({ msg }) => msg === "it is our turn in a collaboration round");
  const rounds = async () => (await wire.json<{ rounds: unknown }>("forge", "status")).rounds;
  const before = await wire.daemon("forge");
  expect(await wire.json("forge", ...watch)).toMatchObject({ watched: true, daemon: true });
  const row = { folder: round.folder, participant: "bob" };
  expect(await rounds()).toMatchObject([{ ...row, phase: "drafting", is_turn: false }]);
  expect(await hook(wire, { moment: "start" })).toBeUndefined();
  await round.say("ann", "proposal_submitted");
  await until("the turn is told", () => turns(before).length > 0);
  expect(await rounds()).toMatchObject([{ ...row, phase: "reviewing", is_turn: true }]);
  const told = await hook(wire, { moment: "call" });
  expect(told).toContain("It is your turn in a collaboration round.");
  expect(told).toContain(`deaddrop collab next --folder ${round.folder} --participant bob`);
  expect(await hook(wire, { moment: "call" })).toBeUndefined();
  expect(turns(before)).toHaveLength(1);
  await before.stop();

  const after = await wire.daemon("forge");
  expect(await rounds()).toMatchObject([{ ...row, is_turn: true }]);
  expect(turns(after)).toEqual([]);
  expect(await hook(wire, { moment: "start", session: "s-2" })).toBeUndefined();
  // The next turn is another one.
  await round.review();
  await round.say("ann", "proposal_revised");
  await round.say("ann", "question_classified");
  await until("the next turn is told", () => turns(after).length > 0);
  expect(await wire.json("forge", ...watch, "--end")).toMatchObject({ changed: true });
  expect(await rounds()).toEqual([]);
  await round.say("ann", "decision_accepted");
  await round.say("bob", "blocked");
  expect(turns(after)).toHaveLength(1);
});

test("a completed round is published: a proposal with the hash of its conclusion", async () => {
  const wire = makeWire({ cadenceSeconds: 1, deadlineSeconds: 3_600 });
  const round = new ScriptedRound(1);
  await round.toReadiness();
  const publish = ["collab", "publish", "--folder", round.folder, "--required", "scribe"];
  const early = await wire.run("forge", ...publish);
  expect(early).toMatchObject({ code: 2, stdout: "" });
  expect(early.stderr).toContain("only a completed round is published");
  await round.complete();
  // A character of two halves where the subject is cut.
  const objective = `${"x".repeat(187)}😀 and more`;
  const protocol = round.read("protocol.json");
  round.write("protocol.json", protocol.replace("Choose a cache.", objective));
  await wire.json("forge", ...publish);
  const [proposal] = wire.lines("forge_to_scribe.jsonl").filter(({ type }) => type === "proposal");
  expect(proposal?.["subject"]).toBe(`conclusion: ${"x".repeat(187)}`);
  expect(proposal?.["body"]).toMatchObject({
    ...{ decision: `proceed: ${objective}`, required: ["scribe"], round: "round" },
    ...{ sha256: round.sha256("conclusion.md"), "conclusion.md": round.read("conclusion.md") },
  });
});
