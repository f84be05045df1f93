import { createHash } from "node:crypto";
import { isAbsolute, join } from "node:path";
import { StorageError } from "./disk/disk.ts";

const PROGRAM = "inter-agent-deaddrop";

/** The user's base folders (XDG), absolute. */
export interface Places {
  readonly configHome: string;
  readonly stateHome: string;
}

/**
 * Base folders from the environment; the XDG specification says to ignore relative ones. Throws
 * StorageError where the home folder is needed and is not absolute: keys would go into the current folder.
 */
export function placesFrom(
  env: Readonly<Record<string, string | undefined>>,
  home: string,
): Places {
  const absolute = (value: string | undefined, ...below: string[]): string => {
    if (value !== undefined && isAbsolute(value)) return value;
    if (!isAbsolute(home)) throw homeNotAbsolute(home);
    return join(home, ...below);
  };
  return {
    configHome: absolute(env["XDG_CONFIG_HOME"], ".config"),
    stateHome: absolute(env["XDG_STATE_HOME"], ".local", "state"),
  };
}

function homeNotAbsolute(home: string): StorageError {
  const problem = `HOME is ${home === "" ? "empty" : "a relative path"}: keys and state need a fixed place`;
  return new StorageError("missing", JSON.stringify(home), problem, {
    hint: "set HOME to your home folder, as an absolute path: export HOME=/home/you",
  });
}

/** Where an identity's keys are: the Python reference's own location. Spec 4.6. */
export type IdentityPaths = Readonly<ReturnType<typeof identityPaths>>;

export function identityPaths(places: Places, handle: string) {
  const folder = programFolder(places);
  return {
    folder,
    key: join(folder, `${handle}.key`),
    publicKey: join(folder, `${handle}.pub.json`),
    /** What a key that was made here has signed: nothing. Each wire begins with a copy. Spec 1.6. */
    mark: join(folder, `${handle}.mark`),
  };
}

/** The folder of our program below the user's configuration. */
export function programFolder(places: Places): string {
  return join(places.configHome, PROGRAM);
}

/** The folder of our program below the user's state. */
export function stateFolder(places: Places): string {
  return join(places.stateHome, PROGRAM);
}

/** The names of private folders of a wire: its id, or 16 hex of its real path's hash. Spec 4.6. */
export function wireKeyOf(wireId: string | undefined, realWireDir: string): string {
  if (wireId === undefined) return sha256Hex(realWireDir).slice(0, 16);
  // The id is in a file that peers can write: it must not lead out of the folder.
  return isWireKey(wireId) ? wireId : sha256Hex(wireId).slice(0, 16);
}

/** Whether a folder of that name may be a wire's; keys and cards, which lie beside them, have a dot. */
export function isWireKey(name: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name);
}

/** What is needed to reach an agent's daemon, or to say who is in its way. */
export type DaemonPaths = Readonly<ReturnType<typeof daemonPaths>>;

type PathsAt = { readonly wireKey: string; readonly handle: string };

export function daemonPaths(places: Places, { wireKey, handle }: PathsAt) {
  const stateDir = join(stateFolder(places), wireKey, handle);
  return { stateDir, lock: join(stateDir, "identity.lock") };
}

/** Everything private to one agent on one wire. Spec 4.6. */
export type AgentPaths = Readonly<ReturnType<typeof agentPaths>>;

export function agentPaths(places: Places, at: PathsAt & { readonly wireDir: string }) {
  const configDir = join(programFolder(places), at.wireKey, at.handle);
  const daemon = daemonPaths(places, at);
  const { stateDir } = daemon;
  return {
    ...at,
    ...daemon,
    identity: identityPaths(places, at.handle),
    /** The key in use on this wire alone, once keys were changed there. Spec 2.5. */
    signing: {
      folder: configDir,
      key: join(configDir, "signing.key"),
      publicKey: join(configDir, "signing.pub.json"),
      mark: join(configDir, "mark"),
    },
    /** The private half of the key that a rotation is to bring in. */
    nextKey: join(configDir, "next.key"),
    /** Is beside it when it is to be used at once, even if no peer believes it yet. */
    nextIsUrgent: join(configDir, "next.urgent"),
    configDir,
    settings: join(configDir, "settings.json"),
    trust: join(configDir, "trust.json"),
    trustLock: join(configDir, "trust.lock"),
    pairing: join(configDir, "pairing.json"),
    pairingLock: join(configDir, "pairing.lock"),
    pinnedConfig: join(configDir, "config.json"),
    pinnedTiers: join(configDir, "tiers.json"),
    /** Our last line on this wire. Spec 1.6. */
    mark: join(configDir, "mark"),
    /** Which wire folder this private folder belongs to. */
    remembered: join(configDir, "wire.json"),
    /** The SQLite database with every line that is held. Spec 4.1. */
    store: join(stateDir, "store.db"),
    trustSeen: join(stateDir, "trust_seen.json"),
    inbox: join(stateDir, "inbox.jsonl"),
    notices: join(stateDir, "notices.jsonl"),
    quarantine: join(stateDir, "quarantine.jsonl"),
    /** The folder in which both sides of a fork are kept. Spec 1.6. */
    evidence: join(stateDir, "evidence"),
    operatorJournal: join(stateDir, "operator.jsonl"),
    /** When the guard of git was overridden, and why. Spec 3.6. */
    overrides: join(stateDir, "overrides.jsonl"),
    /** There while a restore is under way, or was interrupted. */
    restoring: join(stateDir, "restoring.json"),
    /** The collaboration rounds that the daemon watches for its agent. Spec 6.3. */
    rounds: join(stateDir, "rounds.json"),
    /** Of which of their turns it has told. */
    roundsTold: join(stateDir, "rounds-told.json"),
    /** When sessions of coding tools were woken within the last hour. Spec 8.3. */
    wakes: join(stateDir, "wakes.json"),
    /** In the private folder itself, however long its path is (private/socket-folder.ts). */
    socket: join(stateDir, "daemon.sock"),
    /** Of a daemon that `daemon --detach` has started. */
    daemonLog: join(stateDir, "daemon.log"),
  };
}

/** What this user's commands note of collaboration rounds, a file for each round's folder. Spec 6.3. */
export function collabHistory(places: Places): string {
  return join(stateFolder(places), "collab");
}

/** Everything inside the wire's folder but the logs (wire/layout.ts names those). Spec 1.1. */
export type WirePaths = Readonly<ReturnType<typeof wirePaths>>;

/** The card that an agent shows on a wire. */
export function cardPath(wire: WirePaths, handle: string): string {
  return join(wire.trustFolder, `${handle}.card.json`);
}

/** Where an agent publishes how far it has read. */
export function statePath(wire: WirePaths, handle: string): string {
  return join(wire.folder, `${handle}_state.json`);
}

export function wirePaths(wireDir: string) {
  const trustFolder = join(wireDir, "trust");
  return {
    folder: wireDir,
    protocol: join(wireDir, "PROTOCOL.md"),
    config: join(wireDir, "config.json"),
    tiers: join(wireDir, "tiers.json"),
    trust: join(wireDir, "trust.json"),
    trustFolder,
    outbox: join(wireDir, "outbox"),
    archive: join(wireDir, "archive"),
    decisions: join(wireDir, "decisions.jsonl"),
    incidents: join(wireDir, "incident_log.jsonl"),
    safeMode: join(wireDir, "SAFE_MODE"),
  };
}

function sha256Hex(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex");
}
