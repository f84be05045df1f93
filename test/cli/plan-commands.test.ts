import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { Readable } from "node:stream";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { pause } from "../support/processes/real-processes.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DeaddropError } from "../../src/api/errors.ts";
import type { Cli } from "../../src/cli/context.ts";
import { main } from "../../src/cli/main.ts";
import { openClient } from "../../src/client/open-client.ts";
import { run as runFake } from "./fake-cli.ts";

let folder = "";
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "deaddrop-plan-")));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const ADAPTER = fileURLToPath(new URL("../support/processes/plan-adapter.js", import.meta.url));
const EXEC = `${process.execPath} ${ADAPTER}`;
const TWO =
  "plan_id: p\nsteps:\n  - {id: a, description: do a, owner: self, files: [a.txt]} # first\n  - {id: b, description: do b, owner: self, deps: [a], files: [b.txt]}\n";

const { PATH } = process.env;

/** A command line in the folder, to its end, as a shell without a terminal runs it. */
async function deaddrop(...args: string[]) {
  const [out, err]: [string[], string[]] = [[], []];
  const cli: Cli = {
    env: { PATH, HOME: folder },
    cwd: folder,
    stdin: Readable.from([]),
    stdout: { write: (text: string) => out.push(text) },
    stderr: { write: (text: string) => err.push(text) },
    exitCode: 0,
    clock: { nowMs: () => Date.parse("2026-11-21T12:00:00Z"), sleep: (ms) => pause(ms) },
    openClient,
  };
  const exitCode = await main(args, cli);
  return { exitCode, stdout: out.join(""), stderr: err.join("") };
}
async function fine(...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await deaddrop(...args);
  expect([exitCode, stderr], args.join(" ")).toEqual([0, ""]);
  return stdout;
}
const read = (name: string) => readFileSync(join(folder, name), "utf8");
function write(name: string, text: string): string {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), text);
  return name;
}

describe("deaddrop plan", () => {
  it("init makes a plan in use, and status says what each phase lacks", async () => {
    const made = JSON.parse(
      await fine("plan", "init", "Let people upload a CSV", "--id", "csv", "--json"),
    ) as { file: string; intake: string };
    expect(made.file).toBe(join(folder, "agent/artifacts/plans/csv/plan.yaml"));
    expect(read("agent/artifacts/current_plan.yaml")).toContain('plan: "plans/csv/plan.yaml"');
    expect(await fine("plan", "validate")).toBe("valid: 1 step\n");
    const phases = async () => {
      const status = JSON.parse(await fine("plan", "status", "--json")) as {
        phases: { phase: string; missing: string[] }[];
      };
      return status.phases.map(({ phase, missing }) => [phase, ...missing]);
    };
    expect(await phases()).toEqual([
      ["intake", "intake.md"],
      ["plan"],
      ["execute", "step 1 is pending"],
      ["verify", "verify.json"],
      ["report", "report.md"],
    ]);
    writeFileSync(made.intake, "# Upload\n");
    await fine("plan", "run", "--local", "--exec", EXEC, "--yes");
    expect(await phases()).toEqual([["intake"], ["plan"], ["execute"], ["verify"], ["report"]]);
    const again = await deaddrop("plan", "init", "x", "--id", "csv");
    expect(again.stderr).toContain("is there already");
    expect((await deaddrop("plan", "init", "x", "--id", "../csv")).exitCode).toBe(1);
  });

  it("says what is wrong with which line, and exits 1", async () => {
    write("bad.yaml", "plan_id: p\nsteps:\n  - {id: a, description: x, owner: self, deps: [b]}\n");
    const { exitCode, stdout } = await deaddrop("plan", "validate", "bad.yaml");
    expect([exitCode, stdout]).toEqual([
      1,
      'bad.yaml:3:49: error: step "a" waits for "b", which is no step\nnot valid\n',
    ]);
    const graph = await deaddrop("plan", "graph", "bad.yaml");
    expect([graph.exitCode, graph.stderr]).toEqual([1, expect.stringContaining("bad.yaml:3:49")]);
    const none = await deaddrop("plan", "status");
    expect([none.exitCode, none.stderr]).toEqual([2, expect.stringContaining("no plan is in use")]);
    write("huge.yaml", "x".repeat(10_000_000));
    expect((await deaddrop("plan", "validate", "huge.yaml")).stderr).toContain("10000000 bytes");
  });

  it.each<readonly [string, string]>([
    ...["depends_on", "dependsOn", "depends-on", "needs", "dependencies", "requires", "dep"].map(
      (word) => [word, "deps"] as const,
    ),
    ["assignee", "owner"],
    ["ownr", "owner"],
    ["title", "description"],
    ["acceptance_criteria", "criteria"],
  ])("the field %s is an error that names %s, and nothing is begun", async (word, meant) => {
    const steps = TWO.replace("deps: [a]", "deps: [a], " + word + ": [a]");
    write("p.yaml", steps);
    const at = (steps.split("\n")[3] ?? "").indexOf(word + ":") + 1;
    const error = `p.yaml:4:${at}: error: "${word}" is not a field of a step; did you mean ${meant}?\n`;
    const { exitCode, stdout } = await deaddrop("plan", "validate", "p.yaml");
    expect([exitCode, stdout]).toEqual([1, `${error}not valid\n`]);
    const run = await deaddrop("plan", "run", "p.yaml", "--local", "--exec", EXEC, "--yes");
    expect([run.exitCode, run.stderr]).toEqual([1, expect.stringContaining(error)]);
    expect(existsSync(join(folder, "worked.log"))).toBe(false);
  });

  it("names unknown fields of a plan and of an incomplete step, in YAML and JSON, at their keys", async () => {
    write("p.yaml", "plan_id: p\nsteps:\n  - id: a\n    assignee:\n      bob\nbudget: 5\n");
    expect((await deaddrop("plan", "validate", "p.yaml")).stdout).toBe(
      [
        'p.yaml:6:1: error: "budget" is not a field of a plan; its fields are plan_id, task, coordinators, steps',
        'p.yaml:4:5: error: "assignee" is not a field of a step; did you mean owner?',
        "p.yaml:3:5: error: steps[0].description is missing",
        "not valid\n",
      ].join("\n"),
    );
    write(
      "p.json",
      '{"title": "x", "steps": [{"id": "a", "description": "a", "owner": "self",\n  "needs":\n [] }]}',
    );
    expect((await deaddrop("plan", "validate", "p.json")).stdout).toBe(
      [
        'p.json:1:2: error: "title" is not a field of a plan; did you mean task?',
        'p.json:2:3: error: "needs" is not a field of a step; did you mean deps?',
        "not valid\n",
      ].join("\n"),
    );
  });

  it("init writes a plan that names deps, as docs/plans.md does", async () => {
    await fine("plan", "init", "x", "--id", "p");
    expect(read("agent/artifacts/plans/p/plan.yaml")).toMatch(/^ +deps: /mu);
    const docs = readFileSync(new URL("../../docs/plans.md", import.meta.url), "utf8");
    const [, example = ""] = /```yaml\n([\s\S]*?)```/u.exec(docs) ?? [];
    expect(example).toMatch(/^ +deps: /mu);
    write("docs.yaml", example);
    expect(await fine("plan", "validate", "docs.yaml")).toBe("valid: 2 steps\n");
  });

  it("a request that is refused is not said to have started, and its step stays pending", async () => {
    const file = join(folder, write("p.yaml", TWO.replaceAll("owner: self", "owner: scribe")));
    const refusal = new DeaddropError("safe_mode", 'safe mode: "request" is not sent');
    const { exitCode, stdout, stderr } = await runFake(["plan", "run", file, "--yes"], {
      views: { requests: [] },
      send: () => Promise.reject(refusal),
    });
    expect([exitCode, stdout, stderr]).toEqual([
      4,
      "",
      'deaddrop: safe mode: "request" is not sent\n',
    ]);
    expect(await fine("plan", "next", "p.yaml")).toBe("a scribe: do a\n");
  });

  it("next, set and amend", async () => {
    write("p.yaml", TWO);
    expect(await fine("plan", "next", "p.yaml")).toBe("a self: do a\n");
    const early = await deaddrop("plan", "set", "b", "in_progress", "--plan", "p.yaml");
    expect(early.stderr).toContain('step "b" waits for "a" (pending); nothing was changed');
    expect(read("p.yaml")).toBe(TWO);
    await fine("plan", "set", "a", "complete", "--plan", "p.yaml");
    expect(await fine("plan", "next", "p.yaml")).toBe("b self: do b\n");
    expect(await fine("plan", "next", "p.yaml", "--owner", "bob")).toBe("no step is ready\n");
    await fine(
      "plan",
      "amend",
      "--plan",
      "p.yaml",
      "--id",
      "c",
      "--owner",
      "bob",
      "--description",
      "do c",
      "--dep",
      "b",
      "--file",
      "c/",
    );
    await fine(
      "plan",
      "amend",
      "--plan",
      "p.yaml",
      "--fix",
      "a",
      "--description",
      "it lacks a test",
    );
    expect(await fine("plan", "graph", "p.yaml", "--format", "text")).toBe(
      "[ ] a-fix-1 self: Correct what went wrong in step a: it lacks a test\n  [ ] a self: do a (after a-fix-1)\n    [ ] b self: do b (after a)\n      [ ] c bob: do c (after b)\n",
    );
    expect(read("p.yaml")).toContain("# first");
    const broken = await deaddrop(
      "plan",
      "amend",
      "--plan",
      "p.yaml",
      "--id",
      "d",
      "--owner",
      "x",
      "--description",
      "d",
      "--dep",
      "z",
    );
    expect(broken.stderr).toContain("the change would break the plan");
    expect(await fine("plan", "validate", "p.yaml")).toBe("valid: 4 steps\n");
  });

  it("run asks a person, and without a wire one agent does all steps", async () => {
    write("p.yaml", TWO);
    const unasked = await deaddrop("plan", "run", "p.yaml", "--local", "--exec", EXEC);
    expect([unasked.exitCode, unasked.stderr]).toEqual([
      1,
      expect.stringContaining("(self: do a)\n(self: do b)\n"),
    ]);
    expect(existsSync(join(folder, "worked.log"))).toBe(false);
    await fine("plan", "run", "p.yaml", "--local", "--exec", EXEC, "--yes");
    expect(read("worked.log")).toBe("p a 1\np b 1\n");
    // All is done: nothing is done again.
    await fine("plan", "run", "p.yaml", "--local", "--exec", EXEC, "--yes");
    expect(read("worked.log")).toBe("p a 1\np b 1\n");
    expect((await deaddrop("plan", "run", "p.yaml", "--local", "--yes")).stderr).toContain(
      "--local needs --exec",
    );
  });

  it("run gives a plan without a name one, and begins no step twice that was begun before it was killed", async () => {
    write("p.yaml", TWO.replace("plan_id: p\n", ""));
    write("behaviour.json", '{"a": "fail", "b": "success"}');
    const first = await deaddrop(
      "plan",
      "run",
      "p.yaml",
      "--local",
      "--exec",
      EXEC,
      "--yes",
      "--fixes",
      "0",
    );
    expect(first.exitCode).toBe(1);
    const id = /plan_id: (p-2026-11-21-[0-9a-f]{8})\n/u.exec(read("p.yaml"))?.[1] ?? "";
    expect(read("worked.log")).toBe(`${id} a 1\n`);
    await fine("plan", "set", "a", "pending", "--plan", "p.yaml");
    write(`agent/artifacts/plans/${id}/logs/a-2.begun`, "");
    const second = await deaddrop("plan", "run", "p.yaml", "--local", "--exec", EXEC, "--yes");
    expect(second.stdout).toContain(
      "step a is blocked: the run ended after it was begun and before its report",
    );
    expect(read("worked.log")).toBe(`${id} a 1\n`);
  });
});

describe("deaddrop report", () => {
  it("final says yes only to what a report shows", async () => {
    write("p.yaml", TWO);
    const checks = async () => {
      const { exitCode, stdout } = await deaddrop("report", "final", "p.yaml");
      return [exitCode, ...stdout.split("\n").filter((line) => /^- (?:yes|un|\*)/u.test(line))];
    };
    expect(await checks()).toEqual([
      1,
      "- **no**: All steps are complete",
      "- unknown: No report names a test",
      "- unknown: No report names a file",
    ]);
    for (const id of ["a", "b"]) {
      const args = ["report", "add", id, "--plan", "p.yaml", "--outcome", "success"];
      const test = id === "a" ? [] : ["--test", "npm test=passed"];
      await fine(...args, "--file", `${id}.txt=changed`, ...test);
      await fine("plan", "set", id, "complete", "--plan", "p.yaml");
    }
    expect(await checks()).toEqual([
      0,
      "- yes: All steps are complete",
      "- yes: All tests passed",
      "- yes: Reports name only planned files",
    ]);
    const { checks: found } = JSON.parse(
      (await deaddrop("report", "final", "p.yaml", "--json")).stdout,
    ) as { checks: unknown[] };
    expect(found).toHaveLength(3);
  });

  it("add: one for each attempt, with a warning for files that are not the step's", async () => {
    write("p.yaml", TWO);
    const args = ["report", "add", "a", "--plan", "p.yaml", "--details", "done"];
    expect((await deaddrop(...args, "--outcome", "failure")).stderr).toContain("error is missing");
    expect(
      await fine(
        ...args,
        "--outcome",
        "success",
        "--file",
        "x=1.txt=changed",
        "--test",
        "npm test=passed",
      ),
    ).toBe("warning: x=1.txt is not one of its files\nstep a, attempt 1: success\n");
    expect((await deaddrop(...args, "--outcome", "success")).stderr).toContain(
      "step a has a report on attempt 1 already",
    );
    expect((await deaddrop("report", "add", "z", "--plan", "p.yaml")).stderr).toContain(
      'there is no step "z"',
    );
    write(
      "r.json",
      '{"step_id": "b", "outcome": "success", "details": "", "timestamp": "2026-11-24T09:30:00Z"}',
    );
    expect(await fine("report", "validate", "r.json")).toBe("valid\n");
    expect((await deaddrop(...args, "--from", "r.json")).stderr).toContain(
      "the report is about step b",
    );
    await fine("report", "add", "b", "--plan", "p.yaml", "--from", "r.json");
    expect((await deaddrop("report", "validate", "p.yaml")).exitCode).toBe(1);
  });
});

describe("with git", () => {
  const git = (...args: string[]): string =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], {
      cwd: folder,
      encoding: "utf8",
      env: { PATH, HOME: folder },
    });
  const commit = (message: string) => {
    git("add", "--all");
    git("commit", "--quiet", "--allow-empty", "-m", message);
  };
  /** A step writes its file. */
  const WRITER = `${process.execPath} write.cjs`;

  beforeEach(() => {
    git("init", "--quiet", "--initial-branch=main");
    git("config", "user.name", "a");
    git("config", "user.email", "a@b");
    write(".gitignore", "agent/artifacts/\nignored.txt\n");
    write(
      "write.cjs",
      "let s = ''; process.stdin.on('data', (d) => (s += d)).on('end', () => { const { step } = JSON.parse(s); require('fs').writeFileSync(step.files[0], step.id + '\\n'); console.log(JSON.stringify({ outcome: 'success', details: '', artifacts: [{ file: step.files[0], status: 'created' }] })); });",
    );
    write("mine.txt", "mine\n");
    commit("before the plan");
    write("agent/artifacts/p/plan.yaml", TWO);
  });

  const PLAN = "agent/artifacts/p/plan.yaml";
  const runIt = () =>
    deaddrop("plan", "run", PLAN, "--local", "--exec", WRITER, "--yes", "--git-checkpoints");

  it("checkpoints commit each step's files alone, on a branch for the plan", async () => {
    expect((await runIt()).stderr).toContain("the branch is main");
    git("switch", "--quiet", "-c", "plan/p");
    write("mine.txt", "mine, changed\n");
    write("note.txt", "in no commit\n");
    expect([(await runIt()).exitCode, git("log", "--format=%s", "--name-only")]).toEqual([
      0,
      "step b: do b\n\nb.txt\nstep a: do a\n\na.txt\nbefore the plan\n\n.gitignore\nmine.txt\nwrite.cjs\n",
    ]);
    expect(read("mine.txt")).toBe("mine, changed\n");
    const final = await deaddrop(
      "report",
      "final",
      PLAN,
      "--check-diff",
      "main..HEAD",
      "--max-diff",
      "1",
      "--json",
    );
    const { checks } = JSON.parse(final.stdout) as {
      checks: { name: string; details: string[] }[];
    };
    expect(checks.at(-1)).toMatchObject({
      name: "diff_size",
      details: ["main..HEAD changes 2 lines; at most 1 are expected"],
    });
    expect(checks.at(-2)).toMatchObject({ name: "diff_files", ok: true });
    const wide = await deaddrop("report", "final", PLAN, "--check-diff", "--output=x", "--json");
    expect([wide.exitCode, existsSync(join(folder, "x"))]).toEqual([1, false]);
  });

  it("rollback returns to the commit before a step, and nothing is lost", async () => {
    git("switch", "--quiet", "-c", "plan/p");
    await runIt();
    const done = git("rev-parse", "HEAD");
    // What is in no commit stops it, or stays.
    write("b.txt", "b, changed by hand\n");
    const back = () => deaddrop("plan", "rollback", "b", "--plan", PLAN, "--json");
    expect((await back()).stderr).toContain("there are changes that are not committed: b.txt");
    git("add", "b.txt");
    expect((await back()).stderr).toContain("there are changes that are not committed: b.txt");
    git("reset", "--quiet", "--hard");
    write("note.txt", "in no commit\n");
    write("ignored.txt", "ignored\n");
    // Touched, with what it had: no change.
    for (const name of ["a.txt", "b.txt"]) utimesSync(join(folder, name), 1, 1);
    const ended = await back();
    expect(ended.stderr).toBe("");
    const { kept, steps } = JSON.parse(ended.stdout) as { kept: string; steps: string[] };
    expect([git("log", "--format=%s"), steps]).toEqual(["step a: do a\nbefore the plan\n", ["b"]]);
    expect([existsSync(join(folder, "b.txt")), read("a.txt")]).toEqual([false, "a\n"]);
    expect([read("note.txt"), read("ignored.txt"), read("mine.txt")]).toEqual([
      "in no commit\n",
      "ignored\n",
      "mine\n",
    ]);
    expect(git("rev-parse", kept)).toBe(done);
    expect(git("status", "--porcelain")).toBe("?? note.txt\n");
    // The step is done again, from there.
    expect((await runIt()).exitCode).toBe(0);
    expect(git("log", "--format=%s")).toBe("step b: do b\nstep a: do a\nbefore the plan\n");
  });

  it("rollback overwrites no file that is in no commit, ignored ones too", async () => {
    git("switch", "--quiet", "-c", "plan/p");
    await runIt();
    git("rm", "--quiet", "mine.txt");
    commit("by hand");
    write(".git/info/exclude", "mine.txt\n");
    write("mine.txt", "in no commit\n");
    const { stderr } = await deaddrop("plan", "rollback", "a", "--plan", PLAN);
    expect(stderr).toContain("files that are in no commit would be overwritten: mine.txt");
    expect(read("mine.txt")).toBe("in no commit\n");
    expect(git("log", "-1", "--format=%s")).toBe("by hand\n");
    expect((await deaddrop("plan", "rollback", "x", "--plan", PLAN)).stderr).toContain(
      'there is no step "x"',
    );
  });
});
