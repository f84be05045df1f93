import { appendFileSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { composeLine, type ChainHead, type Draft } from "../../src/wire/compose.ts";
import { openClient } from "../../src/client/open-client.ts";
import { makeSigner } from "../../src/wire/signature.ts";
import type { PlaceJson } from "../../src/wire/places.ts";
import { newMachine, type Machine } from "../setup/machine.ts";
import { BY_FLAGS, commandsOn } from "./on-machine.ts";

interface Line {
  readonly place: PlaceJson;
  readonly subject: string;
  readonly after_the_end: boolean;
}

interface History {
  readonly key_id: string;
  readonly active: boolean;
  readonly stopped_at: string | null;
  readonly since: string | null;
  readonly lines: readonly Line[];
}

let machine: Machine;
let keyId: string;
const heads = new Map<string, ChainHead>();
const { run, json } = commandsOn(() => machine, { openClient });
const AS_FORGE = ["--as", "forge"];

beforeEach(async () => {
  machine = newMachine();
  heads.clear();
  await json("init", "--me", "forge", "--peer", "scribe", "--local-pair");
  keyId = signerOf("scribe").keyId;
});
afterEach(() => {
  machine.remove();
});

function signerOf(handle: string) {
  const secret = join(machine.root, "config", "inter-agent-deaddrop", `${handle}.key`);
  return makeSigner(handle, readFileSync(secret));
}

/** A line in the log of one to the other, so long ago. */
function say(from: string, subject: string, agoMs: number, draft: Partial<Draft> = {}): string {
  const to = from === "forge" ? "scribe" : "forge";
  const log = `${from}_to_${to}`;
  const config = readFileSync(join(machine.wireDir, "config.json"), "utf8");
  const { wire_id: wireId } = JSON.parse(config) as { wire_id: string };
  const timestamp = new Date(Date.now() - agoMs).toISOString();
  const { line, id, message } = composeLine(
    { to: [to], type: "feedback", subject, body: "", ...draft },
    { timestamp, wireId, head: heads.get(log) },
    signerOf(from),
  );
  heads.set(log, { seq: message.seq ?? 0, id });
  appendFileSync(join(machine.wireDir, `${log}.jsonl`), Buffer.concat([line, Buffer.from("\n")]));
  return id;
}

const MINUTE_MS = 60_000;
const history = (...flags: readonly string[]) =>
  json<History>("audit", "--key", keyId, ...flags, ...AS_FORGE);
const subjects = ({ lines }: History) => lines.map(({ subject }) => subject);

describe("audit --key", () => {
  it("lists what a key in use has signed, from a time on or since so long", async () => {
    say("scribe", "long ago", 300 * MINUTE_MS);
    say("scribe", "lately", 90 * MINUTE_MS);
    say("forge", "nobody asked", 80 * MINUTE_MS);
    const all = await history();
    expect(all).toMatchObject({ key_id: keyId, active: true, stopped_at: null, since: null });
    expect(subjects(all)).toEqual(["long ago", "lately"]);
    for (const since of ["2h", "120m", "7200s", new Date(Date.now() - 7_200_000).toISOString()]) {
      expect([since, subjects(await history("--since", since))]).toEqual([since, ["lately"]]);
    }
    expect(subjects(await history("--since", "1d"))).toHaveLength(2);
    expect(subjects(await history("--since", "1h"))).toEqual([]);
  });

  it("lists what came after the end of a revoked one, marked, and exits 0", async () => {
    say("scribe", "forged", 50 * MINUTE_MS);
    expect((await run("trust", "revoke", keyId, ...AS_FORGE, ...BY_FLAGS)).code).toBe(0);
    say("scribe", "late, and says that it is old", 9_999 * MINUTE_MS);
    // They are taken in first.
    await run("inbox", ...AS_FORGE);
    const { code, stdout } = await run("audit", "--key", keyId, "--since", "1h", ...AS_FORGE);
    expect(code).toBe(0);
    const text = stdout.split("\n").filter((line) => line.startsWith("scribe  line"));
    expect(text).toEqual([
      expect.stringMatching(/^scribe  line 1 .*forged/),
      expect.stringMatching(/^scribe  line 2 .*after the end .*late, and says/),
    ]);
    expect(stdout).toContain(`${keyId}  stopped 20`);
    const report = await history("--since", "1h");
    expect(report.lines.map(({ after_the_end: late }) => late)).toEqual([false, true]);
    expect(report.stopped_at).not.toBeNull();
    // The same lines make a whole audit fail.
    expect((await run("audit", ...AS_FORGE)).code).toBe(1);
  });

  it("says how a forged line is answered while one is not", async () => {
    say("scribe", "forged", 1);
    const { stdout } = await run("audit", "--key", keyId, ...AS_FORGE);
    expect(stdout).toContain("deaddrop correct <id>");
  });

  it("reads files by themselves with a trust file that has the key", async () => {
    const id = say("scribe", "copied", 1);
    const [log, trust] = ["scribe_to_forge.jsonl", "trust.json"].map((name) =>
      join(machine.wireDir, name),
    );
    const report = await json<History>(
      ...["audit", log ?? "", "--key", keyId, "--trust", trust ?? ""],
    );
    expect(report.lines).toMatchObject([{ place: ["scribe", 1, id], subject: "copied" }]);
  });

  it.each([
    [["--key", "scribe:00000000"], 1, "known: scribe:"],
    [["--key", "nobody"], 1, 'no key "nobody" is known'],
    [["--key", "scribe:x", "--since", "yesterday"], 1, "neither a time nor a duration"],
    [["--key", "scribe:x", "--since", "2026-13-01T00:00:00Z"], 1, "neither a time nor a duration"],
    [["--since", "2h"], 1, "--since goes with --key"],
  ])("refuses %j", async (flags, code, words) => {
    const answer = await run("audit", ...flags, ...AS_FORGE);
    expect([answer.code, answer.stderr]).toEqual([code, expect.stringContaining(words)]);
  });
});

describe("card export", () => {
  const cardOfForge = () => join(machine.wireDir, "trust", "forge.card.json");

  it("gives our card as it stands, and as an A2A card, on the screen or in a file", async () => {
    await json("card", "build", ...AS_FORGE);
    const plain = await run("card", "export", ...AS_FORGE);
    expect([plain.code, plain.stdout]).toEqual([0, readFileSync(cardOfForge(), "utf8")]);
    const path = join(machine.root, "agent-card.json");
    const written = await json("card", "export", "--a2a", path, ...AS_FORGE);
    expect(written).toEqual({ path, format: "a2a" });
    const card = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
    expect(card).toMatchObject({ name: "forge", url: "did:wire:forge", protocolVersion: "0.3.0" });
    // Flags that are false are left out: A2A 8.4 says two things of how they are signed.
    expect(Object.keys(card["capabilities"] as object)).toEqual(["extensions"]);
    expect(await json("card", "export", "--a2a", ...AS_FORGE)).toEqual(card);
    const copy = join(machine.root, "forge.card.json");
    await run("card", "export", copy, ...AS_FORGE);
    expect((await run("card", "verify", copy)).code).toBe(0);
  });

  it("wants a card of ours, signed with our key", async () => {
    rmSync(cardOfForge());
    const none = await run("card", "export", ...AS_FORGE);
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining("has no card on this")]);
    expect(none.stderr).toContain("deaddrop trust card build");
    await json("card", "build", ...AS_FORGE);
    await json("card", "build", "--as", "scribe");
    writeFileSync(
      cardOfForge(),
      readFileSync(cardOfForge(), "utf8").replace('"host": "', '"host": "x'),
    );
    expect((await run("card", "export", ...AS_FORGE)).stderr).toContain("not signed by any");
    const keys = join(machine.root, "config", "inter-agent-deaddrop");
    await json("card", "build", ...AS_FORGE);
    for (const name of ["forge.key", "forge.pub.json"]) {
      renameSync(join(keys, name), join(keys, `${name}.old`));
    }
    await json("keygen", "forge");
    const other = await run("card", "export", "--a2a", ...AS_FORGE);
    expect([other.code, other.stderr]).toEqual([1, expect.stringContaining("is not your key")]);
  });
});
