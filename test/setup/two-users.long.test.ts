import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BIN } from "../support/processes/real-processes.ts";

const GROUP = 61_000;
const ANNA = 61_001;
const BELA = 61_002;

function as(uid: number, args: readonly string[], root = "/nowhere") {
  const home = join(root, String(uid));
  const env = { PATH: process.env["PATH"], HOME: home };
  return spawnSync(process.execPath, args, { uid, gid: GROUP, env, encoding: "utf8", cwd: "/" });
}

/** Only root can become two users, and both have to reach the program. */
const UNABLE = whyNot();

function whyNot(): string | undefined {
  if (process.getuid?.() !== 0) return "needs root, to become two users";
  const { status, stderr, error } = as(ANNA, [BIN, "--version"]);
  if (status === 0) return undefined;
  return `user ${ANNA} cannot run ${BIN}: ${error?.message ?? /Error: .*/.exec(stderr)?.[0] ?? stderr}`;
}

let root: string;
let wire: string;
beforeEach(({ skip }) => {
  skip(UNABLE !== undefined, UNABLE);
  root = mkdtempSync(join(tmpdir(), "deaddrop-users-"));
  chmodSync(root, 0o777);
  wire = join(root, "wire");
});
afterEach(() => {
  if (UNABLE === undefined) rmSync(root, { recursive: true, force: true });
});

function deaddrop(uid: number, ...args: readonly string[]): string {
  const { status, stdout, stderr } = as(uid, [BIN, ...args], root);
  if (status !== 0) throw new Error(`exit code ${status}: ${stderr}`);
  return stdout;
}

describe("two users of one host", () => {
  it("share a wire on which the kernel lets each write its own log alone", () => {
    deaddrop(ANNA, "init", "--me", "anna", "--peer", "bela", "--wire", wire, "--group", `${GROUP}`);
    deaddrop(BELA, "join", wire, "--me", "bela");
    const owners = ["anna_to_bela.jsonl", "bela_to_anna.jsonl", "decisions.jsonl", "trust.json"];
    expect(
      owners.map((name) => {
        const { mode, uid, gid } = statSync(join(wire, name));
        return [name, (mode & 0o7777).toString(8), uid, gid];
      }),
    ).toEqual([
      ["anna_to_bela.jsonl", "640", ANNA, GROUP],
      ["bela_to_anna.jsonl", "640", BELA, GROUP],
      ["decisions.jsonl", "660", ANNA, GROUP],
      ["trust.json", "660", ANNA, GROUP],
    ]);
    const append = `require("fs").appendFileSync(process.argv[1], "x\\n")`;
    const forge = as(BELA, ["-e", append, join(wire, "anna_to_bela.jsonl")]);
    expect(forge.stderr).toContain("EACCES");
    expect(as(BELA, ["-e", append, join(wire, "decisions.jsonl")]).status).toBe(0);
  });

  it("are told when one gives the other's handle, and have no key of it afterwards", () => {
    deaddrop(ANNA, "init", "--me", "anna", "--peer", "bela", "--wire", wire, "--group", `${GROUP}`);
    const wrong = as(BELA, [BIN, "join", wire, "--me", "anna"], root);
    expect(wrong.status).toBe(2);
    expect(wrong.stderr).toContain(`belongs to user ${ANNA}, and it should be yours`);
    expect(wrong.stderr).toContain("check the handle that you gave (--me)");
    deaddrop(BELA, "join", wire, "--me", "bela");
    expect(deaddrop(BELA, "whoami", "--wire", wire)).toContain("bela");
  });

  it("hear each other once each has pinned the other", () => {
    deaddrop(ANNA, "init", "--me", "anna", "--peer", "bela", "--wire", wire, "--group", `${GROUP}`);
    deaddrop(BELA, "join", wire, "--me", "bela");
    for (const [uid, peer, other] of [
      [ANNA, "bela", BELA],
      [BELA, "anna", ANNA],
    ] as const) {
      const rows = JSON.parse(deaddrop(other, "trust", "list", "--wire", wire, "--json")) as {
        keys: { fingerprint: string }[];
      }[];
      const fingerprint = rows[0]?.keys[0]?.fingerprint ?? "";
      const flags = ["--yes", "--reason", "a test", "--fingerprint", fingerprint];
      deaddrop(uid, "trust", "pin", peer, "--tier", "VERIFIED", "--wire", wire, ...flags);
    }
    deaddrop(ANNA, "send", "hello", "--wire", wire);
    expect(deaddrop(BELA, "inbox", "--wire", wire)).toContain("hello");
    deaddrop(BELA, "send", "welcome", "--wire", wire);
    expect(deaddrop(ANNA, "inbox", "--wire", wire)).toContain("welcome");
  });
});
