import { describe, expect, it } from "vitest";
import { StorageError } from "../../../src/storage/disk/disk.ts";
import { loadIdentity, makeIdentity } from "../../../src/storage/private/identity.ts";
import {
  agentPaths,
  identityPaths,
  placesFrom,
  wireKeyOf,
  type AgentPaths,
} from "../../../src/storage/paths.ts";
import {
  forgetWire,
  preparePrivateFolders,
  rememberWire,
  resolveWireKey,
} from "../../../src/storage/private/private-folders.ts";
import {
  readSettings,
  readTrust,
  saveSettings,
  updateTrust,
} from "../../../src/storage/private/private-store.ts";
import { verifySignature } from "../../../src/wire/signature.ts";
import { Crashed, MemoryDisk, type MemoryProcess } from "../../support/disk/memory-disk.ts";

const PLACES = placesFrom({ XDG_CONFIG_HOME: "/c", XDG_STATE_HOME: "/s" }, "/home/x");
const SEED = new Uint8Array(32).fill(7);
const KEYS = identityPaths(PLACES, "forge");

function fresh(): { disk: MemoryProcess; paths: AgentPaths } {
  const disk = new MemoryDisk().process();
  const paths = agentPaths(PLACES, { wireDir: "/wire", wireKey: "k", handle: "forge" });
  preparePrivateFolders(disk, paths);
  return { disk, paths };
}

function textOf(disk: MemoryProcess, path: string): string {
  const file = disk.open(path, "read");
  return Buffer.from(file.read(file.stat().size, 0)).toString();
}

function failureOf(action: () => unknown): Partial<StorageError> {
  try {
    action();
  } catch (error) {
    if (error instanceof StorageError) return { code: error.code, hint: error.hint };
    throw error;
  }
  return {};
}

describe("paths", () => {
  it("follow XDG, ignore relative values, and are below the Python reference's folder", () => {
    expect(placesFrom({ XDG_CONFIG_HOME: "relative" }, "/home/x")).toEqual({
      configHome: "/home/x/.config",
      stateHome: "/home/x/.local/state",
    });
    expect(KEYS.key).toBe("/c/inter-agent-deaddrop/forge.key");
    const paths = agentPaths(PLACES, { wireDir: "/w", wireKey: "k", handle: "forge" });
    expect(paths.trust).toBe("/c/inter-agent-deaddrop/k/forge/trust.json");
    expect(paths.inbox).toBe("/s/inter-agent-deaddrop/k/forge/inbox.jsonl");
    expect(paths.socket).toBe("/s/inter-agent-deaddrop/k/forge/daemon.sock");
  });

  it("a wire id that a peer chose cannot lead out of the folder", () => {
    expect(wireKeyOf("7c3a91e2b4d05f16", "/w")).toBe("7c3a91e2b4d05f16");
    for (const hostile of ["../../x", "..", ".", "", "a/b", "a\0b", "x".repeat(300)]) {
      expect(wireKeyOf(hostile, "/w")).toMatch(/^[0-9a-f]{16}$/);
    }
    expect(wireKeyOf(undefined, "/w")).toMatch(/^[0-9a-f]{16}$/);
  });

  it("the socket is in the private folder, however long its path is", () => {
    const deep = placesFrom({ XDG_STATE_HOME: `/${"d".repeat(90)}` }, "/home/x");
    const paths = agentPaths(deep, { wireDir: "/w", wireKey: "k", handle: "forge" });
    expect(paths.socket).toBe(`${paths.stateDir}/daemon.sock`);
  });

  it("private folders stay with their path when the wire's id changes", () => {
    const disk = new MemoryDisk().process();
    const first = resolveWireKey(disk, PLACES, "forge", "/wire", undefined);
    const paths = agentPaths(PLACES, { wireDir: "/wire", wireKey: first, handle: "forge" });
    preparePrivateFolders(disk, paths);
    rememberWire(disk, paths, undefined);
    expect(resolveWireKey(disk, PLACES, "forge", "/wire", "evil")).toBe(first);
    expect(resolveWireKey(disk, PLACES, "forge", "/other", "good")).toBe("good");
    expect(resolveWireKey(disk, PLACES, "scribe", "/wire", "good")).toBe("good");
    forgetWire(disk, PLACES, "forge", "/wire");
    expect(resolveWireKey(disk, PLACES, "forge", "/wire", "new")).toBe("new");
  });

  it("private folders that others can write are refused with the chmod that fixes them", () => {
    const { disk, paths } = fresh();
    disk.setMode(paths.configDir, 0o777);
    expect(failureOf(() => preparePrivateFolders(disk, paths))).toEqual({
      code: "unsafe_mode",
      hint: `chmod 700 ${paths.configDir}`,
    });
  });
});

describe("the identity", () => {
  it("is stored in the reference's format, signs, and is never overwritten", () => {
    const disk = new MemoryDisk().process();
    const made = makeIdentity(disk, KEYS, "forge", SEED);
    expect(disk.stat(KEYS.key)).toMatchObject({ size: 32, mode: 0o600 });
    const stored = JSON.parse(textOf(disk, KEYS.publicKey)) as Record<string, unknown>;
    expect(stored).toEqual({
      agent: "forge",
      key_id: made.signer.keyId,
      key: Buffer.from(made.publicKey).toString("base64"),
      active: true,
    });
    const loaded = loadIdentity(disk, KEYS, "forge");
    const message = Buffer.from("hello");
    expect(verifySignature(made.publicKey, message, loaded.signer.sign(message))).toBe(true);
    expect(failureOf(() => makeIdentity(disk, KEYS, "forge", new Uint8Array(32))).code).toBe(
      "exists",
    );
  });

  it("says what is wrong with a key", () => {
    const disk = new MemoryDisk().process();
    expect(failureOf(() => loadIdentity(disk, KEYS, "forge"))).toMatchObject({ code: "missing" });
    makeIdentity(disk, KEYS, "forge", SEED);
    disk.setMode(KEYS.key, 0o640);
    expect(failureOf(() => loadIdentity(disk, KEYS, "forge"))).toEqual({
      code: "unsafe_mode",
      hint: `chmod 600 ${KEYS.key}`,
    });
    disk.replace(KEYS.key, new Uint8Array(31), 0o600);
    expect(() => loadIdentity(disk, KEYS, "forge")).toThrow("holds 31 bytes, not 32");
    disk.replace(KEYS.key, new Uint8Array(32).fill(8), 0o600);
    expect(() => loadIdentity(disk, KEYS, "forge")).toThrow("does not belong to the private key");
    disk.replace(KEYS.publicKey, Buffer.from("{"), 0o600);
    expect(() => loadIdentity(disk, KEYS, "forge")).toThrow("is not JSON");
    disk.remove(KEYS.publicKey);
    loadIdentity(disk, KEYS, "forge");
    expect(textOf(disk, KEYS.publicKey)).toContain("forge:");
  });

  it.each(["crash", "EIO", "ENOSPC"] as const)(
    "keygen that fails at any operation (%s) leaves no key or the whole one, and can be repeated",
    (fault) => {
      for (const power of ["none", "drop", "keep", "tear"] as const) {
        for (let at = 1; at < 16; at += 1) {
          const world = new MemoryDisk({ seed: at });
          const disk = world.process();
          disk.failAt(at, fault);
          let made = false;
          try {
            makeIdentity(disk, KEYS, "forge", SEED);
            made = true;
          } catch (error) {
            if (!(error instanceof Crashed) && !(error instanceof StorageError)) throw error;
          }
          disk.kill();
          if (power !== "none") world.powerCut(power);
          const last = world.process();
          if (made || (last.stat(KEYS.key)?.size ?? 0) > 0) {
            expect(loadIdentity(last, KEYS, "forge").publicKey).toHaveLength(32);
          } else {
            makeIdentity(last, KEYS, "forge", SEED);
          }
        }
      }
    },
  );
});

describe("the trust store", () => {
  const store = (version: number): string => JSON.stringify({ version, agents: {} });

  it("only grows, and an older one put back is refused", () => {
    const { disk, paths } = fresh();
    expect(readTrust(disk, paths)).toBeUndefined();
    updateTrust(disk, paths, (current) => (current === undefined ? store(1) : "wrong"));
    updateTrust(disk, paths, () => store(7));
    expect(readTrust(disk, paths)).toBe(store(7));
    expect(() => updateTrust(disk, paths, () => store(6))).toThrow("does not follow 7");
    disk.replace(paths.trust, Buffer.from(store(5)), 0o600);
    expect(() => readTrust(disk, paths)).toThrow("was seen before");
    disk.remove(paths.trust);
    expect(() => readTrust(disk, paths)).toThrow("was seen before");
  });

  it("that others can write is refused with the chmod", () => {
    const { disk, paths } = fresh();
    updateTrust(disk, paths, () => store(1));
    disk.setMode(paths.trust, 0o620);
    expect(failureOf(() => readTrust(disk, paths))).toEqual({
      code: "unsafe_mode",
      hint: `chmod 600 ${paths.trust}`,
    });
  });

  it("is changed by one program at a time", () => {
    const { disk, paths } = fresh();
    updateTrust(disk, paths, () => {
      expect(failureOf(() => updateTrust(disk.world.process(), paths, () => store(9))).code).toBe(
        "locked",
      );
      return store(1);
    });
    expect(readTrust(disk, paths)).toBe(store(1));
  });
});

describe("small stores", () => {
  it("settings are read back, and damage is said", () => {
    const { disk, paths } = fresh();
    expect(readSettings(disk, paths)).toBeUndefined();
    saveSettings(disk, paths, { "guard.strict": true });
    expect(readSettings(disk, paths)).toEqual({ "guard.strict": true });
    disk.replace(paths.settings, Buffer.from("{"), 0o600);
    expect(failureOf(() => readSettings(disk, paths)).code).toBe("corrupt");
  });
});
