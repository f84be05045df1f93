import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { GitTransport } from "../../src/carriers/git/git-transport.ts";
import { afterMs } from "../support/after-ms.ts";
import { amount } from "../support/amounts.ts";
import { CoreStorm, type Carrying } from "../support/core-storm.ts";
import { makeFolder, WIRE_ID, wireLayout } from "../support/core-wire.ts";

// The same storms where each agent is on a machine of its own, with its own folder, and a repository is between.

const root = mkdtempSync(join(tmpdir(), "deaddrop-git-storm-"));
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

function gitCarrying(folder: string): Carrying & { stop(): Promise<void> } {
  const remote = join(folder, "wire.git");
  mkdirSync(folder);
  execFileSync("git", ["init", "--quiet", "--bare", "--initial-branch=main", remote]);
  const transports = new Map<string, GitTransport>();
  const ended: GitTransport[] = [];
  const place = (name: string, what: string): string => join(folder, name, what);
  return {
    folderOf: (name) => place(name, "wire"),
    transports: (wire, agent, ours) => {
      const { name, disk } = agent;
      for (const what of ["wire", "home", "state"])
        mkdirSync(place(name, what), { recursive: true });
      const layout = wireLayout(name, wire.names);
      const git = new GitTransport({
        disk,
        world: {
          clock: { wallMs: () => wire.nowMs, monoMs: () => wire.nowMs },
          after: (inMs, act) => afterMs(Math.min(inMs, 50), act),
          random: () => 0.5,
          cadenceMs: () => 90_000,
          log: { warn: () => undefined },
          failed: (error) => {
            throw error;
          },
        },
        env: { PATH: process.env["PATH"], HOME: place(name, "home") },
        remote: { url: remote, scheme: "file" },
        ...{ branch: "main", prefix: "", wireId: WIRE_ID },
        ...{ stateFolder: place(name, "state"), wireFolder: place(name, "wire") },
        ...{ ours, layout: () => layout, isLocal: (other) => other === name },
      });
      transports.set(name, git);
      ended.push(git);
      return [makeFolder(wire, agent, ours, place(name, "wire")), git];
    },
    sync: async ({ name }) => {
      await transports.get(name)?.turn({ fetch: true, push: true });
    },
    stop: async () => {
      for (const git of ended) await git.stop();
    },
  };
}

const FIRST_SEED = Number(process.env["DEADDROP_SEED"] ?? 2);

test("after each storm over git all agents hold what was sent, once, and agree on what became of it", async () => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + amount(1, 50); seed += 1) {
    const carrying = gitCarrying(join(root, `${seed}`));
    const storm = new CoreStorm(root, seed, carrying);
    try {
      await storm.rage(50);
      await storm.calm();
      storm.check();
    } catch (cause) {
      throw new Error(`seed ${seed}:\n${storm.told.join("\n")}`, { cause });
    } finally {
      storm.wire.close();
      await carrying.stop();
    }
    expect(storm.sent).toBeGreaterThan(5);
  }
});
