import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  BIN,
  killChildren,
  start,
  until,
  type Started,
} from "../support/processes/real-processes.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "deaddrop-demo-test-"));
});
afterEach(async () => {
  await killChildren();
  rmSync(folder, { recursive: true, force: true });
});

function demo(): Started {
  const env = { PATH: process.env["PATH"], HOME: folder, TMPDIR: folder };
  return start(process.execPath, [BIN, "demo"], { env });
}

/** Processes whose command line names our folder. */
function left(): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
      } catch (error) {
        if (["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) return [];
        throw error;
      }
    })
    .filter((line) => line.includes(folder));
}

describe.runIf(process.platform === "linux")("deaddrop demo", () => {
  it("shows messages, a proved decision, an acked incident and a clean audit, and leaves nothing running", async () => {
    const { code, stdout, stderr } = await demo().ended;
    expect([stderr, code]).toEqual(["", 0]);
    for (const shown of [
      /scribe: delivered/,
      /scribe's inbox: \w{10} from forge, signature verified/,
      /forge: in force: “Format v3\.1 is frozen until May\.”/,
      /scribe: in force: “Format v3\.1 is frozen until May\.”/,
      /proof: proposal \w{10}, signature of forge verified/,
      /proof: ack \w{10}, signature of scribe verified/,
      /proof: close \w{10}, signature of forge verified/,
      /incident “main is broken” is acked/,
      /forge sent proposal “freeze the wire format” \(scribe: answered\)/,
      /scribe got feedback “the parser is ready” from forge/,
      /forge: SIGTERM, exit code 0/,
      /1 decision, 1 incident, 0 violations/,
      /Nothing is left running/,
    ]) {
      expect(stdout).toMatch(shown);
    }
    expect(left()).toEqual([]);
    // Node.js 22 and newer keep compiled code in ~/.cache.
    const made = readdirSync(folder).filter((name) => name !== ".cache");
    expect(made).toEqual([expect.stringMatching(/^deaddrop-demo-/)]);
  });

  it("stops its daemons when it is interrupted, and says so", async () => {
    const running = demo();
    await until("the daemons run", () => running.stdout().includes("scribe: process"));
    running.child.kill("SIGINT");
    const { code, stderr } = await running.ended;
    expect(code).toBe(1);
    expect(stderr).toContain("the demo went wrong: it was interrupted");
    await until("nothing is left", () => left().length === 0);
  });
});
