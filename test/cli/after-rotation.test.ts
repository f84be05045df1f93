import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openClient } from "../../src/client/open-client.ts";
import { composeLine, type ChainHead } from "../../src/wire/compose.ts";
import { encodeBase64, makeSigner, publicKeyOf } from "../../src/wire/signature.ts";
import { newMachine, type Machine } from "../setup/machine.ts";
import { BY_FLAGS, commandsOn } from "./on-machine.ts";

// An agent has changed its key by the book before a newcomer pinned it: nothing is held against it.

let machine: Machine;
const { run, json } = commandsOn(() => machine, { openClient });
beforeEach(() => {
  machine = newMachine();
});
afterEach(() => machine.remove());

const LOG = "forge_to_scribe";
const OLD = new Uint8Array(32).fill(9);

function privateKeyOf(handle: string): Uint8Array {
  const base = join(machine.root, "config");
  const path = readdirSync(base, { recursive: true, encoding: "utf8" }).find(
    (name) => name.includes(handle) && name.endsWith(".key"),
  );
  return readFileSync(join(base, path ?? ""));
}

/** forge's log: three lines of its old key, then two of the key that it has now. */
function rotatedLog(): string {
  const { wire_id: wireId } = JSON.parse(
    readFileSync(join(machine.wireDir, "config.json"), "utf8"),
  ) as { wire_id: string };
  const [before, now] = [makeSigner("forge", OLD), makeSigner("forge", privateKeyOf("forge"))];
  let head: ChainHead | undefined;
  return [before, before, before, now, now]
    .map((signer, at) => {
      const timestamp = `2026-11-2${at}T10:00:00.000000Z`;
      const draft = {
        ...{ to: ["scribe"], type: "feedback", subject: `line ${at + 1}`, body: {} },
        correlationId: "x",
      };
      const { line, id } = composeLine(draft, { timestamp, wireId, head }, signer);
      head = { seq: at + 1, id };
      return `${Buffer.from(line).toString("utf8")}\n`;
    })
    .join("");
}

interface TrustFile {
  readonly agents: Readonly<Record<string, { readonly public_keys: object[] }>>;
}

/** The wire advertises both keys while the old one is still believed by those who know it. */
function advertiseOld(): string {
  const path = join(machine.wireDir, "trust.json");
  const document = JSON.parse(readFileSync(path, "utf8")) as TrustFile;
  const keyId = makeSigner("forge", OLD).keyId;
  document.agents["forge"]?.public_keys.unshift({
    ...{ key_id: keyId, key: encodeBase64(publicKeyOf(OLD)) },
    ...{ added_at: "2026-01-01T00:00:00.000Z", active: true },
  });
  writeFileSync(path, JSON.stringify(document));
  return keyId;
}

it("a newcomer reads what was signed before the pin, and is told of the old key", async () => {
  await json("init", "--me", "forge", "--peer", "scribe");
  await json("join", "--me", "scribe");
  writeFileSync(join(machine.wireDir, `${LOG}.jsonl`), rotatedLog());
  const old = advertiseOld();
  const sas = (self: string, peer: string) =>
    json<{ digits: string | null }>("trust", "sas", peer, "--as", self);
  for (let looks = 0; looks < 2; looks += 1) {
    await sas("forge", "scribe");
    await sas("scribe", "forge");
  }
  const { digits } = await sas("scribe", "forge");
  await run("trust", "verify", "forge", digits ?? "", "--as", "scribe", ...BY_FLAGS);

  const { stdout: inbox } = await run("inbox", "--as", "scribe");
  // Lines of the key that was compared descend from those of the old one.
  expect(inbox.match(/line \d/g)).toEqual(["line 1", "line 2", "line 3", "line 4", "line 5"]);
  const { stdout: peers } = await run("peers", "--as", "scribe");
  expect(peers).not.toContain("did not sign");
  const { stdout: doctor } = await run("doctor", "--as", "scribe");
  expect(doctor).toMatch(new RegExp(`ok +advertised keys +.*${old}.*from before the one that is`));
  expect(doctor).not.toContain("ask their owner");
  const { stdout: trust } = await run("trust", "list", "--as", "scribe");
  expect(trust).toMatch(new RegExp(`earlier key +.*${old}`));
  expect(trust).not.toContain("drift");
  const { stdout: notices } = await run("incident", "notices", "--as", "scribe");
  expect(notices).toBe("Nothing noticed.\n");
  const audit = await run("audit", "--as", "scribe");
  expect(audit.stdout).toContain("0 violations");
});
