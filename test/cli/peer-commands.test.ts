import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { PlaceJson } from "../../src/wire/places.ts";
import { trouble } from "../../src/api/troubles.ts";
import type { StatusView } from "../../src/api/views.ts";
import { newMachine, type Machine } from "../setup/machine.ts";
import { run as runCli } from "./fake-cli.ts";
import { BY_FLAGS, commandsOn } from "./on-machine.ts";

let machine: Machine;
const { run, json } = commandsOn(() => machine);
beforeEach(() => {
  machine = newMachine();
});
afterEach(() => {
  machine.remove();
});

async function pair(): Promise<void> {
  await json("init", "--me", "forge", "--peer", "scribe");
  await json("join", "--me", "scribe");
}

function recorded(handle: string): { action: string; target: string }[] {
  const base = join(machine.root, "state", "inter-agent-deaddrop");
  const path = join(base, readdirSync(base)[0] ?? "", handle, "operator.jsonl");
  const lines = readFileSync(path, "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as { action: string; target: string });
}

it("peer unchained marks a peer, records who said so, and wants an operator", async () => {
  await pair();
  const plain = await run("peer", "unchained", "forge", "allow", "--as", "scribe");
  expect(plain.code).toBe(1);
  expect(plain.stderr).toContain("is the operator's to decide");
  const marked = () => json<{ allow_unchained: boolean }[]>("trust", "list", "--as", "scribe");
  for (const word of ["allow", "refuse"]) {
    const said = ["peer", "unchained", "forge", word, "--as", "scribe", ...BY_FLAGS];
    expect(await json(...said)).toEqual({ peer: "forge", allow_unchained: word === "allow" });
    const rows = (await marked()).filter(({ allow_unchained }) => allow_unchained);
    expect(rows).toHaveLength(word === "allow" ? 1 : 0);
    expect(recorded("scribe").at(-1)).toMatchObject({
      action: `peer unchained ${word}`,
      target: "forge",
    });
  }
  const unknown = await run("peer", "unchained", "forge", "perhaps", "--as", "scribe");
  expect(unknown.code).toBe(1);
  expect(unknown.stderr).toContain("perhaps");
});

it("peer show and reset know the peers of the wire alone", async () => {
  await pair();
  for (const args of [
    ["show", "quill"],
    ["reset", "quill", ...BY_FLAGS],
  ]) {
    const { code, stderr } = await run("peer", ...args, "--as", "scribe");
    expect(code).toBe(1);
    expect(stderr).toContain('no peer "quill" here');
  }
});

it("reset and reclaim ask for nothing where nothing is held", async () => {
  await pair();
  for (const args of [["peer", "reset", "forge"], ["reclaim"]]) {
    const outside = {
      env: { ...machine.env, DEADDROP_WIRE: machine.wireDir, DEADDROP_AS: "scribe" },
    };
    const views = {
      holds: { peer: "forge", holds: [], blocked: false, can_speak: true, evidence: [] },
      status: statusOf(),
    };
    const { exitCode, stdout, recording } = await runCli(args, { ...outside, views });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/nothing of forge is held|nothing to do/u);
    expect(recording.decided).toEqual([]);
  }
});

it("peer reset and reclaim tell what they do, and do it when the word is typed", async () => {
  await pair();
  const hold = {
    place: ["forge", 7, "a".repeat(64)] as PlaceJson,
    places: [
      ["forge", 7, "a".repeat(64)],
      ["forge", 7, "b".repeat(64)],
    ] as PlaceJson[],
    cause: "log_forked",
    detail: "two lines contradict one another",
    since: "2026-06-01T09:00:00.000Z",
    evidence: ["/state/evidence/forge-forge_to_scribe-1.jsonl"],
  };
  const holds = { peer: "forge", holds: [hold], blocked: true, can_speak: false, evidence: [] };
  const stop = trouble("identity_in_use", { seq: 3 });
  const outside = {
    env: { ...machine.env, DEADDROP_WIRE: machine.wireDir, DEADDROP_AS: "scribe" },
    tty: true,
    views: {
      holds,
      status: {
        ...statusOf(),
        troubles: [stop],
      },
    },
  };
  const refused = await runCli(["peer", "reset", "forge"], { ...outside, stdin: "yes\n" });
  expect([refused.exitCode, refused.recording.decided]).toEqual([1, []]);
  const reset = await runCli(["peer", "reset", "forge"], { ...outside, stdin: "forge\n" });
  expect(reset.stderr).toContain("goes on along the branch of");
  expect(reset.stderr).toContain("evidence: /state/evidence/forge-forge_to_scribe-1.jsonl");
  expect(reset.stdout).toContain("every key of forge is stopped");
  expect(reset.stdout).toContain("deaddrop trust unblock forge");
  expect([reset.exitCode, reset.recording.decided]).toEqual([0, ["forge"]]);
  const reclaimed = await runCli(["reclaim"], { ...outside, stdin: "scribe\n" });
  expect(reclaimed.stderr).toContain("line 3 with our signature was not signed here");
  expect([reclaimed.exitCode, reclaimed.recording.decided]).toEqual([0, ["reclaim"]]);
  expect(recorded("scribe").map(({ action }) => action)).toEqual(["peer reset", "reclaim"]);
});

function statusOf(): StatusView {
  return {
    handle: "scribe",
    wire: "7c3a91e2b4d05f16",
    wire_dir: machine.wireDir,
    wire_id: null,
    key_id: "scribe:1a2b3c4d",
    roster: ["forge", "scribe"],
    members: ["forge", "scribe"],
    daemon: { running: false },
    inbox_path: "/state/inbox.jsonl",
    ...{ peers: [], unread: 0, unread_from: [], notices: 0 },
    ...{ owed_to_me: [], owed_by_me: [], incidents: [] },
    left_out: { owed_to_me: 0, owed_by_me: 0, incidents: 0 },
    ...{ safe_mode: null, troubles: [], waiting: 0 },
    state: { state: "idle", last_action: null, heads_down: false },
    ...{ parked: null, next: "deaddrop status" },
  };
}
