import { expect, test } from "vitest";
import type { Composed } from "../../src/wire/compose.ts";
import type { Agent } from "../../src/agent/agent.ts";
import { nextPoint } from "../support/amounts.ts";
import { SimulatedWire } from "../support/scenes/simulated-wire.ts";
import { POWER_CUTS, FAULTS } from "../support/disk/faults.ts";

const THEIRS = "scribe_to_forge.jsonl";
const OURS = "forge_to_scribe.jsonl";

const text = ({ line }: Composed): string => `${Buffer.from(line).toString("utf8")}\n`;
const after = ({ message }: Composed) => ({ seq: message.seq ?? 0, id: message.id });

interface Case {
  readonly name: string;
  /** Ends with forge's daemon running. */
  prepare(wire: SimulatedWire): Promise<void>;
  /** What forge's process does while its disk fails; also what is done again until it succeeds. */
  run(agent: Agent): Promise<unknown>;
  isDone(wire: SimulatedWire): Promise<boolean>;
  /** When it is done and all has been read. */
  check(wire: SimulatedWire): Promise<void>;
}

function lines(wire: SimulatedWire) {
  const one = wire.forge("scribe", { subject: "one", after: "nothing" });
  const other = wire.forge("scribe", { subject: "another one", after: "nothing" });
  const two = wire.forge("scribe", { subject: "two", after: after(one) });
  return { one, other, two };
}

const inbox = async (wire: SimulatedWire) =>
  (await wire.agent("forge").view("inbox", {})).messages.map(({ subject }) => subject);
const held = async (wire: SimulatedWire) =>
  (await wire.agent("forge").view("holds", { peer: "scribe" })).holds;

const CASES: readonly Case[] = [
  {
    name: "keeping the evidence of a fork and telling it",
    async prepare(wire) {
      await wire.start("forge");
      const { one, other, two } = lines(wire);
      wire.append(THEIRS, [one, other, two].map(text).join(""));
    },
    run: (agent) => agent.tick(),
    async isDone(wire) {
      const holds = await held(wire);
      const notices = await wire.agent("forge").view("notices", undefined);
      const told = notices.filter(({ cause }) => cause === "log_forked");
      // It is there before it is told, and once.
      if (told.length > 0) expect(holds[0]?.evidence).toHaveLength(1);
      return told.length === 1 && holds.length === 1;
    },
    async check(wire) {
      const [hold] = await held(wire);
      const kept = wire.lines(hold?.evidence[0] ?? "");
      expect(kept).toHaveLength(3);
      expect(await inbox(wire)).toEqual([]);
    },
  },
  {
    name: "resetting a peer whose log forked",
    async prepare(wire) {
      await wire.start("forge");
      const { one, other, two } = lines(wire);
      wire.append(THEIRS, [one, other, two].map(text).join(""));
      await wire.settle();
    },
    run: (agent) => agent.resetPeer("scribe"),
    isDone: async (wire) => (await held(wire)).length === 0,
    async check(wire) {
      expect(await inbox(wire)).toEqual(["one", "two"]);
    },
  },
  {
    name: "reclaiming our own chain",
    async prepare(wire) {
      await wire.start("forge");
      await wire.send("forge", { to: ["scribe"], type: "feedback", subject: "mine", body: "x" });
      wire.append(OURS, text(wire.forge("forge", { subject: "theirs" })));
      await wire.settle();
    },
    run: (agent) => agent.reclaim(),
    isDone: async (wire) =>
      !(await wire.agent("forge").view("troubles", undefined)).some(
        ({ code }) => code === "identity_in_use",
      ),
    async check(wire) {
      await wire.send("forge", { to: ["scribe"], type: "feedback", subject: "again", body: "x" });
      const said = wire.lines(OURS).filter((line) => line.endsWith("}"));
      const lines = said.map((line) => JSON.parse(line) as { seq?: number; subject: string });
      const at = lines.findIndex(({ subject }) => subject === "again");
      const before = lines.slice(0, at).map(({ seq = 0 }) => seq);
      // Behind all that our key has signed.
      expect(lines[at]?.seq).toBe(Math.max(...before) + 1);
    },
  },
];

for (const { name, prepare, run, isDone, check } of CASES) {
  test(`${name}: each disk operation fails, or is the last`, async () => {
    for (const fault of FAULTS) {
      for (const power of POWER_CUTS) {
        for (let at = 1, isThrough = false; !isThrough; at = nextPoint(at)) {
          const where = `${fault} at operation ${at}, power ${power}`;
          try {
            const wire = new SimulatedWire(["forge", "scribe"], { withFaults: true, seed: at });
            await prepare(wire);
            const process = wire.process("forge");
            const before = process.operations;
            process.failAt(at, fault);
            const answer = await wire.attempt("forge", run);
            isThrough = process.operations - before < at;
            process.heal();
            if (power !== "none") wire.powerCut(power);
            if (!wire.isUp("forge")) await wire.start("forge");
            // What our disk refused is tried again.
            await wire.pass(5_000);
            // What was answered is done, and stays so whatever happens to the host.
            if (answer !== undefined && name.startsWith("re"))
              expect(await isDone(wire)).toBe(true);
            if (!(await isDone(wire))) await wire.attempt("forge", run);
            await wire.settle();
            expect(await isDone(wire)).toBe(true);
            await wire.pass(5_000);
            await check(wire);
          } catch (cause) {
            throw new Error(where, { cause });
          }
        }
      }
    }
  });
}
