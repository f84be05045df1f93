import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { BIN } from "../support/processes/real-processes.ts";

const EXAMPLES = fileURLToPath(new URL("../../examples", import.meta.url));

async function play(script: string): Promise<{ code: number | null; said: string[] }> {
  const env = { ...process.env, DEADDROP: `${process.execPath} ${BIN}` };
  const child = spawn("bash", [join(EXAMPLES, script)], { env });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (more: string) => (text += more));
  }
  const [code] = (await once(child, "close")) as [number | null];
  return { code, said: text.trimEnd().split("\n") };
}

it("a team: plans and shutdowns, approved and refused, and nothing is left running", async () => {
  const { code, said } = await play("team/run.sh");
  expect(code, said.join("\n")).toBe(0);
  // In the end, without the names of the requests.
  expect(said.slice(-4).map((line) => line.replace(/^[0-9a-f]{10}\s+/u, ""))).toEqual([
    "plan_approval  rejected  mate → lead   back it up first    a plan, for your approval",
    "plan_approval  approved  mate → lead                       a plan, for your approval",
    "shutdown       rejected  lead → scout  my tests still run  please finish and shut down",
    "shutdown       approved  lead → mate                       please finish and shut down",
  ]);
  expect(said).toContain("mate is paused: it is stored, and waits there until it goes on.");
});

it("a guarded repository: blocked, granted, overridden, and put back", async () => {
  const { code, said } = await play("guard/run.sh");
  expect(code, said.join("\n")).toBe(0);
  expect(said.filter((line) => line.includes("this commit is blocked"))).toHaveLength(2);
  expect(said.some((line) => line.includes("told lead"))).toBe(true);
  expect(said.slice(-4)).toEqual([
    "change src/page.ts",
    "change src/api/routes.ts",
    "change src/api/hotfix.ts",
    "change src/api/hotfix.ts",
  ]);
});

it("a closed year: agreed, archived, compressed, and all of it is found", async () => {
  const { code, said } = await play("archive/run.sh");
  expect(code, said.join("\n")).toBe(0);
  expect(said.filter((line) => line.startsWith("archived "))).toHaveLength(3);
  expect(said.filter((line) => line.startsWith("compressed "))).toHaveLength(2);
  expect(said).toContain("0 violations");
  expect(said.slice(-3)).toEqual([
    "decisions.jsonl.gz",
    "lead_to_mate.jsonl",
    "mate_to_lead.jsonl.gz",
  ]);
});

it("a plan: four steps, four daemons, three workers, one report", async () => {
  const { code, said } = await play("plan/run.sh");
  expect(code, said.join("\n")).toBe(0);
  expect(said).toContain("all steps are complete");
  expect(said).toContain("# Plan csv-upload: done");
  expect(said.slice(-4)).toEqual([
    ...["e2e/upload.test.js", "schemas/upload.json", "server/done.txt", "web/done.txt"],
  ]);
});
