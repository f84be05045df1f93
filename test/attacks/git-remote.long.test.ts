import { appendFileSync, mkdirSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FORGE, git, SCRIBE, TwoHosts } from "./two-hosts.ts";

// Somebody who may push to the repository, and has no key of the wire. After each attack both agents go on.

const MIB = 1_048_576;

let hosts: TwoHosts;
let said = 0;
beforeAll(async () => {
  hosts = await TwoHosts.make();
  await exchange();
});
afterAll(() => hosts.remove());

/** Each says something, and has what the other has said. */
async function exchange(): Promise<void> {
  said += 1;
  for (const handle of ["forge", "scribe"] as const) {
    await hosts.does(handle, "send", `${handle} ${said}`, "words");
  }
  await hosts.rounds();
  const all = (of: string) => Array.from({ length: said }, (_, at) => `${of} ${at + 1}`);
  expect(await hosts.subjects("scribe")).toEqual(all("forge"));
  expect(await hosts.subjects("forge")).toEqual(all("scribe"));
}

/** What an agent's operator has been told of, in one text. */
const told = (): Promise<string> => hosts.does("forge", "incident", "notices", "--json");

test("a copy of a line of ours in our log changes nothing", async () => {
  for (const at of [0, 1]) {
    hosts.push((clone) => {
      const line = hosts.inRemote(FORGE).split("\n").at(at) ?? "";
      appendFileSync(join(clone, FORGE), `${line}\n`);
    });
    await hosts.round("forge");
  }
  await exchange();
  const lines = (text: string) => new Set(text.split("\n"));
  expect(lines(hosts.inRemote(FORGE))).toEqual(lines(hosts.read("forge", FORGE)));
});

test("a shared file of very many lines is named, and read in neither direction", async () => {
  hosts.push((clone) => {
    // Different lines, so that they are not one; as JSON, so that each could be an entry.
    const lines = Array.from({ length: 250_000 }, (_, at) => `{"a":${at}}`);
    writeFileSync(join(clone, "decisions.jsonl"), `${lines.join("\n")}\n`);
  });
  const before = hosts.read("forge", "decisions.jsonl");
  await exchange();
  expect(hosts.read("forge", "decisions.jsonl")).toBe(before);
  expect(await told()).toContain("200000 lines");
  hosts.push((clone) => rmSync(join(clone, "decisions.jsonl")));
  await exchange();
});

test("40 MiB of two-byte lines in a shared file end no daemon with a small heap", async () => {
  hosts.push((clone) => writeFileSync(join(clone, "decisions.jsonl"), "b\n".repeat(20 * MIB)));
  // At every start.
  for (const _start of [1, 2]) {
    const { status, stderr } = hosts.cappedRound("forge", 192);
    expect([status, stderr]).toEqual([0, ""]);
  }
  hosts.push((clone) => rmSync(join(clone, "decisions.jsonl")));
  await exchange();
});

test("parts of a log that name the same bytes are one, and a day's junk is bounded", async () => {
  const size = (): number => statSync(join(hosts.folder("forge"), SCRIBE)).size;
  const junk = (letter: string): string =>
    Array.from({ length: 3_000 }, (_, at) => `{"${at}":"${letter.repeat(1_000)}"}\n`).join("");
  const before = size();
  hosts.push((clone) => {
    const folder = join(clone, "archive", "2024");
    mkdirSync(folder, { recursive: true });
    for (let part = 1; part <= 9; part += 1) {
      writeFileSync(join(folder, `scribe_to_forge.${part}.jsonl`), junk("a"));
    }
  });
  await hosts.round("forge");
  expect(size() - before).toBeLessThan(4 * MIB);
  for (const letter of ["b", "c", "d"]) {
    hosts.push((clone) => writeFileSync(join(clone, SCRIBE), junk(letter)));
    await hosts.round("forge");
  }
  expect(size() - before).toBeLessThan(9 * MIB);
  expect(await told()).toContain("lines that scribe did not sign");
  hosts.push((clone) => rmSync(join(clone, "archive"), { recursive: true }));
  // What scribe says after that is not held up by it.
  await exchange();
});

test("a peer's carrier with one line of 512 MiB is passed over, and both sides go on", async () => {
  const log = join(hosts.folder("forge"), SCRIBE);
  // Holes, which read as zeros.
  truncateSync(log, statSync(log).size + 512 * MIB);
  await exchange();
  truncateSync(log, 0);
  writeFileSync(log, hosts.inRemote(SCRIBE));
  await exchange();
});

test('an entry ".." in a tree, removed by the next commit, stops nothing', async () => {
  hosts.push((clone) => {
    const blob = git(clone, "rev-parse", `HEAD:${FORGE}`).trim();
    const name = Buffer.from(`100644 ..\0`, "latin1");
    const entry = Buffer.concat([name, Buffer.from(blob, "hex")]);
    const rest = execFileSync("git", ["-C", clone, "cat-file", "tree", "HEAD^{tree}"]);
    const input = Buffer.concat([entry, rest]);
    const hash = ["-C", clone, "hash-object", "-t", "tree", "-w", "--literally", "--stdin"];
    const tree = execFileSync("git", hash, { input, encoding: "utf8" }).trim();
    const mallory = ["-c", "user.name=m", "-c", "user.email=m@example.org"];
    const bad = git(clone, ...mallory, "commit-tree", tree, "-p", "HEAD", "-m", "x").trim();
    git(clone, "update-ref", "HEAD", bad);
  });
  await exchange();
});

test("another wire's configuration stops the transport, in one push or in two", async () => {
  const right = hosts.inRemote("config.json");
  const config = JSON.parse(right) as Record<string, unknown>;
  const commits = () => git(hosts.remote, "rev-list", "--count", "main").trim();
  for (const wire_id of [undefined, "0123456789abcdef"]) {
    hosts.push((clone) => {
      writeFileSync(join(clone, "config.json"), JSON.stringify({ ...config, wire_id }));
    });
    const pushed = commits();
    await hosts.round("forge");
    await hosts.round("scribe");
    expect(commits()).toBe(pushed);
    expect(hosts.read("forge", "config.json")).toBe(right);
  }
  expect(await told()).toContain("another wire");
  hosts.push((clone) => writeFileSync(join(clone, "config.json"), right));
  await exchange();
});
