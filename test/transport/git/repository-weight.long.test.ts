import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { composeLine, type ChainHead } from "../../../src/wire/compose.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { makeSigner } from "../../../src/wire/signature.ts";
import { git } from "./git-scene.ts";

/** Heartbeats of two agents, one commit each; twice as many are compared with these. */
const COMMITS = process.env["DEADDROP_NIGHTLY"] === undefined ? 64 : 512;
const BEGIN_MS = Date.UTC(2026, 5, 1, 9);
const CADENCE_MS = 1_200_000;
const HANDLES = ["forge", "scribe"] as const;

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Packed bytes of a repository with so many heartbeats. */
async function weightOf(commits: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "deaddrop-weight-"));
  folders.push(folder);
  const repository = join(folder, "wire.git");
  execFileSync("git", ["init", "--quiet", "--bare", "--initial-branch=main", repository]);
  // As pushes of a few objects leave them.
  const args = ["-c", "fastimport.unpackLimit=1000000", "-C", repository, "fast-import", "--quiet"];
  const importing = spawn("git", args, { stdio: ["pipe", "ignore", "inherit"] });
  for (const text of commitsOf(commits)) {
    if (!importing.stdin.write(text)) await once(importing.stdin, "drain");
  }
  importing.stdin.end();
  await once(importing, "close");
  git(repository, "gc", "--quiet", "--prune=now");
  expect(git(repository, "rev-list", "--count", "main").trim()).toBe(String(commits));
  return Number(/^size-pack: (\d+)$/m.exec(git(repository, "count-objects", "-v"))?.[1]) * 1_024;
}

function* commitsOf(count: number): Generator<string> {
  const [forge, scribe] = HANDLES.map((handle, at) => beats(handle, at)) as [
    Generator<string>,
    Generator<string>,
  ];
  const logs = { forge: "", scribe: "" };
  for (let at = 0; at < count; at += 1) {
    const handle = HANDLES[at % 2] ?? "forge";
    logs[handle] += String((handle === "forge" ? forge : scribe).next().value);
    const person = `committer ${handle} <${handle}@deaddrop.invalid> ${1_780_000_000 + at} +0000`;
    const message = `deaddrop: ${handle}`;
    const file = `M 100644 inline outbox/${handle}.jsonl\ndata ${Buffer.byteLength(logs[handle])}`;
    yield `commit refs/heads/main\n${person}\ndata ${message.length}\n${message}\n${file}\n${logs[handle]}\n`;
  }
}

function* beats(handle: string, at: number): Generator<string> {
  const signer = makeSigner(handle, new Uint8Array(32).fill(at + 1));
  let head: ChainHead | undefined;
  for (let beat = 0; ; beat += 1) {
    const timestampMs = BEGIN_MS + beat * CADENCE_MS;
    const next = new Date(timestampMs + CADENCE_MS).toISOString();
    const body = { wakeup_count: beat, state: "idle", next_eta: next, inbox_unread_count: 0 };
    const { line, id } = composeLine(
      { to: ["*"], type: "heartbeat", subject: "heartbeat", body: fromPlain(body) },
      {
        timestamp: new Date(timestampMs).toISOString(),
        ...{ log: handle, wireId: "5ce9e0f1a2b3c4d5", head },
      },
      signer,
    );
    head = { seq: beat + 1, id };
    yield `${Buffer.from(line).toString("utf8")}\n`;
  }
}

it("a packed repository grows by what a heartbeat adds, not by the log that it is in", async () => {
  const [some, twice] = [await weightOf(COMMITS), await weightOf(2 * COMMITS)];
  console.log(`${COMMITS} commits: ${some} bytes; ${2 * COMMITS}: ${twice} bytes`);
  expect(twice / some).toBeLessThan(2.3);
  expect(twice / (2 * COMMITS)).toBeLessThan(1_500);
});
