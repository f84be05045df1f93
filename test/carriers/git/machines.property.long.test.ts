import { readdirSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { amount } from "../../support/amounts.ts";
import { CONFIG, git, GitScene, type GitAgent } from "./git-scene.ts";

// Agents on three machines or two, in any order of turns, together and one by one, while others cut, empty and fill their files,
// rewrite the history, and delete or damage what is private: in the end every machine holds every line that
// anybody has committed, and the repository does too.

const HANDLES = ["forge", "scribe", "ann"] as const;
const who = fc.constantFrom(...HANDLES);
const event = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("say" as const),
      who,
      lines: fc.integer({ min: 1, max: 3 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("turn" as const), who }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("all at once" as const) }) },
  fc.record({ do: fc.constant("fetch" as const), who }),
  fc.record({ do: fc.constant("cut" as const), who, bytes: fc.nat(120) }),
  fc.record({ do: fc.constant("junk" as const), who }),
  fc.record({ do: fc.constant("swap" as const), who }),
  fc.record({ do: fc.constant("rewind" as const) }),
  fc.record({ do: fc.constant("lose mirror" as const), who }),
  fc.record({ do: fc.constant("lose repository" as const), who }),
  fc.record({ do: fc.constant("lose all" as const), who }),
  fc.record({ do: fc.constant("tear mirror" as const), who, bytes: fc.nat(120) }),
);
type Event = typeof event extends fc.Arbitrary<infer T> ? T : never;

class Machines {
  readonly scene = new GitScene();
  readonly agents: ReadonlyMap<string, GitAgent>;

  /** Two of the agents may share a machine, with its mirror. */
  constructor(isShared: boolean) {
    const machineOf = (handle: string): string => (isShared && handle === "ann" ? "forge" : handle);
    this.agents = new Map(HANDLES.map((each) => [each, this.scene.agent(each, machineOf(each))]));
  }

  agent(handle: string): GitAgent {
    const agent = this.agents.get(handle);
    if (agent === undefined) throw new Error(handle);
    return agent;
  }

  async play(each: Event): Promise<void> {
    switch (each.do) {
      case "say": {
        const { chain, handle } = this.agent(each.who);
        const next = chain.length + 1;
        const bodies = Array.from({ length: each.lines }, (_, at) => `${handle}${next + at}`);
        return this.agent(each.who).say(...bodies);
      }
      case "turn":
        await this.agent(each.who).turn();
        return;
      case "fetch":
        await this.agent(each.who).turn({ fetch: true, push: false });
        return;
      case "all at once":
        await Promise.all([...this.agents.values()].map((agent) => agent.turn()));
        return;
      case "cut":
        return this.#change(each.who, (at) =>
          truncateSync(at, Math.max(0, statSync(at).size - each.bytes)),
        );
      case "junk":
        return this.#change(each.who, (at) => writeFileSync(at, 'junk\n{"tor', { flag: "a" }));
      case "swap":
        return this.#change(each.who, (at) =>
          writeFileSync(at, '{"from":"forge","seq":1,"body":"else"}\n'),
        );
      case "rewind": {
        const commits = git(this.scene.remote, "rev-list", "main").trim().split("\n");
        git(this.scene.remote, "update-ref", "refs/heads/main", commits[1] ?? commits[0] ?? "");
        return;
      }
      case "lose mirror":
        return rmSync(join(this.agent(each.who).state, "mirror"), { recursive: true, force: true });
      case "lose repository":
        return rmSync(join(this.agent(each.who).state, "repository"), {
          recursive: true,
          force: true,
        });
      case "lose all":
        return rmSync(this.agent(each.who).state, { recursive: true, force: true });
      case "tear mirror": {
        const at = join(this.agent(each.who).state, "mirror/outbox");
        for (const name of names(at))
          truncateSync(join(at, name), Math.min(each.bytes, statSync(join(at, name)).size));
        return;
      }
    }
  }

  /** All operators have accepted what is there. */
  async settle(): Promise<void> {
    for (let round = 0; round < 3; round += 1) {
      for (const agent of this.agents.values()) {
        agent.transport.acceptHistory();
        const ended = await agent.turn();
        if (round > 0) expect(ended).toBeUndefined();
      }
    }
  }

  #change(handle: string, work: (at: string) => void): void {
    const path = `outbox/${handle}.jsonl`;
    this.scene.tamper((clone) => {
      if (names(join(clone, "outbox")).includes(`${handle}.jsonl`)) work(join(clone, path));
    });
  }
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

test("every machine holds every committed line in the end", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.boolean(),
      fc.array(event, { minLength: 5, maxLength: 14 }),
      async (isShared, events) => {
        const machines = new Machines(isShared);
        try {
          machines.agent("forge").write("config.json", CONFIG);
          await machines.agent("forge").turn();
          for (const each of events) await machines.play(each);
          await machines.settle();
          for (const { handle, chain } of machines.agents.values()) {
            const lines = chain.map(({ bytes }) => Buffer.from(bytes).toString());
            for (const reader of machines.agents.values())
              for (const line of lines) expect(reader.held).toContain(line);
            if (lines.length === 0) continue;
            const there = new Set(machines.scene.inRemote(`outbox/${handle}.jsonl`).split("\n"));
            for (const line of lines) expect(there).toContain(line);
          }
        } finally {
          await machines.scene.remove();
        }
      },
    ),
    { numRuns: amount(4, 200), endOnFailure: true },
  );
});
