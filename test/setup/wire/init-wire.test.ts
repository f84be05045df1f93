import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadPlace } from "../../../src/agent/config/agent-config.ts";
import { initLocalPair, initWire, type InitRequest } from "../../../src/setup/wire/init-wire.ts";
import { newMachine, type Machine } from "../machine.ts";

let machine: Machine;
beforeEach(() => {
  machine = newMachine();
});
afterEach(() => {
  machine.remove();
});

function init(changes: Partial<InitRequest> = {}) {
  const request = { wireDir: machine.wireDir, handles: ["forge"], peers: ["scribe"], ...changes };
  const [report] = initWire(machine.host, request);
  if (report === undefined) throw new Error("no report");
  return report;
}

function mode(...path: string[]): string {
  return (statSync(join(machine.wireDir, ...path)).mode & 0o7777).toString(8);
}

interface Written {
  wire_id?: string;
  schema_version?: string;
  agents: Record<string, { public_keys: unknown[] }>;
}

function json(path: string): Written {
  return JSON.parse(readFileSync(path, "utf8")) as Written;
}

const place = (handle: string) =>
  loadPlace(machine.host.disk, machine.host.places, { wireDir: machine.wireDir, handle });

describe("init", () => {
  it("makes a wire that a daemon can start on", () => {
    const report = init();
    const config = json(join(machine.wireDir, "config.json"));
    expect(config).toEqual({
      wire_id: expect.stringMatching(/^[0-9a-f]{16}$/),
      protocol_version: "v3.1",
      roster: ["forge", "scribe"],
      v3_signing: { enforce_signed: true, allow_unsigned_from: [] },
      domains: {},
      limits: {
        max_message_body_kb: 64,
        max_clock_skew_seconds: 300,
        rate_limit_msg_per_min: 60,
        max_refs: 64,
        answer_minutes: 30,
        proposal_hours: 24,
      },
    });
    const { identity, paths } = place("forge");
    expect(paths.wireKey).toBe(config.wire_id);
    expect(readFileSync(paths.pinnedConfig)).toEqual(
      readFileSync(join(machine.wireDir, "config.json")),
    );
    expect(readFileSync(paths.pinnedTiers)).toEqual(
      readFileSync(join(machine.wireDir, "tiers.json")),
    );
    expect(report.own_key?.key_id).toBe(identity.signer.keyId);
    expect(report.own_key?.fingerprint).toMatch(/^[0-9a-f]{64}$/);
    const advertised = json(join(machine.wireDir, "trust.json"));
    expect(advertised.schema_version).toBe("v3.1");
    expect(advertised.agents["forge"]?.public_keys).toEqual([
      {
        key_id: identity.signer.keyId,
        key: identity.publicIdentity.key,
        added_at: "2026-06-01T10:00:00.000Z",
        active: true,
      },
    ]);
    expect(report.peers).toEqual([{ handle: "scribe", tier: null, pinned: [], advertised: [] }]);
  });

  it("changes nothing when it is run again", () => {
    init();
    const before = machine.picture();
    const again = init();
    expect(machine.picture()).toEqual(before);
    expect(again.steps.filter(({ outcome }) => outcome !== "already")).toEqual([]);
  });

  it("touches nothing with dryRun, and says what it would do", () => {
    const before = machine.picture();
    const report = init({ dryRun: true });
    expect(machine.picture()).toEqual(before);
    expect(report.own_key).toBeNull();
    expect(report.steps.map(({ step, outcome }) => `${outcome} ${step}`)).toContain(
      `would make the wire ${machine.wireDir}`,
    );
  });

  it("completes a wire that a crash left half-made", () => {
    mkdirSync(join(machine.wireDir, "trust"), { recursive: true });
    writeFileSync(join(machine.wireDir, "tiers.json"), readFileSync("tiers.json"));
    init();
    expect([...place("forge").pinned.roster]).toEqual([
      ["forge", true],
      ["scribe", true],
    ]);
  });

  it("keeps the tiers.json that the operator has laid ready", () => {
    mkdirSync(machine.wireDir);
    const text = readFileSync("tiers.json", "utf8").replace("90", "7");
    writeFileSync(join(machine.wireDir, "tiers.json"), text);
    init();
    expect(place("forge").tiers.cadencesMs.T1_active).toBe(7_000);
  });

  it("gives each of three agents one file", () => {
    init({ peers: ["scribe", "mason"] });
    expect(mode("outbox", "forge.jsonl")).toBe("600");
    expect(machine.host.disk.stat(join(machine.wireDir, "forge_to_scribe.jsonl"))).toBeUndefined();
  });

  it("begins again where another wire was, without its pins", () => {
    init();
    const old = place("forge").paths.wireKey;
    execFileSync("rm", ["-r", machine.wireDir]);
    init();
    const { paths } = place("forge");
    expect(paths.wireKey).not.toBe(old);
    expect(paths.wireKey).toBe(json(join(machine.wireDir, "config.json")).wire_id);
  });

  it("lets one writer in per log when a group shares the folder", () => {
    const gid = String(process.getgid?.() ?? 0);
    init({ group: gid });
    expect(mode()).toBe("3770");
    expect(mode("trust")).toBe("3770");
    expect(mode("forge_to_scribe.jsonl")).toBe("640");
    for (const shared of ["config.json", "tiers.json", "trust.json", "decisions.jsonl"]) {
      expect([shared, mode(shared)]).toEqual([shared, "660"]);
    }
    chmodSync(join(machine.wireDir, "decisions.jsonl"), 0o600);
    init();
    expect(mode("decisions.jsonl")).toBe("660");
  });

  it("hides the folder from the project's commits, unless told to track it", () => {
    execFileSync("git", ["init", "-q", machine.root]);
    init({ track: true });
    const exclude = join(machine.root, ".git", "info", "exclude");
    expect(readFileSync(exclude, "utf8")).not.toContain("_coordination");
    init();
    expect(readFileSync(exclude, "utf8")).toMatch(/^\/_coordination\/$/m);
  });
});

describe("init --local-pair", () => {
  it("pins each side at TRUSTED for the other, twice without a change", () => {
    const pair = () =>
      initLocalPair(machine.host, { wireDir: machine.wireDir, peers: ["scribe"] }, "forge");
    const reports = pair();
    expect(reports.map(({ handle, peers }) => [handle, peers[0]?.handle, peers[0]?.tier])).toEqual([
      ["forge", "scribe", "TRUSTED"],
      ["scribe", "forge", "TRUSTED"],
    ]);
    const [forge, scribe] = [place("forge"), place("scribe")];
    expect(forge.store.peers.get("scribe")?.keys[0]?.key).toEqual(scribe.identity.publicKey);
    expect(scribe.store.peers.get("forge")?.keys[0]?.key).toEqual(forge.identity.publicKey);
    const before = machine.picture();
    pair();
    expect(machine.picture()).toEqual(before);
  });

  it("takes one step for each of four agents to pin the others", () => {
    const request = { wireDir: machine.wireDir, peers: ["scribe", "mason", "ann"] };
    const reports = initLocalPair(machine.host, request, "forge");
    for (const { peers } of reports) {
      expect(peers.map(({ tier }) => tier)).toEqual(["TRUSTED", "TRUSTED", "TRUSTED"]);
    }
    const pins = reports[0]?.steps.filter(({ step }) => step.startsWith("pin "));
    expect(pins).toHaveLength(4);
  });
});

/** What was wrong, what to do, and the exit code. */
function failure(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    const { message, hint, exitCode, code } = error as Record<string, unknown>;
    return `${String(exitCode ?? code)}: ${String(message)}\n→ ${String(hint)}`;
  }
  return "nothing failed";
}

describe("init refuses", () => {
  it.each([
    [
      "a wrong handle",
      { peers: ["../scribe"] },
      `2: roster[1]: "../scribe" is not a handle; use a letter or digit, then up to 127 letters, digits, ".", "_" or "-"`,
    ],
    [
      "a reserved name",
      { peers: ["con"] },
      `2: roster[1]: "con" is a reserved name on Windows; choose another handle`,
    ],
    [
      "twins",
      { peers: ["Forge"] },
      `2: roster[1]: "Forge" differs from "forge" only in case; choose another handle`,
    ],
    ["itself as a peer", { peers: ["forge"] }, `2: roster[1]: "forge" is in the roster twice`],
    [
      "pairs that share a file",
      { handles: ["a"], peers: ["b_to_c", "a_to_b", "c"] },
      `2: roster: "a" to "b_to_c" and "a_to_b" to "c" would share the file a_to_b_to_c.jsonl`,
    ],
    ["no peer", { peers: [] }, "1: a wire needs two agents at least"],
    [
      "an unknown group",
      { group: "no-such-group" },
      "2: --group no-such-group: this host has no such group",
    ],
    [
      "a key that is none",
      { peerKeys: [{ handle: "scribe", source: "AAAA" }] },
      `1: "AAAA" is neither a key in base64 nor a file that exists`,
    ],
    [
      "a small-order key",
      { peerKeys: [{ handle: "scribe", source: Buffer.alloc(32).toString("base64") }] },
      "1: the key given for scribe is no usable Ed25519 public key",
    ],
    [
      "a key of a stranger",
      { peerKeys: [{ handle: "mason", source: "AAAA" }] },
      `1: --peer-key: "mason" is no peer on this wire`,
    ],
  ])("%s, and makes nothing", (_name, changes, message) => {
    const before = machine.picture();
    expect(failure(() => init(changes))).toContain(`${message}\n`);
    expect(machine.picture()).toEqual(before);
  });

  it("a folder in use for something else", () => {
    mkdirSync(machine.wireDir);
    writeFileSync(join(machine.wireDir, "thesis.tex"), "");
    expect(failure(() => init())).toContain(`is in use for something else ("thesis.tex")`);
  });

  it("a wire that others have made, and names join", () => {
    mkdirSync(machine.wireDir);
    writeFileSync(join(machine.wireDir, "scribe_to_forge.jsonl"), "{}\n");
    expect(failure(() => init())).toContain("deaddrop join");
  });

  it("other agents on a wire that is there", () => {
    init();
    expect(failure(() => init({ peers: ["mason"] }))).toContain(
      `is a wire already, of forge, scribe; "mason" is not among them`,
    );
  });

  it("tiers that no daemon would start with", () => {
    mkdirSync(machine.wireDir);
    writeFileSync(join(machine.wireDir, "tiers.json"), `{"schema_version":"v9"}`);
    expect(failure(() => init())).toContain(`2: tiers.json: schema_version is "v9"; expected "v1"`);
  });

  it("a protocol version that it does not speak", () => {
    mkdirSync(machine.wireDir);
    writeFileSync(join(machine.wireDir, "config.json"), `{"protocol_version":"v4.0"}`);
    expect(failure(() => init())).toContain(
      `2: config.json: protocol_version is "v4.0"; this program speaks v2.0, v3.0, v3.1`,
    );
  });

  it("a key that other users can read", () => {
    init();
    const key = place("forge").paths.identity.key;
    chmodSync(key, 0o644);
    expect(failure(() => init())).toContain(`other users can read it\n→ chmod 600 ${key}`);
  });
});
