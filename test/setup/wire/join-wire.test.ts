import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadPlace } from "../../../src/agent/config/agent-config.ts";
import { changePrivateTrust } from "../../../src/agent/config/trust-store.ts";
import { initWire } from "../../../src/setup/wire/init-wire.ts";
import { joinWire, type JoinRequest } from "../../../src/setup/wire/join-wire.ts";
import { newPeer } from "../../../src/trust/store.ts";
import { setTier } from "../../../src/trust/pins.ts";
import { newMachine, type Machine } from "../machine.ts";

let machine: Machine;
beforeEach(() => {
  machine = newMachine();
});
afterEach(() => {
  machine.remove();
});

function init() {
  const request = { wireDir: machine.wireDir, handles: ["forge"], peers: ["scribe"] };
  const [report] = initWire(machine.host, request);
  const own = report?.own_key ?? undefined;
  if (report === undefined || own === undefined) throw new Error("no key");
  return { ...report, own_key: own };
}

function joinAs(changes: Partial<JoinRequest> = {}) {
  return joinWire(machine.host, {
    wireDir: machine.wireDir,
    handle: "scribe",
    peers: [],
    ...changes,
  });
}

const place = (handle = "scribe") =>
  loadPlace(machine.host.disk, machine.host.places, { wireDir: machine.wireDir, handle });

function failure(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    const { message, hint, exitCode, code } = error as Record<string, unknown>;
    return `${String(exitCode ?? code)}: ${String(message)}\n→ ${String(hint)}`;
  }
  return "nothing failed";
}

describe("join", () => {
  it("believes nobody by itself: it pins what a card shows at UNTRUSTED", () => {
    const made = init();
    const report = joinAs();
    expect(report.peers).toEqual([
      {
        handle: "forge",
        tier: "UNTRUSTED",
        pinned: [made.own_key],
        advertised: [made.own_key],
      },
    ]);
    const { store, pinned } = place();
    expect(store.peers.get("forge")?.tier).toBe("UNTRUSTED");
    expect([...pinned.roster.keys()]).toEqual(["forge", "scribe"]);
  });

  it("gives an agent that is believed without a key none from a card", () => {
    init();
    joinAs();
    const { paths } = place();
    for (const change of [
      { tier: "VERIFIED" as const },
      { tier: "UNTRUSTED" as const, mayBeUnsigned: true },
    ]) {
      changePrivateTrust(machine.host.disk, paths, (store) => {
        const forge = { ...newPeer("forge"), ...change };
        const peers = new Map(store.peers).set("forge", forge);
        return { ok: true, store: { version: store.version + 1, peers } };
      });
      joinAs({ acceptWireTrust: true });
      expect(place().store.peers.get("forge")?.keys).toEqual([]);
    }
  });

  it("advertises its own key beside the other's", () => {
    init();
    joinAs();
    const { agents } = JSON.parse(readFileSync(join(machine.wireDir, "trust.json"), "utf8"));
    expect(Object.keys(agents)).toEqual(["forge", "scribe"]);
  });

  it("changes nothing when it is run again", () => {
    init();
    joinAs({ acceptWireTrust: true });
    const before = machine.picture();
    joinAs({ acceptWireTrust: true });
    expect(machine.picture()).toEqual(before);
  });

  it("touches nothing with dryRun", () => {
    init();
    const before = machine.picture();
    joinAs({ dryRun: true, acceptWireTrust: true });
    expect(machine.picture()).toEqual(before);
  });

  it("takes advertised keys at UNTRUSTED when told to, whatever tier the file claims", () => {
    const made = init();
    const path = join(machine.wireDir, "trust.json");
    writeFileSync(path, readFileSync(path, "utf8").replace("UNTRUSTED", "TRUSTED"));
    const [peer] = joinAs({ acceptWireTrust: true }).peers;
    expect([peer?.tier, peer?.pinned]).toEqual(["UNTRUSTED", [made.own_key]]);
  });

  it("never takes a key that the wire advertises for ourselves, nor of a stranger", () => {
    const made = init();
    const path = join(machine.wireDir, "trust.json");
    const trust = JSON.parse(readFileSync(path, "utf8"));
    const { key } = made.own_key;
    for (const handle of ["scribe", "mallory"]) {
      const entry = { key_id: `${handle}:${made.own_key.fingerprint.slice(0, 8)}`, key };
      trust.agents[handle] = { public_keys: [entry] };
    }
    writeFileSync(path, JSON.stringify(trust));
    joinAs({ acceptWireTrust: true });
    const { store, identity } = place();
    expect([...store.peers.keys()].sort()).toEqual(["forge", "scribe"]);
    expect(store.peers.get("scribe")?.keys.map(({ keyId }) => keyId)).toEqual([
      identity.signer.keyId,
    ]);
  });

  it("pins the key that the operator gives, in base64 or as a file, and keeps it", () => {
    const made = init();
    joinAs({ peerKeys: [{ handle: "forge", source: made.own_key.key }] });
    expect(place().store.peers.get("forge")?.keys[0]?.keyId).toBe(made.own_key.key_id);
    const other = place("forge").paths.identity.publicKey;
    const before = machine.picture();
    joinAs({ peerKeys: [{ handle: "forge", source: other }] });
    expect(machine.picture()).toEqual(before);
    const scribeKey = place().identity.publicIdentity.key;
    expect(failure(() => joinAs({ peerKeys: [{ handle: "forge", source: scribeKey }] }))).toContain(
      "forge has a pinned key already",
    );
  });

  it("joins a wire of the Python reference, whose roster comes from --peer, and gives it an id", () => {
    mkdirSync(machine.wireDir);
    writeFileSync(join(machine.wireDir, "config.json"), `{"protocol_version":"v3.0"}`);
    writeFileSync(join(machine.wireDir, "forge_to_scribe.jsonl"), "");
    expect(failure(() => joinAs())).toContain("1: this wire does not say who is on it\n");
    const report = joinAs({ peers: ["forge"] });
    expect(report.wire_id).toMatch(/^[0-9a-f]{16}$/);
    const { pinned, paths } = place();
    expect([...pinned.roster.keys()]).toEqual(["scribe", "forge"]);
    expect(paths.wireKey).toBe(report.wire_id);
    expect(JSON.parse(readFileSync(join(machine.wireDir, "config.json"), "utf8"))).toEqual({
      wire_id: report.wire_id,
      protocol_version: "v3.0",
    });
  });
});

describe("join refuses", () => {
  it("a folder that is not a wire", () => {
    mkdirSync(machine.wireDir);
    expect(failure(() => joinAs())).toBe(
      `not_a_wire: ${machine.wireDir}: a folder that is not a wire: it has no config.json and no logs\n` +
        "→ give the folder that holds config.json (often _coordination), or make one: deaddrop init",
    );
  });

  it("a handle that is not in the roster", () => {
    init();
    expect(failure(() => joinAs({ handle: "mason" }))).toContain(
      `2: "mason" is not in the roster of this wire: forge, scribe\n`,
    );
    expect(failure(() => joinAs({ handle: "Scribe" }))).toContain("only in case");
  });

  it("another wire at a path that it remembers, until it is told that the wire is new", () => {
    init();
    joinAs();
    changePrivateTrust(machine.host.disk, place().paths, (store) =>
      setTier(store, "forge", "VERIFIED", machine.host.nowMs),
    );
    const old = place().paths.wireKey;
    const path = join(machine.wireDir, "config.json");
    writeFileSync(path, readFileSync(path, "utf8").replace(old, "00000000000000ff"));
    const before = machine.picture();
    expect(failure(() => joinAs())).toContain(
      `2: ${machine.wireDir} has the wire id 00000000000000ff, but scribe knew the wire there as ${old}\n`,
    );
    expect(machine.picture()).toEqual(before);
    joinAs({ anew: true });
    expect(place().paths.wireKey).toBe("00000000000000ff");
    expect(place().store.peers.get("forge")?.tier).toBe("UNTRUSTED");
  });

  it.each([
    ["that is not JSON", "{", "trust.json: it ends where a key should be"],
    ["with an agent that is none", `{"agents":{"scribe":7}}`, "agents.scribe is not an agent"],
  ])("an advertised trust.json %s", (_name, text, message) => {
    init();
    writeFileSync(join(machine.wireDir, "trust.json"), text);
    expect(failure(() => joinAs())).toContain(message);
  });

  it("a key file of somebody else", () => {
    init();
    const own = place("forge").paths.identity.publicKey;
    writeFileSync(own, readFileSync(own, "utf8").replace('"forge"', '"mason"'));
    expect(failure(() => joinAs({ peerKeys: [{ handle: "forge", source: own }] }))).toBe(
      `1: ${own}: it holds the key of "mason", not of forge\n→ check whose file it is, and which handle was meant`,
    );
  });
});
