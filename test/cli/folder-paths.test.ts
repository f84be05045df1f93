import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { TOOLS } from "../../src/agents/mcp/tool-table.ts";
import type { AnyTool } from "../../src/agents/mcp/tool.ts";
import type { CheckView, ClaimView } from "../../src/api/views.ts";
import { openClient } from "../../src/client/open-client.ts";
import { newFrame } from "../../src/framing/frame.ts";
import type { TroubleView } from "../../src/api/troubles.ts";
import { newMachine, type Machine } from "../setup/machine.ts";
import { BY_FLAGS, commandsOn } from "./on-machine.ts";

// Folders and misspelt paths, in commands and MCP tools over real agents. Spec 3.6, 3.7.

let machine: Machine;
const { run, json } = commandsOn(() => machine, { openClient });
beforeEach(async () => {
  machine = newMachine();
  await json("init", "--me", "alice", "--peer", "bob", "--local-pair");
  for (const file of ["src/web/a.ts", "src/web/deep/b.ts", "src/other.ts"]) {
    mkdirSync(dirname(join(machine.root, file)), { recursive: true });
    writeFileSync(join(machine.root, file), "x\n");
  }
});
afterEach(() => machine.remove());

function toolNamed(name: string): AnyTool {
  const found = TOOLS.find((each) => each.name === name);
  if (found === undefined) throw new Error(`no tool ${name}`);
  return found;
}

/** The paths that bob may not edit. */
async function blockedFor(...paths: readonly string[]): Promise<string[]> {
  const { stdout } = await run("check", ...paths, "--as", "bob", "--json");
  const { paths: checked } = JSON.parse(stdout) as CheckView;
  return checked.filter(({ verdict }) => verdict === "blocked").map(({ path }) => path);
}

const live = async () =>
  (await json<ClaimView[]>("claims", "--as", "bob")).map(
    ({ from, paths, status }) => `${from} ${paths.join(" ")} ${status}`,
  );

test("a claim of a folder covers everything in it, now and later, however it is spelled", async () => {
  for (const named of ["src/web", "src/web/", "./src/web", "src/web/**"]) {
    await json("claim", named, "--as", "alice");
    const files = ["src/web/a.ts", "src/web/deep/b.ts", "src/web/new/c.ts"];
    expect(await blockedFor(...files, "src/other.ts", "src/website.ts")).toEqual(files);
    await json("release", "--as", "alice");
  }
});

test("a claim of a folder that only others have covers everything in it", async () => {
  await json("claim", "lib/new", "--as", "alice");
  expect(await blockedFor("lib/new/a.ts", "lib/newer.ts")).toEqual(["lib/new/a.ts"]);
  expect((await run("claim", "lib/new/a.ts", "--as", "bob")).code).toBe(1);
  // A plain name may as well be a file: no pattern for names below it is taken to overlap.
  await json("claim", "src/other.ts", "--as", "alice");
  expect((await run("claim", "**/*.test.ts", "--as", "bob")).code).toBe(0);
  expect((await run("claim", "src/**/*.ts", "--as", "bob")).code).toBe(1);
});

test("a claim of a folder stands against one of a file in it", async () => {
  await json("claim", "src/web", "--as", "alice");
  const second = await run("claim", "src/web/a.ts", "--as", "bob");
  expect(second).toMatchObject({ code: 1 });
  expect(second.stderr).toContain('alice claims "src/web/"');
  expect((await run("claim", "src/other.ts", "--as", "bob")).code).toBe(0);
});

test("a domain that names a folder owns everything in it", async () => {
  const path = join(machine.wireDir, "config.json");
  const config = JSON.parse(readFileSync(path, "utf8")) as object;
  const domains = {
    web: { owner: "alice", paths: ["src/web"] },
    api: { owner: "alice", paths: ["src/apii"] },
    outside: { owner: "alice", paths: ["../*"] },
  };
  writeFileSync(path, JSON.stringify({ ...config, domains }));
  for (const as of ["alice", "bob"]) await run("config", "accept", "--as", as, ...BY_FLAGS);
  expect(await blockedFor("src/web/deep/b.ts", "src/other.ts")).toEqual(["src/web/deep/b.ts"]);
  // All that the claim covers lies in the domain, so its owner decides, and nothing is contested.
  const claimed = await run("claim", "src/web/deep", "--as", "bob");
  expect(claimed.stdout).toContain("once alice has accepted it");
  // What matches nothing is said of a domain as well.
  const { stdout } = await run("doctor", "--as", "alice", "--json");
  const { troubles } = JSON.parse(stdout) as { troubles: TroubleView[] };
  const found = troubles.filter(({ code }) => code === "domain_unmatched");
  expect(found.map(({ severity, detail }) => [severity, detail.split(":")[1]])).toEqual([
    ["warning", ' Nothing is at "src/apii" yet'],
    ["warning", ' Nothing is at "../*" yet'],
  ]);
});

test("check of a folder asks about every file in it", async () => {
  await json("claim", "src/web/deep", "--as", "alice");
  expect(await blockedFor("src")).toEqual(["src/web/deep/b.ts"]);
  expect(await blockedFor(".")).toEqual(["src/web/deep/b.ts"]);
  const { stdout } = await run("check", "src", "--as", "bob");
  expect(stdout).toContain("free to edit: 2 of 3");
});

test("of two claims of one agent, check says once whom to ask, and until when the last one holds", async () => {
  await json("claim", "src/web", "--for", "1h", "--as", "alice");
  await json("claim", "src", "--for", "3h", "--as", "alice");
  const ends = (await json<ClaimView[]>("claims", "--as", "bob")).map(({ until }) => until);
  const { stdout } = await run("check", "src/web/a.ts", "--as", "bob");
  expect(stdout.match(/Wait until \S+(?=,)/gu)).toEqual([
    `Wait until ${ends.toSorted().at(-1) ?? ""}`,
  ]);
  expect(stdout.match(/deaddrop send alice/gu)).toHaveLength(1);
});

test("a pattern that matches nothing is said to, and is sent", async () => {
  const claimed = await run("claim", "src/wbe", "src/web", "lib/**/*.ts", "--as", "alice");
  expect(claimed.code).toBe(0);
  expect(claimed.stdout).toContain(
    `Nothing is at "src/wbe", "lib/**/*.ts" yet: paths begin at ${machine.root}.`,
  );
  expect(await live()).toEqual(["alice src/wbe src/web/ lib/**/*.ts held"]);
  expect((await run("claim", "src/*.ts", "--as", "bob")).stdout).not.toContain("Nothing is at");
  const checked = await run("check", "src/wbe.ts", "--as", "bob");
  expect(checked).toMatchObject({ code: 0 });
  expect(checked.stderr).toContain('Nothing is at "src/wbe.ts" yet');
  const proposed = await run("propose", "Freeze it.", "--path", "src/wbe", "--as", "alice");
  expect(proposed.stdout).toContain('Nothing is at "src/wbe" yet');
});

test("release takes a path of the claim, as it was given or spelled otherwise", async () => {
  await json("claim", "src/web", "docs", "--as", "alice");
  await json("claim", "src/other.ts", "--as", "alice");
  const unknown = await run("release", "src", "--as", "alice");
  expect(unknown.stderr).toContain('no claim of yours has the id or the path "src"');
  const released = await run("release", "src/web/", "--as", "alice");
  expect(released.stdout).toContain("The whole claim ends: src/web/, docs.");
  expect(await live()).toEqual(["alice src/other.ts held"]);
});

test("MCP tools say the same of folders and misspelt paths", async () => {
  const call = async (handle: string, name: string, args: Record<string, unknown>) => {
    const client = await openClient({ wireDir: machine.wireDir, handle, env: machine.env });
    try {
      const { signal } = new AbortController();
      const asked = {
        client,
        frame: newFrame(),
        nowMs: Date.now(),
        tool: name,
        signal,
        cwd: process.cwd(),
        env: process.env,
        skill: { instructions: "", body: "" },
      };
      return JSON.stringify(await toolNamed(name).run(asked, args));
    } finally {
      client.close();
    }
  };
  const claimed = await call("alice", "claim", { paths: ["src/web", "src/wbe"] });
  expect(claimed).toContain('Nothing is at \\"src/wbe\\" yet');
  const checked = await call("bob", "read", { paths: ["src", "src/none.ts"] });
  expect(checked).toContain("Do not edit 2 of these 4 paths now");
  expect(checked).toContain('Nothing is at \\"src/none.ts\\" yet');
  expect(await call("alice", "claim", { paths: ["src/wbe"], release: true })).toContain(
    '"outcome":"sent"',
  );
  expect(await live()).toEqual([]);
});
