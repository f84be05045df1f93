import { createHash, createPublicKey, verify } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openClient } from "../../src/client/open-client.ts";
import { newMachine, type Machine } from "../setup/machine.ts";
import { BY_FLAGS, commandsOn } from "./on-machine.ts";

// A wire that declares v3.0: what is written there is verified as a program that knows v3.0 alone does it.

let machine: Machine;
const { run, json } = commandsOn(() => machine, { openClient });
beforeEach(() => {
  machine = newMachine();
});
afterEach(() => {
  machine.remove();
});

type Fields = Record<string, unknown>;

const lines = (log: string) =>
  readFileSync(join(machine.wireDir, log), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Fields);

/** Python's `json.dumps(sort_keys=True, separators=(",", ":"))`, for texts of ASCII. */
function canonical(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, each]) => `${JSON.stringify(key)}:${canonical(each)}`).join(",")}}`;
}

function isV30(fields: Fields): boolean {
  const { public_key_id: keyId, signature, ...signed } = fields;
  const handle = String(fields["from"]);
  const path = join(machine.root, "config/inter-agent-deaddrop", `${handle}.pub.json`);
  const { key } = JSON.parse(readFileSync(path, "utf8")) as { key: string };
  const raw = Buffer.from(key, "base64");
  const id = `${handle}:${createHash("sha256").update(raw).digest("hex").slice(0, 8)}`;
  const spki = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), raw]);
  const publicKey = createPublicKey({ key: spki, format: "der", type: "spki" });
  const bytes = Buffer.from(canonical(signed));
  return keyId === id && verify(null, bytes, publicKey, Buffer.from(String(signature), "base64"));
}

async function trustEachOther(): Promise<void> {
  const sas = (self: string, peer: string) =>
    json<{ digits: string | null }>("trust", "sas", peer, "--as", self);
  for (let looks = 0; looks < 2; looks += 1) {
    await sas("forge", "scribe");
    await sas("scribe", "forge");
  }
  const { digits } = await sas("forge", "scribe");
  for (const [self, peer] of [
    ["forge", "scribe"],
    ["scribe", "forge"],
  ] as const) {
    const args = ["trust", "verify", peer, digits ?? "", "--as", self, ...BY_FLAGS];
    expect((await run(...args)).code).toBe(0);
  }
}

const subjects = async (self: string) =>
  (await run("inbox", "--json", "--as", self)).stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as { subject: string }).subject);

const NOTE = "your messages are signed in the v3.0 form";

test("on a wire that declares v3.0, messages are signed so, and chained as ever", async () => {
  await json("init", "--me", "forge", "--peer", "scribe");
  await json("join", "--me", "scribe");
  await trustEachOther();
  await json("send", "first", "x", "--as", "forge");
  const config = join(machine.wireDir, "config.json");
  const declared = JSON.parse(readFileSync(config, "utf8")) as Fields;
  writeFileSync(config, JSON.stringify({ ...declared, protocol_version: "v3.0" }));
  for (const self of ["forge", "scribe"]) {
    expect((await run("doctor", "--as", self)).stdout).not.toContain(NOTE);
    expect(await run("config", "accept", "--as", self, ...BY_FLAGS)).toMatchObject({ code: 0 });
    expect((await run("doctor", "--as", self)).stdout).toContain(NOTE);
  }
  const said = async (...args: readonly string[]) => {
    const { messages } = await json<{ messages: { event_id: string }[] }>(...args, "--as", "forge");
    return messages[0]?.event_id ?? "";
  };
  const sent = await said("send", "second", "x");
  const proposed = await said("propose", "Use pnpm", "x");
  expect(await subjects("scribe")).toEqual(["first", "second", "Use pnpm"]);
  expect(await run("accept", proposed, "--as", "scribe")).toMatchObject({ code: 0 });
  expect((await run("proposals", "--as", "forge")).stdout).toContain("scribe: agrees");

  const [first, ...others] = lines("forge_to_scribe.jsonl");
  expect(first).toMatchObject({ seq: 1, event_id: expect.any(String) as string });
  expect(isV30(first ?? {})).toBe(false);
  expect(others.map(({ seq, event_id: id }) => [seq, id])).toEqual([
    [2, undefined],
    [3, undefined],
    // The close of the proposal.
    [4, undefined],
  ]);
  expect(others[0]?.["prev"]).toBe(first?.["event_id"]);
  expect(others[1]?.["prev"]).toBe(sent);
  const answers = lines("scribe_to_forge.jsonl");
  expect(answers.length).toBeGreaterThan(0);
  expect([...others, ...answers].every(isV30)).toBe(true);
  for (const self of ["forge", "scribe"]) {
    const audit = await run("audit", "--as", self);
    expect([audit.code, audit.stdout]).toEqual([0, expect.stringContaining("0 violations")]);
  }
});

test("join says what a peer that knows v3.0 alone cannot verify", async () => {
  await json("init", "--me", "forge", "--peer", "scribe");
  writeFileSync(join(machine.wireDir, "config.json"), `{"protocol_version":"v3.0"}`);
  const joined = await run("join", "--me", "scribe", "--peer", "forge");
  expect(joined.stdout).toContain(NOTE);
  expect(joined.stdout).toContain("decisions.jsonl");
  await json("send", "hello", "x", "--as", "scribe");
  expect(lines("scribe_to_forge.jsonl").every(isV30)).toBe(true);
});

test("behind a chained v3.0 line that was left out lines wait, also when it comes back changed", async () => {
  await json("init", "--me", "forge", "--peer", "scribe");
  await json("join", "--me", "scribe");
  await trustEachOther();
  const config = join(machine.wireDir, "config.json");
  const declared = JSON.parse(readFileSync(config, "utf8")) as Fields;
  writeFileSync(config, JSON.stringify({ ...declared, protocol_version: "v3.0" }));
  for (const self of ["forge", "scribe"]) await run("config", "accept", "--as", self, ...BY_FLAGS);
  for (const subject of ["one", "two", "three"]) await json("send", subject, "x", "--as", "forge");
  const log = join(machine.wireDir, "forge_to_scribe.jsonl");
  const [one = "", two = "", three = ""] = readFileSync(log, "utf8").trimEnd().split("\n");
  writeFileSync(log, `${one}\n${three}\n`);
  expect(await subjects("scribe")).toEqual(["one"]);
  const peers = await run("peers", "--as", "scribe");
  expect(peers.stdout).toContain("lines of forge behind line 1 are missing");
  writeFileSync(log, `${one}\n${three}\n${two.replace('"x"', '"y"')}\n`);
  expect(await subjects("scribe")).toEqual(["one"]);
  writeFileSync(log, `${one}\n${three}\n${two}\n`);
  expect(await subjects("scribe")).toEqual(["one", "two", "three"]);
});
