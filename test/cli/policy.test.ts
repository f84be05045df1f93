import type { TroubleView } from "../../src/api/troubles.ts";
import type { Check } from "../../src/setup/checks/host-checks.ts";
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { newMachine, type Machine } from "../setup/machine.ts";
import { BY_FLAGS, commandsOn } from "./on-machine.ts";
import { run as runCli } from "./fake-cli.ts";

let machine: Machine;
beforeEach(() => {
  machine = newMachine();
});
afterEach(() => {
  machine.remove();
});

const { run, json } = commandsOn(() => machine);
const JOIN = ["--me", "scribe"];

type Config = Record<string, unknown>;

const path = (name: string): string => join(machine.wireDir, name);
const readConfig = (): Config => JSON.parse(readFileSync(path("config.json"), "utf8")) as Config;
const writeConfig = (changes: Config): void => {
  writeFileSync(path("config.json"), JSON.stringify({ ...readConfig(), ...changes }));
};

/** The wire as forge makes it, and as somebody changes it before scribe joins. */
async function wire(changes: Config = {}): Promise<void> {
  await json("init", "--me", "forge", "--peer", "scribe", "--wire", machine.wireDir);
  writeConfig(changes);
}

function join_(...flags: readonly string[]) {
  return run("join", machine.wireDir, ...JOIN, ...flags);
}

const WEAK = {
  v3_signing: { enforce_signed: true, allow_unsigned_from: ["forge"] },
  limits: { max_refs: 500 },
  domains: { "the core": { owner: "forge", paths: ["src/**"] } },
};
const ACCEPT = [
  ...["--accept-unsigned", "forge"],
  ...["--accept-limit", "max_refs"],
  ...["--accept-domain", "the core"],
];

interface Doctor {
  readonly checks: readonly Check[];
  readonly troubles: readonly TroubleView[];
}

/** What doctor says of the policy. */
async function doctor(...as: readonly string[]): Promise<string[]> {
  const { stdout } = await run("doctor", "--json", "--wire", machine.wireDir, ...as);
  const { checks, troubles } = JSON.parse(stdout) as Doctor;
  return [
    ...checks.filter(({ check }) => check === "policy").map(({ detail }) => `ok: ${detail}`),
    ...troubles
      .filter(({ code }) => code === "policy_weak" || code === "unsigned_taken")
      .map(({ severity, detail }) => `${severity}: ${detail}`),
  ];
}

it("a config.json as long as a daemon takes it joins and audits too", async () => {
  await wire();
  writeFileSync(path("config.json"), JSON.stringify(readConfig()) + " ".repeat(2 * 1_048_576));
  const joined = await join_();
  expect([joined.code, joined.stderr]).toEqual([0, ""]);
  expect((await run("audit", "--wire", machine.wireDir, "--as", "scribe")).code).toBe(0);
  const env = { PATH: machine.env["PATH"], HOME: machine.root, DEADDROP_AS: undefined };
  const stranger = ["audit", "--wire", machine.wireDir];
  const audit = await runCli(stranger, { env, cwd: machine.root, nowMs: Date.now() });
  expect([audit.exitCode, audit.stderr]).toEqual([0, ""]);
});

describe("the policy that a first join pins", () => {
  it("is shown", async () => {
    await wire();
    const { code, stdout } = await join_();
    expect(code).toBe(0);
    // The agents are in the first line.
    expect(stdout).toMatch(/: forge, scribe$/m);
    expect(stdout).toContain("all settings are the defaults");
    expect(await doctor("--as", "scribe")).toEqual([
      "ok: nothing that you hold on to is weaker than the defaults",
    ]);
  });

  it("is refused where it is weaker than the defaults, until each is agreed to", async () => {
    await wire(WEAK);
    const refused = await join_();
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("lines of forge need no signature");
    expect(refused.stderr).toContain("limits.max_refs is 500; the default is 64");
    expect(refused.stderr).toContain("belongs to forge");
    expect(refused.stderr).toContain(
      "--accept-unsigned forge --accept-limit max_refs --accept-domain 'the core'",
    );
    for (const at of [0, 2, 4]) {
      expect((await join_(...ACCEPT.toSpliced(at, 2))).code).toBe(1);
    }
    expect((await join_(...ACCEPT)).code).toBe(0);
    expect(await doctor("--as", "scribe")).toEqual([
      expect.stringMatching(/^warning: .*lines of forge need no signature/),
      expect.stringContaining("limits.max_refs is 500; the default is 64"),
      expect.stringContaining("belongs to forge"),
    ]);
    const journal = readFileSync(operatorJournal(), "utf8");
    expect(journal).toContain("--accept-unsigned forge");
    // Agreed to once: the copy is held.
    expect((await join_()).code).toBe(0);
  });

  it("asks on a terminal, and takes the word alone", async () => {
    await wire(WEAK);
    const asked = (stdin: string) =>
      runCli(["join", machine.wireDir, ...JOIN], {
        env: machine.env,
        cwd: machine.root,
        tty: true,
        stdin,
        nowMs: Date.now(),
      });
    const no = await asked("yes\n");
    expect(no.exitCode).toBe(1);
    expect(no.stderr).toContain("limits.max_refs is 500");
    expect((await asked("accept\n")).exitCode).toBe(0);
  });

  it("says with --dry-run in what it is weaker, and pins nothing", async () => {
    await wire(WEAK);
    const { code, stdout } = await join_("--dry-run");
    expect(code).toBe(0);
    expect(stdout).toContain("WEAKER: limits.max_refs is 500; the default is 64");
    expect((await join_()).code).toBe(1);
  });

  it("counts everybody as unsigned where signing is not enforced", async () => {
    await wire({ v3_signing: { enforce_signed: false } });
    expect((await join_()).stderr).toContain("--accept-unsigned forge");
    expect((await join_("--accept-unsigned", "mason")).code).toBe(1);
    expect((await join_("--accept-unsigned", "forge")).code).toBe(0);
  });

  it("is not pinned by a start either", async () => {
    await wire(WEAK);
    await run("keygen", "scribe");
    const { code, stderr } = await run(
      "trust",
      "list",
      "--wire",
      machine.wireDir,
      "--as",
      "scribe",
    );
    expect([code, stderr]).toEqual([2, expect.stringContaining("weaker than the defaults")]);
    expect(stderr).toContain(`deaddrop join ${machine.wireDir} --me scribe`);
  });

  it("is the defaults and an id where the wire has no file: what is changed later is a difference", async () => {
    mkdirSync(machine.wireDir);
    writeFileSync(path("PROTOCOL.md"), "by hand\n");
    const joined = await join_("--peer", "forge");
    expect([joined.code, joined.stderr]).toEqual([0, ""]);
    writeConfig({ v3_signing: { enforce_signed: false } });
    const where = ["--wire", machine.wireDir, "--as", "scribe"];
    await run("trust", "list", ...where);
    expect((await run("config", "list", ...where)).stdout).toContain("differs");
    const { differences } = await json<{ differences: string[] }>(
      ...["config", "accept", ...where, ...BY_FLAGS],
    );
    expect(differences).toContain("v3_signing.enforce_signed: true → false");
  });

  it("holds for init, too, on a wire that is there", async () => {
    await wire(WEAK);
    const init = ["init", "--me", "scribe", "--peer", "forge", "--wire", machine.wireDir];
    expect((await run(...init)).stderr).toContain("--accept-unsigned forge");
    expect((await run(...init, ...ACCEPT)).code).toBe(0);
  });
});

function operatorJournal(): string {
  const wireId = String(readConfig()["wire_id"]);
  const state = machine.env["XDG_STATE_HOME"] ?? "";
  return join(state, "inter-agent-deaddrop", wireId, "scribe", "operator.jsonl");
}

describe("a peer whose unsigned lines are taken", () => {
  it("is the operator's exception, which doctor and trust list show, and a key ends", async () => {
    await wire({ v3_signing: { enforce_signed: true, allow_unsigned_from: ["forge"] } });
    expect((await join_("--accept-unsigned", "forge")).code).toBe(0);
    const where = ["--wire", machine.wireDir, "--as", "scribe"];
    const pin = ["trust", "pin", "forge", ...where];
    expect((await run(...pin, "--unsigned")).code).toBe(1);
    expect((await run(...pin, "--unsigned", ...BY_FLAGS)).code).toBe(0);
    expect((await run("trust", "list", ...where)).stdout).toContain("may be unsigned");
    const told = expect.stringContaining(
      "unsigned lines of forge are taken whatever key is pinned",
    );
    expect(await doctor("--as", "scribe")).toContainEqual(told);
    // A card that anybody can make gives no key to who is believed without one.
    const keys = async () =>
      (await json<{ keys: unknown[] }[]>("trust", "list", ...where))[1]?.keys;
    const known = await keys();
    await json("join", machine.wireDir, ...JOIN);
    expect(await keys()).toEqual(known);
    expect((await run(...pin, ...BY_FLAGS)).code).toBe(0);
    expect(await doctor("--as", "scribe")).not.toContainEqual(told);
  });
});

describe("a configuration that would void the past", () => {
  const where = () => ["--wire", machine.wireDir, "--as", "scribe"];

  async function three(): Promise<void> {
    const peers = ["--peer", "scribe", "--peer", "mason"];
    await json("init", "--me", "forge", ...peers, "--wire", machine.wireDir);
    expect((await join_()).code).toBe(0);
  }

  it.each([
    [{ roster: ["forge", "scribe"] }, "roster or unchained would change within epoch 0"],
    [{ unchained: ["mason"] }, "roster or unchained would change within epoch 0"],
    [{ wire_id: "0011223344556677" }, "the wire id would change"],
    [{ roster: ["forge", "mason"], roster_epoch: 1 }, "leaves you out"],
  ])("is not accepted: %o", async (changes, words) => {
    await three();
    const before = await run("config", "get", "keys.grace_hours", ...where());
    writeConfig(changes);
    const { code, stderr } = await run("config", "accept", ...where(), ...BY_FLAGS);
    expect([code, stderr]).toEqual([2, expect.stringContaining(words)]);
    expect(stderr).toContain("put back as it was");
    expect(await run("config", "get", "keys.grace_hours", ...where())).toEqual(before);
    expect((await run("trust", "list", ...where())).code).toBe(0);
  });

  it("is not accepted by removing the file, while a new epoch is", async () => {
    await three();
    const text = readFileSync(path("config.json"), "utf8");
    rmSync(path("config.json"));
    expect((await run("config", "accept", ...where(), ...BY_FLAGS)).code).toBe(2);
    writeFileSync(path("config.json"), text);
    writeConfig({ roster: ["forge", "scribe", "quill"], roster_epoch: 1 });
    expect((await run("config", "accept", ...where(), ...BY_FLAGS)).code).toBe(0);
  });

  it("leaves logs that nobody reads, which audit names", async () => {
    await three();
    appendFileSync(path("outbox/mason.jsonl"), "{}\n");
    appendFileSync(path("forge_to_scribe.jsonl"), "{}\n");
    appendFileSync(path("no log.jsonl"), "{}\n");
    appendFileSync(path("a\u001b[2J_to_b.jsonl"), "{}\n");
    mkdirSync(path("archive/2025"), { recursive: true });
    for (const name of ["eve.jsonl", "scribe.2.jsonl", "decisions.jsonl.gz"]) {
      appendFileSync(path(`archive/2025/${name}`), "{}\n");
    }
    writeConfig({ roster: ["forge", "scribe"] });
    rmSync(path("archive/2025/scribe.2.jsonl"));
    rmSync(path("archive/2025/decisions.jsonl.gz"));
    // A stranger audits by what the wire says.
    const stranger = ["audit", "--wire", machine.wireDir, "--json"];
    const env = {
      PATH: machine.env["PATH"],
      HOME: join(machine.root, "nobody"),
      DEADDROP_AS: undefined,
    };
    const audit = await runCli(stranger, { env, cwd: machine.root, nowMs: Date.now() });
    expect([audit.exitCode, audit.stderr]).toEqual([1, ""]);
    type Audit = { violations: { rule: string; detail: string }[] };
    const { violations } = JSON.parse(audit.stdout) as Audit;
    const unowned = violations
      .filter(({ rule }) => rule === "unowned_log")
      .map(({ detail }) => detail.replace(/ belongs to nobody.*$/u, ""));
    expect(unowned.toSorted()).toEqual([
      '"a\\u001b[2J_to_b.jsonl"',
      '"no log.jsonl"',
      "archive/2025/eve.jsonl",
      "outbox/mason.jsonl",
    ]);
  });

  it("names thousands of such logs in a few lines", async () => {
    await three();
    for (let at = 0; at < 2_000; at += 1) writeFileSync(path(`a${at}_to_b.jsonl`), "x\n");
    const { stdout } = await run("audit", ...where(), "--json");
    const { violations } = JSON.parse(stdout) as { violations: { rule: string }[] };
    expect(violations.filter(({ rule }) => rule === "unowned_log")).toHaveLength(21);
  });
});
