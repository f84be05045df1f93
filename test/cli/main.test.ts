import { describe, expect, it } from "vitest";
import { Tiktoken } from "js-tiktoken/lite";
import o200k from "js-tiktoken/ranks/o200k_base";
import { COMMANDS, COMMAND_GROUPS } from "../../src/cli/command-table.ts";
import { DeaddropError } from "../../src/api/errors.ts";
import { StorageError } from "../../src/storage/disk/disk.ts";
import { run, whoami } from "./fake-cli.ts";

describe("the command line", () => {
  it("suggests on an unknown command and on an unknown flag", async () => {
    const command = await run(["inbx"]);
    expect(command).toMatchObject({ exitCode: 1, stdout: "" });
    expect(command.stderr).toBe(
      'deaddrop: no command "inbx"\n  did you mean:\n    deaddrop inbox\n',
    );
    const flag = await run(["inbox", "--unred"]);
    expect(flag.exitCode).toBe(1);
    expect(flag.stderr).toContain("unknown option '--unred'");
    expect(flag.stderr).toContain("--unread");
    expect(flag.stderr).toContain("`deaddrop inbox --help`");
  });

  it("does not suggest what nobody meant", async () => {
    expect((await run(["xyzzyplugh"])).stderr).toContain("`deaddrop help` lists all of them");
  });

  it("takes the global flags before and behind the command, and behind a subcommand", async () => {
    for (const args of [
      ["--as", "scribe", "--json", "whoami"],
      ["whoami", "--json", "--as=scribe"],
      ["--json", "whoami", "--as", "scribe"],
    ]) {
      const answered = await run(args);
      expect(answered.stderr).toBe("");
      expect(JSON.parse(answered.stdout)).toEqual(whoami("forge", "scribe"));
    }
    const nested = await run(["status", "set", "--state", "busy", "--json"]);
    expect(nested.stdout).toBe('{"ok":true}\n');
  });

  it("refuses an option that takes one value and is given two, before, behind and within", async () => {
    for (const args of [
      ["init", "--me", "alice", "--me", "bob", "--peer", "carol"],
      ["--as", "alice", "whoami", "--as=bob"],
      ["incident", "--as", "alice", "list", "--as", "bob"],
      ["inbox", "--from", "alice", "--from", "bob"],
      ["incident", "raise", "subject", "--severity", "alice", "--severity", "bob"].map((word) =>
        word === "alice" ? "low" : word === "bob" ? "high" : word,
      ),
    ]) {
      const { stdout, stderr, exitCode, recording } = await run(args);
      expect([exitCode, stdout, recording.drafts]).toEqual([1, "", []]);
      expect(stderr).toMatch(
        /^deaddrop: --\w+ takes one value, and is given twice: "(alice|low)" and "(bob|high)"\n/,
      );
      expect(stderr).toMatch(/`deaddrop \w+( \w+)? --help` for what it takes/);
    }
    const repeatable = await run([
      "send",
      "s",
      "--to",
      "scribe",
      "--to",
      "scribe",
      "--json",
      "--json",
    ]);
    expect(repeatable).toMatchObject({ exitCode: 0, stderr: "" });
  });

  it("closes the agent, also when something fails", async () => {
    const views = {
      whoami: () => {
        throw new Error("boom");
      },
    };
    expect((await run(["whoami"])).recording.closed).toBe(1);
    expect((await run(["whoami"], { views })).recording.closed).toBe(1);
  });

  it("prints help with an example for every command of ours", async () => {
    for (const name of OURS) {
      const { stdout, exitCode } = await run([name, "--help"]);
      expect(exitCode, name).toBe(0);
      expect(stdout, name).toMatch(/Usage: [^]*Examples?:\n {2}\$ /);
      expect(stdout, name).toContain("--json");
      expect(await run(["help", name]), name).toMatchObject({ stdout });
    }
  });

  it("explains a command within a command, and names its help when it was used wrongly", async () => {
    const { stdout } = await run(["trust", "pin", "--help"]);
    expect(await run(["help", "trust", "pin"])).toMatchObject({ stdout, exitCode: 0 });
    expect((await run(["help", "help"])).stdout).toBe((await run(["help"])).stdout);
    const wrong = await run(["help", "incident", "rais"]);
    expect(wrong).toMatchObject({ exitCode: 1, stdout: "" });
    expect(wrong.stderr).toContain("did you mean:\n    deaddrop incident raise --help\n");
    const { stderr } = await run(["incident", "raise", "--severity", "hi", "s", "b"]);
    expect(stderr).toContain("run `deaddrop incident raise --help`");
  });

  it("folds help where the terminal ends, and nowhere else", async () => {
    for (const name of ["accept", "ack", "as", "backup", "inbox", "trust"]) {
      const { stdout } = await run([name, "--help"]);
      const paragraph = stdout.split("\n\n")[1]?.split("\n") ?? [];
      for (const line of paragraph.slice(0, -1)) expect(line.length, name).toBeGreaterThan(55);
    }
  });

  it("lists every command in the overview and in the completion scripts", async () => {
    const { stdout } = await run(["help"]);
    const listed = COMMAND_GROUPS.flatMap(({ entries }) => entries);
    for (const { name, summary } of listed)
      expect(stdout).toMatch(`  ${name.padEnd(12)}${summary}\n`);
    expect(listed.length).toBeLessThanOrEqual(45);
    expect(new Tiktoken(o200k).encode(stdout).length).toBeLessThanOrEqual(700);
    for (const shell of ["bash", "zsh", "fish"]) {
      const script = (await run(["completion", shell])).stdout;
      for (const name of [...COMMANDS.keys(), "msg", "lock"]) expect(script).toContain(name);
    }
  });

  it("is status when it is given no command", async () => {
    expect((await run([])).recording.asked).toEqual([{ name: "status", args: undefined }]);
  });
});

describe("errors", () => {
  const failing = (error: unknown) =>
    run(["whoami"], {
      views: {
        whoami: () => {
          throw error;
        },
      },
    });

  it("say what was wrong and what to do, with a peer's words made harmless", async () => {
    const error = new DeaddropError("safe_mode", "safe mode: \u001b[2J\u202e", { hint: "ask" });
    const { stderr, exitCode, stdout } = await failing(error);
    expect(stderr).toBe("deaddrop: safe mode: \\x1b[2J\\u202e\n  ask\n");
    expect({ exitCode, stdout }).toEqual({ exitCode: 4, stdout: "" });
  });

  it.each([
    ["usage", 1],
    ["unknown_recipient", 1],
    ["config", 2],
    ["timeout", 3],
    ["safe_mode", 4],
    ["already_running", 5],
    ["storage", 6],
    ["internal", 70],
  ] as const)("%s exits %i", async (code, exitCode) => {
    expect((await failing(new DeaddropError(code, "x"))).exitCode).toBe(exitCode);
  });

  it("of a disk exit 6 with their hint", async () => {
    const error = new StorageError("disk_full", "/w/a.jsonl", "no space left", {
      hint: "make room",
    });
    expect(await failing(error)).toMatchObject({
      exitCode: 6,
      stderr: "deaddrop: /w/a.jsonl: no space left\n  make room\n",
    });
  });

  it("of what a person has to fix are configuration, as the daemon says", async () => {
    const error = new StorageError("missing", "/c/eve.key", 'there is no key for "eve"', {
      hint: "make one",
    });
    expect(await failing(error)).toMatchObject({ exitCode: 2 });
  });

  it("of ours say so, with the trace", async () => {
    const { stderr, exitCode } = await failing(new TypeError("x is not y"));
    expect(exitCode).toBe(70);
    expect(stderr).toMatch(
      /^deaddrop: this is a bug in deaddrop\n {2}TypeError: x is not y\n {2} +at /,
    );
  });

  it("are JSON on standard error with --json", async () => {
    const { stderr, exitCode } = await run(["send", "--to", "scrbe", "hi", "x", "--json"]);
    expect(exitCode).toBe(1);
    expect(JSON.parse(stderr)).toEqual({
      error: {
        code: "unknown_recipient",
        message: '"scrbe" is not on this wire',
        hint: "did you mean scribe?\n  deaddrop send --to scribe hi x --json",
      },
    });
  });
});

const OURS = [
  ...["send", "withdraw", "reply", "ack", "ship", "propose", "counter", "correct", "inbox"],
  ...["pending", "sent", "thread", "search", "decisions", "proposals", "status", "whoami", "peers"],
  ...["incident", "daemon", "completion"],
];
