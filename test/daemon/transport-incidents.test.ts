import { expect, it } from "vitest";
import { makeQueue } from "../../src/agent/session/queue.ts";
import { silentLogger } from "../../src/agent/session/world.ts";
import { tellTroubles } from "../../src/daemon/transport/transport-incidents.ts";
import type { TransportTrouble } from "../../src/transport/port.ts";

async function scene() {
  const told: string[] = [];
  const held: string[] = [];
  let nowMs = 0;
  const queue = makeQueue();
  const agent = {
    tell: async ({ key, subject }: { key: string; subject: string }) => {
      told.push(`${key.split(":")[0]} ${subject}`);
      return Promise.resolve();
    },
    foundElsewhere: async (log: string, detail: string) => {
      held.push(`${log}: ${detail}`);
      return Promise.resolve();
    },
    monoMs: () => nowMs,
  };
  const tell = tellTroubles(agent, queue, silentLogger);
  const after = async (...troubles: TransportTrouble[]): Promise<void> => {
    tell(troubles);
    await queue(() => Promise.resolve());
  };
  return Promise.resolve({
    ...{ told, held, after },
    pass: (ms: number) => {
      nowMs += ms;
    },
  });
}

const tampered = (where: string): TransportTrouble => ({
  ...{ cause: "wire_tampered", where, detail: "it is a symbolic link" },
});

it("each matter is told once, and a few within an hour", async () => {
  const { told, after, pass } = await scene();
  await after(tampered('"a"'), tampered('"a"'));
  await after(tampered('"a"'));
  expect(told).toEqual(['wire_tampered the remote holds what does not belong there: "a"']);
  for (let at = 0; at < 50; at += 1) await after(tampered(`"x${at}"`));
  expect(told).toHaveLength(8);
  pass(3_600_001);
  await after(tampered('"later"'));
  expect(told).toHaveLength(9);
});

it("lines of ours that we do not know stop our sending, and name the file that keeps them", async () => {
  const { held, told, after } = await scene();
  await after({
    cause: "own_log_ahead",
    where: '"outbox/forge.jsonl"',
    log: "forge",
    detail: "lines that we signed",
    kept: "/evidence/x.jsonl",
  });
  expect(held).toEqual(["forge: lines that we signed; kept in /evidence/x.jsonl"]);
  expect(told).toEqual([]);
});
