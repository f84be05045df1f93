import { execFileSync, spawnSync } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { processCli } from "../../src/cli/context.ts";
import { main } from "../../src/cli/main.ts";
import { BIN } from "../support/processes/real-processes.ts";
import { newMachine, type Machine } from "../setup/machine.ts";

export const FORGE = "forge_to_scribe.jsonl";
export const SCRIBE = "scribe_to_forge.jsonl";

export type Handle = "forge" | "scribe";

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const REASON = ["--yes", "--reason", "a test"];

/**
 * Two machines that share a wire through a real bare repository. The commands are the real ones, run in
 * this process; no daemon stays, each `round` is `deaddrop daemon --once`.
 */
export class TwoHosts {
  readonly remote: string;
  readonly #machines: Readonly<Record<Handle, Machine>>;

  private constructor(machines: Readonly<Record<Handle, Machine>>) {
    this.#machines = machines;
    this.remote = join(machines.forge.root, "wire.git");
    git(machines.forge.root, "init", "--quiet", "--bare", "--initial-branch=main", this.remote);
  }

  /** Each has pinned the other at that tier, and both have all that the other has said so far. */
  static async make(tier = "VERIFIED"): Promise<TwoHosts> {
    const hosts = new TwoHosts({ forge: newMachine(), scribe: newMachine() });
    const init = ["init", "--me", "forge", "--peer", "scribe", "--remote", hosts.remote, "--json"];
    const keys = { forge: fingerprint(await hosts.does("forge", ...init)), scribe: "" };
    const joined = ["join", hosts.remote, "--me", "scribe", "--peer", "forge", "--json"];
    keys.scribe = fingerprint(await hosts.does("scribe", ...joined));
    await hosts.does("forge", ...init);
    for (const [by, peer] of [
      ["forge", "scribe"],
      ["scribe", "forge"],
    ] as const) {
      const key = ["--tier", tier, "--fingerprint", keys[peer], ...REASON];
      await hosts.does(by, "trust", "pin", peer, ...key);
    }
    await hosts.rounds();
    return hosts;
  }

  /** The folder of the wire on that machine. */
  folder(handle: Handle): string {
    return this.#machines[handle].wireDir;
  }

  read(handle: Handle, path: string): string {
    return readFileSync(join(this.folder(handle), path), "utf8");
  }

  append(handle: Handle, path: string, text: string): void {
    appendFileSync(join(this.folder(handle), path), text);
  }

  /** A command, to its end. */
  async run(handle: Handle, ...args: readonly string[]): Promise<Ended> {
    const { env, root } = this.#machines[handle];
    const out: string[] = [];
    const err: string[] = [];
    const cli = {
      ...processCli(),
      ...{ env, cwd: root },
      stdin: Readable.from([]),
      stdout: { write: (text: string) => out.push(text) },
      stderr: { write: (text: string) => err.push(text) },
    };
    mkdirSync(env["HOME"] ?? "", { recursive: true });
    const code = await main(args, cli);
    return { code, stdout: out.join(""), stderr: err.join("") };
  }

  /** The same; throws when it fails. */
  async does(handle: Handle, ...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(handle, ...args);
    if (code !== 0) throw new Error(`${handle}: ${args.join(" ")}: ${code}: ${stdout}${stderr}`);
    return stdout;
  }

  /** `daemon --once`: one fetch, one round, one push. A daemon takes its environment from its process. */
  async round(handle: Handle): Promise<Ended> {
    const before = { ...process.env };
    const { env } = this.#machines[handle];
    Object.assign(process.env, env);
    try {
      return await this.run(handle, "daemon", "--once", "--log-level", "error");
    } finally {
      for (const name of Object.keys(env)) {
        if (before[name] === undefined) delete process.env[name];
        else process.env[name] = before[name];
      }
    }
  }

  /** The same as a process of the built program, with at most so much heap. */
  cappedRound(handle: Handle, heapMib: number): { status: number | null; stderr: string } {
    const { env, root } = this.#machines[handle];
    const args = [`--max-old-space-size=${heapMib}`, BIN, "daemon", "--once"];
    return spawnSync(process.execPath, args, {
      cwd: root,
      env: { PATH: process.env["PATH"], ...env },
      encoding: "utf8",
    });
  }

  /** Until each has what the other has said. */
  async rounds(): Promise<void> {
    for (const handle of ["forge", "scribe", "forge"] as const) {
      const { code, stderr } = await this.round(handle);
      if (code !== 0) throw new Error(`${handle}: ${code}: ${stderr}`);
    }
  }

  /** The subjects of all messages that an agent has received. */
  async subjects(handle: Handle): Promise<string[]> {
    const rows = (await this.does(handle, "inbox", "--json", "--limit", "1000")).split("\n");
    return rows.filter(Boolean).map((row) => (JSON.parse(row) as { subject: string }).subject);
  }

  /** An ordinary commit by somebody who may push to the repository, and has no key of the wire. */
  push(work: (clone: string) => void): void {
    const clone = mkdtempSync(join(this.#machines.forge.root, "clone-"));
    git(clone, "clone", "--quiet", this.remote, ".");
    work(clone);
    git(clone, "add", "--all");
    const mallory = ["-c", "user.name=mallory", "-c", "user.email=mallory@example.org"];
    git(clone, ...mallory, "commit", "--quiet", "--allow-empty", "-m", "x");
    git(clone, "push", "--quiet", "origin", "HEAD:main");
  }

  /** The bytes of a file in the repository. */
  inRemote(path: string): string {
    return git(this.remote, "show", `main:${path}`);
  }

  remove(): void {
    for (const machine of Object.values(this.#machines)) machine.remove();
  }
}

function fingerprint(report: string): string {
  return (JSON.parse(report) as { own_key: { fingerprint: string } }).own_key.fingerprint;
}

export function git(folder: string, ...args: readonly string[]): string {
  return execFileSync("git", ["-C", folder, ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    maxBuffer: 1 << 28,
  });
}
