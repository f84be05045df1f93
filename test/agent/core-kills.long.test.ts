import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { amount } from "../support/amounts.ts";
import { randomFrom } from "../support/random.ts";

const CHECKOUT = resolve(import.meta.dirname, "../..");
const AGENT = [
  ...["--import", join(CHECKOUT, "test/support/typescript.js")],
  join(import.meta.dirname, "core-process.ts"),
];

interface Rested {
  readonly readiness: { readonly is: string };
  readonly mail: readonly string[];
  readonly forks: readonly (number | null)[];
  readonly own: readonly [number, string];
  readonly mark: { readonly seq: number; readonly id: string };
}

/** What a process prints until it ends; it is killed some time after so many lines. */
async function run(args: readonly string[], lines: number, afterMs: number): Promise<string> {
  const child = spawn(process.execPath, [...AGENT, ...args], {
    cwd: CHECKOUT,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  let isDoomed = false;
  for await (const part of child.stdout) {
    said += String(part);
    if (isDoomed || said.split("\n").length <= lines) continue;
    isDoomed = true;
    setTimeout(() => child.kill("SIGKILL"), afterMs);
  }
  return said;
}

test("two processes that are killed at any instant: the other one has each message that was sent, once", async () => {
  const root = mkdtempSync(join(tmpdir(), "deaddrop-kills-"));
  try {
    const random = randomFrom(7);
    const wireDir = join(root, "wire");
    const names = ["forge", "scribe"] as const;
    for (const folder of [wireDir, ...names.map((name) => join(root, name))]) mkdirSync(folder);
    const sent = new Map<string, string[]>(names.map((name) => [name, []]));
    const argsOf = (name: string): string[] => {
      const other = name === "forge" ? "scribe" : "forge";
      return [wireDir, join(root, name), name, other];
    };
    const live = async (name: string): Promise<void> => {
      for (let life = 0; life < amount(3, 100); life += 1) {
        const [lines, afterMs] = [1 + Math.floor(random() * 40), Math.floor(random() * 40)];
        const said = await run([...argsOf(name), "say"], lines, afterMs);
        sent.get(name)?.push(...said.split("\n").slice(0, -1));
      }
    };
    await Promise.all(names.map(live));
    const rest = async (name: string): Promise<Rested> =>
      JSON.parse(await run([...argsOf(name), "rest"], Infinity, 0)) as Rested;
    await rest("forge");
    for (const [name, other] of [["scribe", "forge"] as const, ["forge", "scribe"] as const]) {
      const { readiness, mail, forks, own, mark } = await rest(name);
      expect([name, readiness.is, forks]).toEqual([name, "ready", [null, null]]);
      expect([mark.seq, mark.id]).toEqual(own);
      const ids = sent.get(other) ?? [];
      expect(ids.length).toBeGreaterThan(3);
      expect(new Set(ids).size).toBe(ids.length);
      expect(new Set(mail).size).toBe(mail.length);
      expect(ids.filter((id) => !mail.includes(id))).toEqual([]);
      const inbox = readFileSync(join(root, name, "inbox.jsonl"), "utf8")
        .split("\n")
        .slice(0, -1);
      expect(inbox.map((line) => (JSON.parse(line) as { event_id: string }).event_id)).toEqual(
        mail,
      );
    }
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});
