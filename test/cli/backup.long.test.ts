import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { Encrypter } from "age-encryption";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { collectBackup } from "../../src/setup/backup/backup.ts";
import { unseal } from "../../src/setup/backup/sealed-file.ts";
import { agentPathsOn } from "../../src/setup/host.ts";
import {
  MAX_FILE_BYTES,
  parseBackup,
  serialiseBackup,
  type Backup,
} from "../../src/storage/private/backup-file.ts";
import type { AgentPaths } from "../../src/storage/paths.ts";
import { composeLine } from "../../src/wire/compose.ts";
import { keyId, makeSigner, publicKeyOf, type Signer } from "../../src/wire/signature.ts";
import { newMachine, type Machine } from "../setup/machine.ts";
import { run as runCli } from "./fake-cli.ts";
import { BY_FLAGS, commandsOn } from "./on-machine.ts";

const PASSPHRASE = "seven blue herons walk home";
const WITH = { DEADDROP_PASSPHRASE: PASSPHRASE };

let machine: Machine;
let paths: AgentPaths;
let file: string;
const { json } = commandsOn(() => machine);

beforeEach(async () => {
  machine = newMachine();
  await json("init", "--me", "forge", "--peer", "scribe", "--local-pair");
  const { wire_id: id } = JSON.parse(
    readFileSync(join(machine.wireDir, "config.json"), "utf8"),
  ) as { wire_id: string };
  paths = agentPathsOn(machine.host, { wireDir: machine.wireDir, handle: "forge", wireId: id });
  file = join(machine.root, "forge.age");
});
afterEach(() => machine.remove());

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** As forge, with these words typed on a terminal when `typed` is given. */
async function run(
  args: readonly string[],
  env: NodeJS.ProcessEnv = WITH,
  typed?: string,
): Promise<Outcome> {
  const outside = {
    env: { ...machine.env, DEADDROP_WIRE: undefined, DEADDROP_AS: undefined, ...env },
    cwd: machine.root,
    nowMs: Date.now(),
    ...(typed === undefined ? {} : { tty: true, stdin: typed }),
  };
  const { exitCode, stdout, stderr } = await runCli([...args, "--wire", machine.wireDir], outside);
  return { code: exitCode, stdout, stderr };
}

const backUp = (...flags: string[]) => run(["backup", file, "--as", "forge", ...flags]);
const restore = (...flags: string[]) => run(["restore", file, "--json", ...flags]);

async function opened(): Promise<Backup> {
  const parsed = parseBackup(await unseal(readFileSync(file), PASSPHRASE, file));
  if (!parsed.ok) throw new Error(parsed.detail);
  return parsed.backup;
}

/** As `backup` does, but sealed so that it is opened in no time. */
async function quickBackUp(change: (backup: Backup) => Backup = (backup) => backup): Promise<void> {
  const about = { wireId: paths.wireKey, nowMs: Date.now() };
  const backup = change(collectBackup(machine.host.disk, paths, about));
  writeFileSync(file, await quickSeal(serialiseBackup(backup)));
}

async function quickSeal(bytes: Uint8Array): Promise<Uint8Array> {
  const encrypter = new Encrypter();
  encrypter.setScryptWorkFactor(4);
  encrypter.setPassphrase(PASSPHRASE);
  return await encrypter.encrypt(bytes);
}

/** The first line of forge's log. */
function lineBy(signer: Signer): Uint8Array {
  const draft = { to: ["scribe"], type: "feedback", subject: "hello", body: "" };
  const at = { timestamp: "2026-06-01T09:00:00.000000Z", log: "forge_to_scribe" };
  const place = { ...at, wireId: paths.wireKey, head: undefined };
  return Buffer.concat([composeLine(draft, place, signer).line, Buffer.from("\n")]);
}

function lose(): void {
  for (const path of [
    paths.configDir,
    paths.stateDir,
    paths.identity.key,
    paths.identity.publicKey,
  ]) {
    rmSync(path, { recursive: true });
  }
}

async function expectRefused(
  outcome: Promise<Outcome>,
  message: string | RegExp,
  exitCode = 1,
): Promise<void> {
  const before = machine.picture();
  const { code, stdout, stderr } = await outcome;
  expect(stderr).toMatch(message);
  expect([code, stdout]).toEqual([exitCode, ""]);
  expect(machine.picture()).toEqual(before);
}

describe("backup", () => {
  it("holds the keys and the private folder, whatever is there, and no lock, inbox or journal", async () => {
    writeFileSync(join(paths.configDir, "spare.key"), new Uint8Array(32).fill(5), {
      mode: 0o600,
    });
    writeFileSync(join(paths.configDir, "trust.lock"), "");
    writeFileSync(join(paths.identity.folder, "forge.key.1a2b3c4d.old"), new Uint8Array(32));
    writeFileSync(paths.inbox, "{}\n");
    const { code, stdout } = await backUp("--json");
    expect(code).toBe(0);
    const report = JSON.parse(stdout) as { files: string[]; store_version: number };
    expect(report.files).toEqual([
      "identity/forge.key",
      "identity/forge.key.1a2b3c4d.old",
      "identity/forge.pub.json",
      "config/config.json",
      "config/pairing.json",
      "config/spare.key",
      "config/tiers.json",
      "config/trust.json",
      "config/wire.json",
      "state/trust_seen.json",
    ]);
    const backup = await opened();
    expect(backup).toMatchObject({
      handle: "forge",
      wireKey: paths.wireKey,
      wireId: paths.wireKey,
    });
    const key = backup.files.find(({ name }) => name === "forge.key")?.bytes;
    expect(key).toEqual(readFileSync(paths.identity.key));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file).includes(Buffer.from(key ?? []))).toBe(false);
  });

  it("overwrites nothing without --force, and leaves nothing half-written", async () => {
    writeFileSync(file, "precious");
    await expectRefused(backUp(), "exists already; nothing was written");
    expect((await backUp("--force")).code).toBe(0);
    expect((await opened()).handle).toBe("forge");
    expect(readdirSync(machine.root).filter((name) => name.includes(".new"))).toEqual([]);
  });

  it("is not written where peers read, into a folder that is not there, or over one", async () => {
    const to = (where: string) => run(["backup", where, "--as", "forge"]);
    await expectRefused(to(join(machine.wireDir, "x.age")), "is in the wire's folder");
    await expectRefused(to(join(machine.root, "no", "x.age")), "no such folder");
    await expectRefused(to(machine.root), "is a folder");
  });

  it("refuses a passphrase that is weak, missing, or in a file that others can read", async () => {
    const args = ["backup", file, "--as", "forge"];
    await expectRefused(run(args, { DEADDROP_PASSPHRASE: "short" }), "has 5 characters");
    await expectRefused(run(args, { DEADDROP_PASSPHRASE: "aaaaaaaaaaaaaa" }), "repeats itself");
    await expectRefused(run(args, {}), "there is no terminal to ask");
    const secret = join(machine.root, "secret");
    await expectRefused(run([...args, "--passphrase-file", secret]), "no such file");
    writeFileSync(secret, `${PASSPHRASE}\r\nand more`);
    chmodSync(secret, 0o644);
    const open = await run([...args, "--passphrase-file", secret]);
    expect([open.code, open.stderr]).toEqual([2, expect.stringContaining(`chmod 600 ${secret}`)]);
    chmodSync(secret, 0o600);
    // The file goes before the environment.
    const env = { DEADDROP_PASSPHRASE: "another one altogether" };
    expect((await run([...args, "--passphrase-file", secret], env)).code).toBe(0);
    expect((await opened()).handle).toBe("forge");
  });

  it("asks twice on a terminal, and takes only the same", async () => {
    const args = ["backup", file, "--as", "forge"];
    await expectRefused(run(args, {}, "short\r"), "has 5 characters");
    await expectRefused(
      run(args, {}, `${PASSPHRASE}\r${PASSPHRASE}!\r`),
      "the two passphrases differ",
    );
    await expectRefused(run(args, {}, `${PASSPHRASE}\u0003`), "interrupted; nothing was written");
    const typed = `wrong\u0015${PASSPHRASE}x\u007f\r${PASSPHRASE}\r`;
    const { code, stderr } = await run(args, {}, typed);
    expect([code, stderr]).toEqual([0, "Passphrase: \nThe same once more: \n"]);
    expect((await opened()).handle).toBe("forge");
  });

  it("is not made of what could not be restored", async () => {
    writeFileSync(paths.pairing, "{", { mode: 0o600 });
    await expectRefused(backUp(), "pairing.json");
    expect(existsSync(file)).toBe(false);
  });
});

describe("restore", () => {
  it("puts everything back on a fresh machine, private, and for another path of the wire", async () => {
    const before = machine.picture();
    await quickBackUp();
    lose();
    const moved = join(machine.root, "moved");
    mkdirSync(moved);
    for (const name of ["config.json", "tiers.json", "PROTOCOL.md"]) {
      writeFileSync(join(moved, name), readFileSync(join(machine.wireDir, name)));
    }
    const env = { ...WITH, DEADDROP_WIRE: moved };
    const outside = { env: { ...machine.env, DEADDROP_AS: "forge", ...env }, cwd: machine.root };
    const answer = await runCli(["restore", file, "--json"], { ...outside, nowMs: Date.now() });
    expect(answer.stderr).toBe("");
    expect(JSON.parse(answer.stdout)).toMatchObject({ went_back: [], kept_keys: [] });
    const after = machine.picture();
    for (const [path, content] of Object.entries(before)) {
      if (!/^(config|state)\//.test(path) || !path.includes("forge")) continue;
      // Nonces that nobody had seen at the time of the backup may be known by now: others are drawn.
      if (/wire\.json$|pairing\.json$|\.lock$|operator\.jsonl$|mark$/.test(path)) continue;
      expect([path, after[path]]).toEqual([path, content]);
    }
    expect(JSON.parse(readFileSync(paths.remembered, "utf8"))).toEqual({
      wire_dir: moved,
      wire_id: paths.wireKey,
    });
  });

  it("refuses a wrong passphrase, a damaged file and a foreign one, and writes nothing", async () => {
    await quickBackUp();
    lose();
    const args = ["restore", file, "--as", "forge"];
    const wrong = { DEADDROP_PASSPHRASE: "some other passphrase" };
    await expectRefused(run(args, wrong), "the passphrase is wrong; nothing was written");
    await expectRefused(run(["restore", "nothing.age"]), "no such file");
    const whole = readFileSync(file);
    for (const at of [whole.length - 1, whole.length - 2_000]) {
      const damaged = Buffer.from(whole);
      damaged[at] = (damaged[at] ?? 0) ^ 1;
      writeFileSync(file, damaged);
      await expectRefused(run(args), /is damaged \(.*\); nothing was written/);
    }
    writeFileSync(file, whole.subarray(0, whole.length - 40));
    await expectRefused(run(args), "is damaged");
    writeFileSync(file, "# not a backup\n");
    await expectRefused(run(args), "it does not begin as an age file");
    writeFileSync(file, "age-encryption.org/v1\n-> X25519 abc\n");
    await expectRefused(run(args), "is encrypted to a key");
    writeFileSync(file, await quickSeal(Buffer.from(`{"format":"x"}`)));
    await expectRefused(run(args), "is no backup of deaddrop");
  });

  it("refuses another agent, another wire, and files that say nothing", async () => {
    await quickBackUp();
    await expectRefused(
      run(["restore", file, "--as", "scribe"]),
      /a backup of forge, not of scribe\n.*restore it with --as forge, or give the backup of scribe/,
    );
    await quickBackUp((backup) => ({ ...backup, wireId: "other", wireKey: "other" }));
    await expectRefused(run(["restore", file]), "is another wire than that of the backup");
    await quickBackUp((backup) => ({
      ...backup,
      files: backup.files.map((each) =>
        each.name === "trust.json" ? { ...each, bytes: Buffer.from("{}") } : each,
      ),
    }));
    await expectRefused(run(["restore", file]), "the backup: trust.json: this is no private store");
  });

  it("says how to go on where the wire's folder is missing", async () => {
    await quickBackUp();
    rmSync(machine.wireDir, { recursive: true });
    const command = `then deaddrop backup restore ${file} --wire FOLDER --as forge`;
    await expectRefused(restore(), command, 2);
  });

  it("does not go back in time unless it is told, and then forgets nothing", async () => {
    await quickBackUp();
    const trust = JSON.parse(readFileSync(paths.trust, "utf8")) as { version: number };
    const keyOf = () => JSON.parse(readFileSync(paths.trust, "utf8")) as TrustFile;
    const id = keyOf().agents["scribe"]?.public_keys[0]?.key_id ?? "";
    await json("trust", "block", "scribe", "--as", "forge", ...BY_FLAGS);
    await expectRefused(
      restore(),
      new RegExp(`backup has version ${trust.version}; version \\d+ was seen`),
    );
    await expectRefused(restore("--accept-older"), "is the operator's to decide");
    const { code, stdout } = await restore("--accept-older", ...BY_FLAGS);
    expect(code).toBe(0);
    expect((JSON.parse(stdout) as { went_back: string[] }).went_back).toHaveLength(1);
    const restored = keyOf();
    expect(restored.version).toBeGreaterThan(trust.version);
    expect(restored.agents["scribe"]).toMatchObject({
      blocked: true,
      public_keys: [{ key_id: id, active: true }],
    });
    const journal = readFileSync(paths.operatorJournal, "utf8").trim().split("\n");
    expect(JSON.parse(journal.at(-1) ?? "")).toMatchObject({ action: "restore", consent: "flags" });
  });

  it("a store that is lost, but not the version that was seen, rises above it", async () => {
    await quickBackUp();
    writeFileSync(paths.trustSeen, '{"version":40}\n');
    rmSync(paths.trust);
    await expectRefused(restore(), /version 40 was seen here/);
    expect((await restore("--accept-older", ...BY_FLAGS)).code).toBe(0);
    expect(JSON.parse(readFileSync(paths.trust, "utf8"))).toMatchObject({ version: 41 });
    expect(JSON.parse(readFileSync(paths.trustSeen, "utf8"))).toEqual({ version: 41 });
    await json("trust", "list", "--as", "forge");
  });

  it("damaged files here are fixed, once their loss is accepted", async () => {
    await quickBackUp();
    writeFileSync(paths.trust, "{");
    await expectRefused(restore(), "trust.json here cannot be read");
    expect((await restore("--accept-older", ...BY_FLAGS)).code).toBe(0);
  });

  it("puts no other key in the place of one that is here, unless it is told, and keeps that", async () => {
    await quickBackUp();
    const backedUp = readFileSync(paths.identity.key);
    const other = new Uint8Array(32).fill(9);
    writeFileSync(paths.identity.key, other);
    rmSync(paths.identity.publicKey);
    await expectRefused(restore(), `another key is here (${keyId("forge", publicKeyOf(other))})`);
    await expectRefused(restore("--replace-key"), "is the operator's to decide");
    const { code, stdout } = await restore("--replace-key", ...BY_FLAGS);
    expect(code).toBe(0);
    const [kept = ""] = (JSON.parse(stdout) as { kept_keys: string[] }).kept_keys;
    expect(kept).toBe(`${paths.identity.key}.${keyId("forge", publicKeyOf(other)).slice(6)}.old`);
    expect(new Uint8Array(readFileSync(kept))).toEqual(other);
    expect(readFileSync(paths.identity.key)).toEqual(backedUp);
    const who = await json<{ key_id: string }[]>("trust", "list", "--as", "scribe");
    expect(who[0]).toBeDefined();
  });

  it("a rotation's keys are guarded like the agent's own", async () => {
    const spare = join(paths.configDir, "spare.key");
    writeFileSync(spare, new Uint8Array(32).fill(5), { mode: 0o600 });
    await quickBackUp();
    writeFileSync(spare, new Uint8Array(32).fill(6));
    await expectRefused(restore(), `${spare}: another key is here`);
    expect((await restore("--replace-key", ...BY_FLAGS)).code).toBe(0);
    expect(new Uint8Array(readFileSync(spare))).toEqual(new Uint8Array(32).fill(5));
    const kept = readdirSync(paths.configDir).filter((name) =>
      /^spare\.key\.\w{8}\.old$/.test(name),
    );
    expect(kept).toHaveLength(1);
  });

  it("reads no file here that is neither in the backup nor a key", async () => {
    await quickBackUp();
    writeFileSync(join(paths.configDir, "stray"), "");
    truncateSync(join(paths.configDir, "stray"), MAX_FILE_BYTES + 1);
    expect((await restore()).code).toBe(0);
  });

  it("names a key file here that cannot be read, and goes on once that is accepted", async () => {
    await quickBackUp();
    const damaged = join(paths.configDir, "spare.key");
    writeFileSync(damaged, "", { mode: 0o600 });
    truncateSync(damaged, MAX_FILE_BYTES + 1);
    await expectRefused(restore(), `${damaged} here cannot be read`);
    expect((await restore("--accept-older", ...BY_FLAGS)).code).toBe(0);
  });

  it("does not sign on after lines that a key has signed which the backup does not have", async () => {
    await quickBackUp();
    const log = join(machine.wireDir, "forge_to_scribe.jsonl");
    const other = makeSigner("forge", new Uint8Array(32).fill(9));
    appendFileSync(log, lineBy(other));
    const message = /lines of forge are signed with .*forge:[0-9a-f]{8}.*, a key not in the backup/;
    await expectRefused(restore(), message);
    lose();
    await expectRefused(restore(), message);
    expect((await restore("--accept-older", ...BY_FLAGS)).code).toBe(0);
  });

  it("leaves the key without a mark, so nothing is signed before the operator says so", async () => {
    await quickBackUp();
    lose();
    expect((await restore()).code).toBe(0);
    expect([existsSync(paths.mark), existsSync(paths.identity.mark)]).toEqual([false, false]);
  });

  it("says that policy or settings here are others than in the backup", async () => {
    writeFileSync(paths.settings, '{"guard.strict":true}', { mode: 0o600 });
    await quickBackUp();
    writeFileSync(paths.settings, "{}", { mode: 0o600 });
    await expectRefused(restore(), "settings.json here is another one, and would be replaced");
  });

  it("says so when there is nothing to do", async () => {
    await quickBackUp();
    const { code, stdout } = await restore();
    expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ written: [] })]);
    const told = await run(["restore", file]);
    expect(told.stdout).toContain("forge: everything is as the backup has it already");
  });
});

interface TrustFile {
  readonly version: number;
  readonly agents: Readonly<
    Record<string, { readonly public_keys: readonly { readonly key_id: string }[] }>
  >;
}
