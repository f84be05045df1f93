import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ScriptedRound, script } from "../collab/scripted-round.ts";

// Whoever may write into the folder of a round fills its events.

test.each([
  ["lines that are no events", "x\n"],
  ["lines that are events of no kind", "{}\n"],
  ["blank lines", "\n"],
])("%s: some problems are named, and the rest of the file is not read", async (_what, line) => {
  const round = new ScriptedRound(1);
  await round.init();
  appendFileSync(join(round.folder, "events.jsonl"), line.repeat(150_000));
  const { code, stdout, stderr } = await script(
    "validate_collab",
    round.cwd,
    ...["--folder", round.folder],
  );
  const said = `${stdout}${stderr}`;
  expect(code).not.toBe(0);
  expect(said).toContain("not read from here on");
  expect(said.split("\n").length).toBeLessThan(300);
});
