import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { CONDITION_LIMIT_MS } from "../../support/hang-guard.ts";
import { makeWire, removeWires, type LiveWire } from "../../support/processes/live-wire.ts";
import { BIN, start, until } from "../../support/processes/real-processes.ts";

afterEach(removeWires);

const PASSPHRASE = "seven blue herons walk home";
const LOG = "forge_to_scribe.jsonl";
const CONSENT = ["--yes", "--reason", "a test"];

function secretFile(wire: LiveWire, text = PASSPHRASE): string {
  const path = join(wire.folder, "passphrase");
  writeFileSync(path, `${text}\n`, { mode: 0o600 });
  return path;
}

async function backUp(wire: LiveWire): Promise<string> {
  const file = join(wire.folder, "forge.backup.age");
  await wire.json("forge", "backup", file, "--passphrase-file", secretFile(wire));
  return file;
}

const subjects = (wire: LiveWire) => wire.privateLines("scribe", "inbox").map((m) => m.subject);

/** The machine of forge is gone: all that was private to it. */
function lose(wire: LiveWire): void {
  const { configDir, stateDir, identity } = wire.paths("forge");
  for (const path of [configDir, stateDir, identity.key, identity.publicKey]) {
    rmSync(path, { recursive: true });
  }
}

function expectOneChain(wire: LiveWire): void {
  const chained = wire.lines(LOG).filter(({ seq }) => seq !== undefined);
  expect(chained.map(({ seq }) => seq)).toEqual(chained.map((_, at) => at + 1));
  expect(chained.map(({ prev }) => prev)).toEqual([
    undefined,
    ...chained.slice(0, -1).map(({ event_id }) => event_id),
  ]);
}

it("a lost machine is restored: the chain goes on after what was signed since, and no peer holds it", async () => {
  const wire = makeWire();
  const forge = await wire.daemon("forge");
  await wire.daemon("scribe");
  await wire.json("forge", "send", "before the backup");
  await until("it is there", () => subjects(wire).includes("before the backup"));
  // While the daemon runs.
  const file = await backUp(wire);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readFileSync(file, "latin1")).toMatch(/^age-encryption\.org\/v1\n-> scrypt /);
  await wire.json("forge", "send", "after the backup");
  await until("that, too", () => subjects(wire).includes("after the backup"));
  expect((await forge.stop()).code).toBe(0);
  lose(wire);

  const restored = await wire.json<{ written: string[]; went_back: string[] }>(
    "forge",
    "restore",
    file,
    "--passphrase-file",
    secretFile(wire),
  );
  expect(restored.went_back).toEqual([]);
  const { configDir, stateDir, identity } = wire.paths("forge");
  expect(restored.written.at(-2)).toBe(identity.key);
  for (const path of [configDir, stateDir]) expect(statSync(path).mode & 0o777).toBe(0o700);
  for (const path of restored.written) expect(statSync(path).mode & 0o777).toBe(0o600);

  await wire.daemon("forge");
  // The old machine may still sign with the same key.
  const early = await wire.run("forge", "send", "too early");
  expect([early.code === 0, early.stderr]).toEqual([
    false,
    expect.stringContaining("deaddrop key reclaim"),
  ]);
  await wire.json("forge", "reclaim", ...CONSENT);
  await wire.json("forge", "send", "from the new machine");
  await until("scribe has it", () => subjects(wire).includes("from the new machine"));
  expectOneChain(wire);
  expect(await wire.json("scribe", "peers")).toMatchObject([{ handle: "forge", held: false }]);
  expect(JSON.parse((await wire.run("scribe", "audit", "--json")).stdout)).toMatchObject({
    violations: [],
  });
  // What the peer says is believed on the new machine as it was on the old one.
  await wire.json("scribe", "send", "welcome back");
  await until("forge has it", () => {
    return wire.privateLines("forge", "inbox").some(({ subject }) => subject === "welcome back");
  });
  const doctor = await wire.run("forge", "doctor");
  expect([doctor.code, doctor.stdout]).toEqual([0, expect.any(String)]);
});

it("refuses while the daemon runs, and without the newer state's loss being accepted", async () => {
  const wire = makeWire();
  const forge = await wire.daemon("forge");
  await wire.daemon("scribe");
  const file = await backUp(wire);
  const restore = ["restore", file, "--passphrase-file", secretFile(wire)];
  await wire.json("forge", "trust", "block", "scribe", ...CONSENT);
  const busy = await wire.run("forge", ...restore);
  expect(busy.stderr).toMatch(/the daemon with pid \d+ has the identity of forge/);
  expect(busy.code).toBe(5);
  expect((await forge.stop()).code).toBe(0);

  const older = await wire.run("forge", ...restore);
  expect(older.stderr).toContain("this backup is older than what is here");
  expect(older.stderr).toMatch(/the trust store of the backup has version \d+; version \d+ was/);
  expect(older.code).toBe(1);
  const wanted = await wire.run("forge", ...restore, "--accept-older");
  expect(wanted.stderr).toContain("is the operator's to decide");

  await wire.json("forge", ...restore, "--accept-older", ...CONSENT);
  await wire.daemon("forge");
  await wire.json("forge", "reclaim", ...CONSENT);
  await wire.json("forge", "send", "still one chain");
  await until("scribe has it", () => subjects(wire).includes("still one chain"));
  expectOneChain(wire);
});

function need(program: string, skip: (reason: string) => void): void {
  const found = spawnSync("sh", ["-c", `command -v ${program}`]).status === 0;
  if (!found) skip(`${program} is not installed`);
}

it("age -d opens a backup", async ({ skip }) => {
  need("age", skip);
  need("script", skip);
  const wire = makeWire();
  const file = await backUp(wire);
  const out = join(wire.folder, "opened.json");
  // It asks on the terminal alone.
  execFileSync("script", ["-qec", `age -d -o ${out} ${file}`, "/dev/null"], {
    input: `${PASSPHRASE}\n`,
    timeout: CONDITION_LIMIT_MS,
  });
  const document = JSON.parse(readFileSync(out, "utf8")) as { handle: string; files: unknown[] };
  expect(document.handle).toBe("forge");
  expect(document.files).toContainEqual(
    expect.objectContaining({ place: "identity", name: "forge.key" }),
  );
});

it("asks on a terminal for the passphrase, twice, and shows none of it", async ({ skip }) => {
  need("script", skip);
  const wire = makeWire();
  const file = join(wire.folder, "typed.age");
  const command = `${process.execPath} ${BIN} backup ${file} --wire ${wire.dir} --as forge`;
  const asked = start("script", ["-qec", command, "/dev/null"], { env: wire.env });
  await until("it asks", () => asked.stdout().includes("Passphrase: "));
  asked.child.stdin?.write(`${PASSPHRASE}x\u007f\r`);
  await until("it asks again", () => asked.stdout().includes("once more: "));
  asked.child.stdin?.write(`${PASSPHRASE}\r`);
  const { code, stdout } = await asked.ended;
  expect([code, stdout]).toEqual([0, expect.stringContaining("It holds your private key")]);
  expect(stdout).not.toContain("herons");
  lose(wire);
  const back = `${process.execPath} ${BIN} restore ${file} --wire ${wire.dir}`;
  const again = start("script", ["-qec", back, "/dev/null"], { env: wire.env });
  await until("it asks", () => again.stdout().includes("Passphrase: "));
  again.child.stdin?.write(`${PASSPHRASE}\r`);
  const ended = await again.ended;
  expect([ended.code, ended.stdout]).toEqual([0, expect.stringContaining("is restored as of")]);
});
