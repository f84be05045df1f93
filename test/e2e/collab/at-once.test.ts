import { afterEach, expect, test } from "vitest";
import { ScriptedRound } from "../../collab/scripted-round.ts";
import { amount } from "../../support/amounts.ts";
import { BIN, killChildren, start, type Ended } from "../../support/processes/real-processes.ts";

// Processes that append to one round at the same moment: the lock of the folder decides.

afterEach(killChildren);

const ROUNDS = amount(20, 500);

function append(round: ScriptedRound, from: string, event: string, ...flags: string[]) {
  const at = ["collab", "append", "--folder", round.folder, "--participant", from];
  const what = ["--event", event, "--summary", event, "--reply-to", "1", ...flags];
  const env = { ...process.env, HOME: round.cwd };
  return start(process.execPath, [BIN, ...at, ...what], { env }).ended;
}

async function validated(round: ScriptedRound): Promise<string> {
  return (await round.validate()).stdout;
}

test(`${ROUNDS} rounds: of two appends that exclude each other one is taken, the other reads again`, async () => {
  for (let at = 0; at < ROUNDS; at += 1) {
    const round = new ScriptedRound(1);
    await round.init();
    const submit = (): Promise<Ended> => append(round, "ann", "proposal_submitted");
    const both = await Promise.all([submit(), submit()]);
    expect(new Set(both.map(({ code }) => code))).toEqual(new Set([0, 2]));
    const refused = both.find(({ code }) => code === 2);
    expect(refused?.stderr).toContain("proposal_submitted is not allowed from phase reviewing");
    expect(await validated(round)).toBe("ACP validation passed\n");
  }
});

test("of many that may come in any order all are taken, with one seq each", async () => {
  const round = new ScriptedRound(2);
  await round.init();
  const flags = ["--role", "supporting", "--doc", "deliverables/adr.md"];
  const all = await Promise.all(
    Array.from({ length: 12 }, (_, at) =>
      append(round, at % 2 === 0 ? "ann" : "bob", "deliverable_drafted", ...flags),
    ),
  );
  expect(all.map(({ code, stderr }) => [code, stderr])).toEqual(all.map(() => [0, ""]));
  const seqs = all.map(({ stdout }) => Number(/seq (\d+)/u.exec(stdout)?.[1]));
  expect(seqs.toSorted((a, b) => a - b)).toEqual(all.map((_, at) => at + 2));
  expect(await validated(round)).toBe("ACP validation passed\n");
});
