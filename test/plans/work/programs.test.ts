import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { splitWords, doCommands } from "../../../src/plans/work/step-commands.ts";
import { runProgram, type ProgramRun } from "../../../src/daemon/run-program.ts";
import { workStep } from "../../../src/plans/work/work-step.ts";
import { until } from "../../support/processes/real-processes.ts";

let folder = "";
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "deaddrop-work-")));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const NODE = process.execPath;
const signal = new AbortController().signal;
const place = () => ({
  cwd: folder,
  env: { PATH: process.env["PATH"] },
  timeoutMs: 600_000,
  signal,
});
const program = (code: string, more: Partial<ProgramRun> = {}): ProgramRun => ({
  ...place(),
  command: [NODE, "-e", code],
  input: "",
  ...more,
});

describe("a command line", () => {
  it.each<[string, string[]]>([
    ["npm test", ["npm", "test"]],
    ["  a\t b ", ["a", "b"]],
    [`a "b c" 'd "e' f\\ g`, ["a", "b c", 'd "e', "f g"]],
    ["a '' b", ["a", "", "b"]],
    [`x"y z"w`, ["xy zw"]],
    [
      "echo $HOME `id` $(id) *.ts ; rm -rf / && x | y > z",
      [
        "echo",
        "$HOME",
        "`id`",
        "$(id)",
        "*.ts",
        ";",
        "rm",
        "-rf",
        "/",
        "&&",
        "x",
        "|",
        "y",
        ">",
        "z",
      ],
    ],
  ])("%s", (line, words) => {
    expect(splitWords(line)).toEqual({ ok: true, words });
  });

  it.each(["", "   ", "''", 'a "b', "a\0b", "x".repeat(9_000)])("%j is none", (line) => {
    expect(splitWords(line).ok).toBe(false);
  });
});

describe("a program", () => {
  it("has its input, and what it says is kept", async () => {
    const code = "process.stdin.pipe(process.stdout); console.error('e'); process.exitCode = 3";
    expect(await runProgram(program(code, { input: "words" }))).toEqual({
      ...{ how: "failed", detail: "exit code 3", signal: null, stdout: "words", stderr: "e\n" },
    });
  });

  it("that cannot be started says so", async () => {
    const end = await runProgram(program("", { command: ["/no/such/program"] }));
    expect(end).toMatchObject({ how: "not started" });
  });

  it("that hangs is ended with all that it has started", async () => {
    const started = join(folder, "started");
    const code = `require("child_process").spawn(process.execPath, ["-e", "require('fs').writeFileSync(${JSON.stringify(JSON.stringify(started)).slice(1, -1)}, String(process.pid)); setInterval(() => {}, 1000)"]); process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)`;
    const stopping = new AbortController();
    const running = runProgram(program(code, { signal: stopping.signal }));
    const pid = await until(
      "the child of the program runs",
      () => existsSync(started) && Number(readFileSync(started, "utf8")),
    );
    stopping.abort();
    expect(await running).toMatchObject({ how: "stopped", detail: "ended by SIGKILL" });
    await until("its child has ended", () => !isAlive(pid));
  });

  it("has a time", async () => {
    const end = await runProgram(program("setInterval(() => {}, 1000)", { timeoutMs: 100 }));
    expect(end).toMatchObject({ how: "timed out", detail: "ended by SIGTERM" });
  });

  it("prints as much as it likes: the end of it is kept", async () => {
    const end = await runProgram(
      program("process.stdout.write('x'.repeat(3_000_000) + '\\n{\"a\": 1}\\n')"),
    );
    expect(end.stdout.length).toBe(512 * 1_024);
    expect(end.stdout.endsWith('\n{"a": 1}\n')).toBe(true);
  });
});

function isAlive(pid: number): boolean {
  try {
    // What has ended and nobody has collected yet is a zombie.
    return !/^State:\s+Z/mu.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

describe("the commands of a step", () => {
  const touch = (name: string) => `Run: ${NODE} -e "require('fs').writeFileSync('${name}', '')"`;

  it("are data unless they are allowed", async () => {
    const commands = [touch("never"), "Read: /etc/passwd", "look at it"];
    const done = await doCommands(commands, false, place());
    expect(done).toEqual({ artifacts: [], failed: [], notRun: commands.slice(0, 2) });
    expect(existsSync(join(folder, "never"))).toBe(false);
  });

  it("see no shell when they are", async () => {
    const line = `${NODE} -e "require('fs').writeFileSync('args', JSON.stringify(process.argv.slice(1)))" $HOME $(touch pwned) ; touch pwned && echo * > pwned`;
    const { artifacts, failed } = await doCommands([`Run: ${line}`], true, place());
    expect([artifacts, failed]).toEqual([[{ test: line, result: "passed" }], []]);
    expect(JSON.parse(readFileSync(join(folder, "args"), "utf8"))).toEqual([
      ...["$HOME", "$(touch", "pwned)", ";", "touch", "pwned", "&&", "echo", "*", ">", "pwned"],
    ]);
    expect(existsSync(join(folder, "pwned"))).toBe(false);
  });

  it("that fail are named", async () => {
    const done = await doCommands([`Run: ${NODE} -e "process.exit(2)"`, "Run: 'x"], true, place());
    expect(done.failed).toHaveLength(2);
    expect(done.failed[0]).toMatch(/: exit code 2$/u);
  });

  it("read files of the working folder alone", async () => {
    mkdirSync(join(folder, "docs"));
    writeFileSync(join(folder, "docs", "a.md"), "words");
    symlinkSync("/etc/passwd", join(folder, "docs", "link"));
    const paths = ["docs/a.md", "../nothing here", "/etc/passwd", "docs/link", "docs", "none"];
    const { artifacts } = await doCommands(
      paths.map((path) => `Read: ${path}`),
      true,
      place(),
    );
    expect(artifacts.map(({ log }) => log)).toEqual([
      "docs/a.md:\nwords",
      "../nothing here: not read: missing",
      "/etc/passwd: not read, it is not in the working folder",
      "docs/link: not read, it is not in the working folder",
      "docs: not read: not_a_file",
      "none: not read: missing",
    ]);
  });
});

describe("work at a step", () => {
  const request = {
    ...{ request_id: "0".repeat(16), plan_id: "p", plan_hash: "", attempt: 1, skill: "execute" },
    step: {
      id: "a",
      description: "d",
      owner: "bob",
      deps: [],
      criteria: [],
      commands: [] as string[],
      files: [],
    },
  };
  const worked = async (
    code: string,
    more: { commands?: string[]; allowCommands?: boolean } = {},
  ) => {
    const { commands = [], allowCommands = false } = more;
    const adapter = { ...place(), command: [NODE, "-e", code], allowCommands };
    const asked = { ...request, step: { ...request.step, commands } };
    return (await workStep(asked, adapter, signal, () => 0)).report;
  };
  const success = 'console.log(JSON.stringify({ outcome: "success", details: "done" }))';

  it("is what the adapter reports", async () => {
    expect(await worked(success)).toEqual({
      ...{
        step_id: "a",
        outcome: "success",
        details: "done",
        timestamp: "1970-01-01T00:00:00.000Z",
      },
    });
  });

  it("shows the adapter the step, and whose words it has", async () => {
    const code = `let s = ""; process.stdin.on("data", (d) => s += d).on("end", () => { const { about, step, plan_id } = JSON.parse(s); console.log(JSON.stringify({ outcome: "success", details: [plan_id, step.id, process.env.DEADDROP_STEP_ID, about.includes("allow nothing")].join() })) })`;
    expect(await worked(code)).toMatchObject({ details: "p,a,a,true" });
  });

  it.each([
    ["no report", "console.log('hello')", "the adapter printed no report (exit code 0)"],
    ["an invalid one", "console.log('{}')", "outcome is missing (exit code 0)"],
    [
      "a success, and another exit code",
      `${success}; process.exitCode = 4`,
      "it reports success, and the adapter ended with exit code 4",
    ],
    [
      "another step's report",
      `console.log(JSON.stringify({ step_id: "b", outcome: "success" }))`,
      "the adapter reported about step b",
    ],
    [
      "nothing but a crash",
      "throw new Error('broken')",
      "the adapter printed no report (exit code 1)",
    ],
  ])("%s is a failure", async (_what, code, error) => {
    expect(await worked(code)).toMatchObject({ outcome: "failure", error });
  });

  it("fails when a command of it fails, and says what was not run", async () => {
    const commands = [`Run: ${NODE} -e "process.exit(1)"`];
    expect(await worked(success, { commands })).toMatchObject({
      outcome: "success",
      details: `done\nnot run, since nobody allowed it: ${commands[0]}`,
    });
    const failed = await worked(success, { commands, allowCommands: true });
    expect(failed).toMatchObject({ outcome: "failure", artifacts: [{ result: "exit code 1" }] });
    expect(failed.error).toMatch(/^commands of the step failed: /u);
  });
});
