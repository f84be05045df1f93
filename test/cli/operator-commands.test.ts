import type { TroubleView } from "../../src/api/troubles.ts";
import type { Check } from "../../src/setup/checks/host-checks.ts";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  truncateSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { newMachine, type Machine } from "../setup/machine.ts";
import { run as runCli } from "./fake-cli.ts";
import { openClient } from "../../src/client/open-client.ts";
import { BY_FLAGS, commandsOn } from "./on-machine.ts";

let machine: Machine;
const { run, json } = commandsOn(() => machine);
beforeEach(() => {
  machine = newMachine();
});
afterEach(() => {
  machine.remove();
});

interface TrustRow {
  handle: string;
  tier: string | null;
  held: { cause: string } | null;
  keys: { key_id: string; key: string; fingerprint: string; active: boolean }[];
  drift: { cause: string }[];
}

async function trustOf(self: string, handle: string): Promise<TrustRow> {
  const rows = await json<TrustRow[]>("trust", "list", "--as", self);
  const row = rows.find((each) => each.handle === handle);
  if (row === undefined) throw new Error(`no row for ${handle}`);
  return row;
}

async function fingerprintOf(handle: string): Promise<string> {
  return (await trustOf(handle, handle)).keys[0]?.fingerprint ?? "";
}

function stateFile(handle: string, name: string): string {
  const base = join(machine.root, "state", "inter-agent-deaddrop");
  return join(base, readdirSync(base)[0] ?? "", handle, name);
}

function configFile(handle: string, name: string): string {
  const base = join(machine.root, "config", "inter-agent-deaddrop");
  const wire = readdirSync(base).find((each) => /^[0-9a-f]{16}$/.test(each));
  return join(base, wire ?? "", handle, name);
}

async function pair(): Promise<void> {
  await json("init", "--me", "forge", "--peer", "scribe");
  await json("join", "--me", "scribe");
}

describe("init and join", () => {
  it("tell each side what to run next, in words to copy", async () => {
    const made = await run("init", "--my-handle", "forge", "--peer-handle", "scribe");
    expect(made.code).toBe(0);
    expect(made.stdout).toContain(`deaddrop join ${machine.wireDir} --me scribe --peer forge\n`);
    const joined = await run("join", machine.wireDir, "--me", "scribe", "--peer", "forge");
    const digits = `deaddrop trust sas forge --wire ${machine.wireDir} --as scribe\n`;
    expect(joined.stdout).toContain(digits);
    expect(joined.stdout).toContain("forge is pinned at UNTRUSTED with forge:");
  });

  it.each([
    [["init", "--peer", "scribe"], 1, "who are you on this wire?"],
    [["init", "--me", "forge"], 1, "a wire needs two agents at least"],
    [["init", "--me", "forge", "--peer", "FORGE"], 2, "differs from"],
    [["init", "--me", "-forge", "--peer", "scribe"], 2, "is not a handle"],
    [["init", "--me", "a", "--peer", "b", "--peer-key", "nothing"], 1, "neither a key in base64"],
    [
      ["init", "--me", "a", "--peer", "b", "--peer", "c", "--peer-key", "k"],
      1,
      "--peer-key k: whose key is it?",
    ],
    [["init", "--me", "a", "--peer", "b", "--local-pair", "--peer-key", "k"], 1, "makes all keys"],
    [["init", "--me", "a", "--peer", "b", "--local-pair", "--group", "0"], 1, "exclude each other"],
    [["join", "--me", "scribe"], 2, "no wire here"],
    [["join", ".", "--me", "scribe"], 2, "is not a wire"],
    [["join", "ext::sh -c id", "--me", "scribe"], 1, "spaces or control characters"],
    [["join", "ext::id", "--me", "scribe"], 1, "names a program"],
    [["join", "https://me:secret@example.org/x.git", "--me", "scribe"], 1, "holds a password"],
    [["init", "--me", "a", "--peer", "b", "--remote", "-x"], 1, 'begins with "-"'],
    [["init", "--me", "a", "--peer", "b", "--local-pair", "--remote", "/x"], 1, "one machine"],
    [["transport", "switch", "git"], 1, "git needs a remote"],
    [["transport", "switch", "pigeon"], 1, "is no transport"],
  ])("refuse %j", async (args, code, message) => {
    const answer = await run(...args);
    expect(answer.stderr).toContain(message);
    expect([answer.code, answer.stdout]).toEqual([code, ""]);
  });

  it("take a peer's key with its handle or, where there is one peer, without", async () => {
    await run("keygen", "scribe");
    const file = join(machine.root, "config", "inter-agent-deaddrop", "scribe.pub.json");
    await json("init", "--me", "forge", "--peer", "scribe", "--peer-key", file);
    expect((await trustOf("forge", "scribe")).tier).toBe("UNTRUSTED");
    const { key } = JSON.parse(readFileSync(file, "utf8")) as { key: string };
    await json("init", "--me", "forge", "--peer", "scribe", "--peer-key", `scribe=${key}`);
    await json("init", "--me", "forge", "--peer", "scribe", "--peer-key", key);
  });
});

describe("keygen", () => {
  it("makes a key that only its user can read, and never overwrites it", async () => {
    const made = await json<{ key_id: string; private_key: string }>("keygen", "forge");
    expect(statSync(made.private_key).mode & 0o777).toBe(0o600);
    const before = readFileSync(made.private_key);
    const again = await run("keygen", "forge");
    expect(again.code).toBe(1);
    expect(again.stderr).toContain(`"forge" has a key already; nothing was changed`);
    expect(readFileSync(made.private_key)).toEqual(before);
  });

  it("refuses what is no handle", async () => {
    const { code, stderr } = await run("keygen", "con");
    expect(code).toBe(1);
    expect(stderr).toContain(`"con" is a reserved name on Windows`);
  });
});

describe("trust pin", () => {
  it("wants an operator", async () => {
    await pair();
    const { code, stderr } = await run("trust", "pin", "forge", "--as", "scribe");
    expect(code).toBe(1);
    expect(stderr).toContain("is the operator's to decide");
    expect((await trustOf("scribe", "forge")).tier).toBe("UNTRUSTED");
  });

  it("wants the fingerprint of a key that the wire claims, and takes it however it is grouped", async () => {
    await pair();
    const pin = ["trust", "pin", "forge", "--as", "scribe", "--tier", "VERIFIED", ...BY_FLAGS];
    const without = await run(...pin);
    expect([without.code, without.stderr]).toEqual([
      1,
      expect.stringContaining("--yes needs --fingerprint here"),
    ]);
    const wrong = await run(...pin, "--fingerprint", "0".repeat(64));
    expect(wrong.stderr).toContain("the key of forge has another fingerprint");
    expect((await trustOf("scribe", "forge")).tier).toBe("UNTRUSTED");
    const spelled = (await fingerprintOf("forge")).toUpperCase().replace(/(.{4})/g, "$1 ");
    expect((await run(...pin, "--fingerprint", spelled)).code).toBe(0);
    expect(await trustOf("scribe", "forge")).toMatchObject({ tier: "VERIFIED", drift: [] });
    const [entry] = readFileSync(stateFile("scribe", "operator.jsonl"), "utf8").trim().split("\n");
    expect(JSON.parse(entry ?? "")).toMatchObject({
      action: "trust pin",
      target: expect.stringMatching(/^forge:[0-9a-f]{8} VERIFIED$/),
      consent: "flags",
      reason: "a test",
    });
  });

  it("reaches TRUSTED from ATTESTED only, and records nothing that was refused", async () => {
    await pair();
    const fingerprint = ["--fingerprint", await fingerprintOf("forge")];
    const pin = (tier: string) =>
      run("trust", "pin", "forge", "--as", "scribe", "--tier", tier, ...BY_FLAGS, ...fingerprint);
    expect((await pin("TRUSTED")).stderr).toContain("TRUSTED is reached from ATTESTED only");
    expect(() => readFileSync(stateFile("scribe", "operator.jsonl"))).toThrow("ENOENT");
    expect((await pin("ATTESTED")).code).toBe(0);
    expect((await pin("TRUSTED")).code).toBe(0);
    expect((await trustOf("scribe", "forge")).tier).toBe("TRUSTED");
    expect((await pin("UNTRUSTED")).code).toBe(0);
    expect((await trustOf("scribe", "forge")).tier).toBe("UNTRUSTED");
  });

  it("refuses a stranger, and ourselves", async () => {
    await pair();
    const stranger = await run("trust", "pin", "mason", "--as", "scribe", ...BY_FLAGS);
    expect(stranger.stderr).toContain(`no peer "mason" here`);
    const self = await run("trust", "pin", "scribe", "--as", "scribe", ...BY_FLAGS);
    expect(self.stderr).toContain("your own key needs no pin");
  });

  it("believes an unsigned peer by the operator's decision", async () => {
    await json("init", "--me", "forge", "--peer", "scribe");
    // It has no key and writes no card: the wire is all that it shares with us.
    rmSync(join(machine.wireDir, "trust", "forge.card.json"));
    await json("join", "--me", "scribe");
    const unsigned = ["--unsigned", "--tier", "VERIFIED", ...BY_FLAGS];
    expect((await run("trust", "pin", "forge", "--as", "scribe", ...unsigned)).code).toBe(0);
    expect(await trustOf("scribe", "forge")).toMatchObject({ tier: "VERIFIED", keys: [] });
  });
});

describe("trust revoke", () => {
  it("stops a key and holds its agent, until a new key of it is pinned", async () => {
    await json("init", "--me", "forge", "--peer", "scribe", "--local-pair");
    const [old] = (await trustOf("scribe", "forge")).keys;
    const keyId = old?.key_id ?? "";
    const live = commandsOn(() => machine, { openClient });
    const revoked = await live.run("trust", "revoke", keyId, "--as", "scribe", ...BY_FLAGS);
    expect([revoked.code, revoked.stderr]).toEqual([0, ""]);
    const row = await trustOf("scribe", "forge");
    expect([row.held?.cause, row.keys[0]?.active, row.drift[0]?.cause]).toEqual([
      "key_revoked",
      false,
      "deactivated",
    ]);
    const back = await run("trust", "pin", "forge", old?.key ?? "", "--as", "scribe", ...BY_FLAGS);
    expect(back.stderr).toContain(`${keyId} was deactivated and does not come back`);
    const other = await json<{ key: string; fingerprint: string }>("keygen", "other");
    const pin = ["trust", "pin", "forge", other.key, "--as", "scribe", ...BY_FLAGS];
    expect((await run(...pin)).code).toBe(0);
    const unproved = await trustOf("scribe", "forge");
    expect([unproved.tier, unproved.held?.cause]).toEqual(["UNTRUSTED", "key_revoked"]);
    expect((await run(...pin, "--fingerprint", other.fingerprint)).code).toBe(0);
    const after = await trustOf("scribe", "forge");
    expect(after.keys.map(({ active }) => active)).toEqual([false, true]);
    expect([after.tier, after.held]).toEqual(["UNTRUSTED", null]);
  });

  it("names the keys that are pinned when there is no such key, and never stops our own", async () => {
    await json("init", "--me", "forge", "--peer", "scribe", "--local-pair");
    const none = await run("trust", "revoke", "forge:00000000", "--as", "scribe", ...BY_FLAGS);
    expect([none.code, none.stderr]).toEqual([
      1,
      expect.stringMatching(
        /no key forge:00000000 is pinned\n {2}pinned here: forge:[0-9a-f]{8}\n/,
      ),
    ]);
    const [own] = (await trustOf("scribe", "scribe")).keys;
    const self = await run("trust", "revoke", own?.key_id ?? "", "--as", "scribe", ...BY_FLAGS);
    expect(self.stderr).toContain("is your own key");
  });
});

describe("trust import", () => {
  const V30 = () => {
    const wire = JSON.parse(readFileSync(join(machine.wireDir, "trust.json"), "utf8")) as {
      agents: Record<string, { public_keys: unknown }>;
    };
    const agents = Object.entries(wire.agents).map(([handle, { public_keys }]) => [
      `did:wire:${handle}`,
      { public_keys },
    ]);
    writeFileSync(
      join(machine.root, "old.json"),
      JSON.stringify({ version: 1, agents: Object.fromEntries(agents) }),
    );
  };

  it.each([
    [[], "UNTRUSTED"],
    [["--accept-wire-trust"], "ATTESTED"],
  ])("takes a v3.0 file with %j at %s, and never a key for ourselves", async (flags, tier) => {
    await pair();
    V30();
    const args = ["trust", "import", "old.json", "--as", "scribe", ...flags, ...BY_FLAGS];
    expect((await run(...args)).code).toBe(0);
    expect((await trustOf("scribe", "forge")).tier).toBe(tier);
    const store = JSON.parse(readFileSync(configFile("scribe", "trust.json"), "utf8")) as {
      agents: object;
    };
    expect(Object.keys(store.agents)).toEqual(["forge"]);
    const before = machine.picture();
    expect((await run(...args)).stdout).toContain("forge: pinned already; unchanged");
    expect(machine.picture()).toEqual(before);
  });

  it("refuses a file that is none", async () => {
    await pair();
    const missing = await run("trust", "import", "none.json", "--as", "scribe", ...BY_FLAGS);
    expect(missing.stderr).toContain("none.json: no such file");
    writeFileSync(join(machine.root, "bad.json"), `{"schema_version":"v9"}`);
    const bad = await run("trust", "import", "bad.json", "--as", "scribe", ...BY_FLAGS);
    expect([bad.code, bad.stderr]).toEqual([
      1,
      expect.stringContaining(`schema_version is "v9"; expected "v3.1"`),
    ]);
  });
});

describe("config", () => {
  it("sets, shows and unsets settings", async () => {
    await pair();
    const key = "guard.strict";
    const refused = await run("config", "set", key, "true", "--as", "scribe");
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("the operator's")]);
    await json("config", "set", key, "true", "--as", "scribe", ...BY_FLAGS);
    const journal = readFileSync(stateFile("scribe", "operator.jsonl"), "utf8");
    expect(journal).toContain('"target":"guard.strict"');
    expect((await run("config", "get", key, "--as", "scribe")).stdout).toBe("true\n");
    await json("config", "unset", key, "--as", "scribe", ...BY_FLAGS);
    expect(await json("config", "get", key, "--as", "scribe")).toEqual({ key, value: false });
    const wrong = await run("config", "set", key, "maybe", "--as", "scribe");
    expect([wrong.code, wrong.stderr]).toEqual([
      1,
      expect.stringContaining("is not true or false"),
    ]);
    const unknown = await run("config", "get", "colour", "--as", "scribe");
    expect(unknown.stderr).toContain(`there is no setting "colour"`);
  });

  it("takes what an editor leaves, if it can be read", async () => {
    await pair();
    const editor = join(machine.root, "editor.sh");
    const write = (text: string) => {
      writeFileSync(editor, `#!/bin/sh\nprintf '%s' '${text}' > "$1"\n`, { mode: 0o755 });
    };
    const edit = (env: NodeJS.ProcessEnv) =>
      runCli(["config", "edit", "--as", "scribe"], {
        env: { ...machine.env, DEADDROP_WIRE: undefined, ...env },
        cwd: machine.root,
      });
    expect((await edit({ EDITOR: undefined, VISUAL: undefined })).stderr).toContain("no editor");
    write(`{"heartbeat.show_last_action": false}`);
    expect((await edit({ EDITOR: editor })).exitCode).toBe(0);
    const get = () => run("config", "get", "heartbeat.show_last_action", "--as", "scribe");
    expect((await get()).stdout).toBe("false\n");
    write(`{"heartbeat.show_last_action": "no"}`);
    const refused = await edit({ EDITOR: editor });
    expect([refused.exitCode, refused.stderr]).toEqual([
      2,
      expect.stringContaining("heartbeat.show_last_action must be true or false"),
    ]);
    const gone = await edit({ EDITOR: "rm" });
    expect([gone.exitCode, gone.stderr]).toEqual([2, expect.stringContaining("(reading)")]);
    write("{");
    const torn = await edit({ EDITOR: editor });
    expect(torn.stderr).toContain("that is not JSON; nothing was changed");
    for (const [{ stderr }, typed] of [
      [refused, `{"heartbeat.show_last_action": "no"}`],
      [torn, "{"],
    ] as const) {
      const [, kept = ""] = /what you typed is kept in (\S+)/.exec(stderr) ?? [];
      expect(readFileSync(kept, "utf8")).toBe(typed);
      rmSync(dirname(kept), { recursive: true });
    }
    expect((await get()).stdout).toBe("false\n");
  });

  it("keeps what was set while the editor was open", async () => {
    await pair();
    const { file } = await json<{ file: string }>("config", "list", "--as", "scribe");
    const [mine, meanwhile] = ["heartbeat.show_last_action", "guard.strict"];
    const editor = join(machine.root, "editor.sh");
    const lines = [
      "#!/bin/sh",
      `printf '%s' '{"${meanwhile}": true}' > '${file}'`,
      `printf '%s' '{"${mine}": false}' > "$1"`,
    ];
    writeFileSync(editor, lines.join("\n"), { mode: 0o755 });
    const { exitCode } = await runCli(["config", "edit", "--as", "scribe"], {
      env: { ...machine.env, DEADDROP_WIRE: undefined, EDITOR: editor },
      cwd: machine.root,
    });
    expect(exitCode).toBe(0);
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({ [mine]: false, [meanwhile]: true });
  });

  it("shows how the wire differs from what was accepted, and applies it when the operator agrees", async () => {
    await pair();
    const path = join(machine.wireDir, "config.json");
    const text = readFileSync(path, "utf8").replace(
      '"enforce_signed": true',
      '"enforce_signed": false',
    );
    writeFileSync(path, text);
    const accept = ["config", "accept", "--as", "scribe"];
    const pinned = () => readFileSync(configFile("scribe", "config.json"), "utf8");
    expect((await run("config", "list", "--as", "scribe")).stdout).toContain("differs");
    expect((await run(...accept)).code).toBe(1);
    expect(pinned()).not.toBe(text);
    const { differences } = await json<{ differences: string[] }>(...accept, ...BY_FLAGS);
    expect(differences).toEqual([
      "v3_signing.enforce_signed: true → false",
      "WEAKER: lines that had to be signed would be taken unsigned",
    ]);
    expect(pinned()).toBe(text);
    expect((await run(...accept)).stdout).toBe("There is nothing to accept.\n");
  });

  it("does not accept a roster without us, nor a file that cannot be read", async () => {
    await pair();
    const path = join(machine.wireDir, "config.json");
    const text = readFileSync(path, "utf8");
    writeFileSync(path, text.replace('"scribe"', '"mason"'));
    const accept = ["config", "accept", "--as", "scribe", ...BY_FLAGS];
    const without = await run(...accept);
    expect([without.code, without.stderr]).toEqual([
      2,
      expect.stringContaining("roster or unchained would change within epoch 0"),
    ]);
    writeFileSync(path, text.replace("v3.1", "v4.0"));
    const later = await run(...accept);
    expect([later.code, later.stderr]).toEqual([
      2,
      expect.stringContaining(`protocol_version is "v4.0"; this program speaks v2.0, v3.0, v3.1`),
    ]);
  });
});

interface Doctor {
  ok: boolean;
  checks: Check[];
  troubles: TroubleView[];
}

describe("doctor", () => {
  async function doctor(...args: string[]) {
    const { code, stdout } = await run("doctor", "--json", ...args);
    return { code, ...(JSON.parse(stdout) as Doctor) };
  }

  it("finds nothing wrong with a local pair", async () => {
    await json("init", "--me", "forge", "--peer", "scribe", "--local-pair");
    const { code, ok, troubles } = await doctor("--as", "forge");
    expect([code, ok, troubles.map((each) => each.code)]).toEqual([0, true, []]);
  });

  it("says how large each file is, and what to do about a large one", async () => {
    await json("init", "--me", "forge", "--peer", "scribe", "--local-pair");
    const logs = { check: "size of logs", detail: "0 bytes in 2 files" };
    expect((await doctor("--as", "forge")).checks).toContainEqual(logs);
    const log = join(machine.wireDir, "incident_log.jsonl");
    writeFileSync(log, "");
    truncateSync(log, 300 * 1_048_576);
    const { troubles } = await doctor("--as", "forge");
    expect(troubles.find(({ code }) => code === "large")).toMatchObject({
      severity: "warning",
      detail: "incidents has grown: 300 MiB in 1 file",
      end: expect.stringContaining("deaddrop transport archive --compress") as string,
    });
  });

  it("answers a lost key with restore first, and no command makes another unasked", async () => {
    await json("init", "--me", "forge", "--peer", "scribe", "--local-pair");
    const keys = join(machine.root, "config", "inter-agent-deaddrop");
    for (const name of ["forge.key", "forge.pub.json"]) rmSync(join(keys, name));
    // Its key may be elsewhere: a second one is nothing to advise.
    const first = /One that was lost comes back with deaddrop backup restore <backup>(?!.*keygen)/;
    for (const args of [
      ["config", "list", "--as", "forge"],
      ["join", machine.wireDir, "--me", "forge", "--peer", "scribe"],
      ["init", "--me", "forge", "--peer", "quill", "--wire", join(machine.root, "other")],
    ]) {
      const { code, stderr } = await run(...args);
      expect([code, stderr]).toEqual([2, expect.stringMatching(first)]);
    }
    const mistyped = await run("config", "list", "--as", "scrieb");
    expect([mistyped.code, mistyped.stderr]).toEqual([
      2,
      expect.stringContaining(
        "--as takes one of the identities here: scribe. A key stays where it was made",
      ),
    ]);
    expect(existsSync(join(keys, "forge.key"))).toBe(false);
    const { troubles } = await doctor("--as", "forge");
    expect(troubles[0]?.end).toMatch(first);

    for (const name of ["scribe.key", "scribe.pub.json"]) rmSync(join(keys, name));
    const { code, stderr } = await run("status");
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining("`deaddrop backup restore <backup>`; for a new one"),
    ]);
  });

  it("says how to fix every fault", async () => {
    await pair();
    chmodSync(machine.wireDir, 0o777);
    chmodSync(join(machine.wireDir, "scribe_to_forge.jsonl"), 0o666);
    const { code, ok, troubles } = await doctor("--as", "scribe");
    expect([code, ok]).toEqual([1, false]);
    expect(troubles.map((each) => [each.code, each.end])).toEqual([
      ["writable_by_others", `chmod o-w ${machine.wireDir}`],
      [
        "peer_untrusted",
        `compare the digits with its operator by phone: deaddrop trust sas forge --wire ${machine.wireDir} --as scribe`,
      ],
    ]);
    chmodSync(machine.wireDir, 0o700);
    const [logs] = (await doctor("--as", "scribe")).troubles;
    expect(logs?.end).toBe(`chmod go-w ${join(machine.wireDir, "scribe_to_forge.jsonl")}`);
  });

  it.each([
    ["tiers.json", `{"schema_version":"v9"}`, `tiers.json: schema_version is "v9"`],
    ["config.json", "{", "config.json: "],
    ["config.json", `{"protocol_version":"v4.0"}`, `protocol_version is "v4.0"`],
  ])("names a broken %s", async (name, text, detail) => {
    mkdirSync(machine.wireDir);
    writeFileSync(join(machine.wireDir, "PROTOCOL.md"), "");
    await run("keygen", "scribe");
    writeFileSync(join(machine.wireDir, name), text);
    const { code, troubles } = await doctor("--as", "scribe", "--peer", "forge");
    expect(code).toBe(1);
    expect(troubles.map((each) => each.detail).join("\n")).toContain(detail);
  });

  it("names a store that others can write, a key that others can read, and the chmod for each", async () => {
    await json("init", "--me", "forge", "--peer", "scribe", "--local-pair");
    const store = configFile("forge", "trust.json");
    chmodSync(store, 0o666);
    const [writable] = (await doctor("--as", "forge")).troubles;
    expect(writable).toMatchObject({ severity: "error", end: `chmod 600 ${store}` });
    chmodSync(store, 0o600);
    const key = join(machine.root, "config", "inter-agent-deaddrop", "forge.key");
    chmodSync(key, 0o640);
    const [readable] = (await doctor("--as", "forge")).troubles;
    expect(readable).toMatchObject({ severity: "error", end: `chmod 600 ${key}` });
  });

  it("names a wire that is none, and a missing identity", async () => {
    expect((await doctor()).troubles[0]?.detail).toContain("no wire here");
    mkdirSync(machine.wireDir);
    expect((await doctor()).troubles[0]?.detail).toContain("no identity on this machine");
    await run("keygen", "scribe");
    const { troubles } = await doctor();
    expect(troubles[0]?.detail).toContain("it has no config.json and no logs");
  });
});
