import { readFileSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import type { Audited, KeySource } from "../../agent/answers/audit.ts";
import { unownedLogs } from "../../agent/answers/unowned-logs.ts";
import {
  coreOfCarriers,
  coreOfStore,
  fileTransport,
  readFileAuthors,
  recordedLines,
  type FileAuthors,
} from "../../agent/audit.ts";
import { loadPlace } from "../../agent/config/agent-config.ts";
import type { Core, CorePlace, CoreWorld } from "../../agent/core.ts";
import type { Believed } from "../../agent/lines/intake.ts";
import { systemClock } from "../../agent/session/clock.ts";
import { corePlace } from "../../agent/session/session.ts";
import { DeaddropError } from "../../api/errors.ts";
import { FolderTransport, makeWireLayout } from "../../carriers/folder.ts";
import { setupHost, type SetupHost } from "../../setup/host.ts";
import { readWireConfig } from "../../setup/wire/wire-config.ts";
import { readWhole, type Disk } from "../../storage/disk/disk.ts";
import { wirePaths } from "../../storage/paths.ts";
import { ONE_USER } from "../../storage/sharing.ts";
import { requireWire } from "../../storage/wire-folder.ts";
import { DEFAULT_CONFIG, type WireConfig } from "../../trust/policy/config.ts";
import { DEFAULT_HEARTBEAT_TIERS } from "../../trust/policy/heartbeat-tiers.ts";
import { EMPTY_STORE, peerNamed, type TrustStore } from "../../trust/store.ts";
import { parseTrustFile } from "../../trust/trust-file.ts";
import { MAX_ROSTER } from "../../wire/limits.ts";
import { makeSigner } from "../../wire/signature.ts";
import { verifyAll } from "../../workers/check-pool.ts";
import { findWire, joinedHandles, withClient, type Cli, type GlobalFlags } from "../context.ts";

export interface AuditFlags extends GlobalFlags {
  trust?: string;
}

/** Whose signatures are believed in an audit. */
interface Keys {
  readonly from: KeySource;
  readonly store: TrustStore;
}

/** What is audited, and what it is compared with. Its core is for the caller to close. */
export interface AuditSource {
  readonly core: Core;
  readonly by: Audited;
  /** Whose signatures are believed. */
  readonly trust: TrustStore;
}

/** The files given, else the store of an agent of ours, else all carriers of the wire. Spec 4.10. */
export async function openAudit(
  cli: Cli,
  files: readonly string[],
  flags: AuditFlags,
): Promise<AuditSource> {
  const host = setupHost(cli.env, cli.clock.nowMs());
  return files.length === 0 ? auditOfWire(cli, host, flags) : auditOfFiles(cli, host, files, flags);
}

async function auditOfFiles(
  cli: Cli,
  { disk }: SetupHost,
  files: readonly string[],
  flags: AuditFlags,
): Promise<AuditSource> {
  const authors = readFileAuthors(
    disk,
    files.map((file) => fileAt(cli, file)),
  );
  const [wireId = "", other] = authors.wireIds;
  if (other !== undefined) throw oneWireAtATime("they are of several wires");
  if (authors.handles.size > MAX_ROSTER)
    throw oneWireAtATime(`they name more than the ${MAX_ROSTER} agents of one wire`);
  const keys = givenKeys(cli, flags) ?? NO_KEYS;
  const roster = [...authors.handles];
  const config = { ...DEFAULT_CONFIG, roster, signing: TAKES_UNSIGNED };
  const place = strangersPlace(config, roster, wireId, keys);
  const transport = fileTransport(disk, authors, systemClock);
  const { core, skipped } = await coreOfCarriers(
    auditWorld(disk, keys),
    keys.from === "none" ? takingStatedKeys(place, authors) : place,
    [transport],
  );
  const by = { keys: keys.from, record: undefined, unowned: [], skipped };
  return { core, by, trust: keys.store };
}

function oneWireAtATime(why: string): DeaddropError {
  return new DeaddropError("refused", `these files are not audited together: ${why}`, {
    hint: "audit the files of one wire at a time",
  });
}

const NO_KEYS: Keys = { from: "none", store: EMPTY_STORE };

const TAKES_UNSIGNED = { enforceSigned: false, allowUnsignedFrom: [] };

/** Where no key is known every signature passes: the report says how many lines are not verified. */
function auditWorld(disk: Disk, { from }: Keys): CoreWorld {
  const pass = (items: readonly unknown[]) => Promise.resolve(items.map(() => true));
  return {
    ...{ disk, clock: systemClock, beats: false, random: Math.random },
    verifyAll: from === "none" ? pass : verifyAll,
  };
}

function takingStatedKeys(place: CorePlace, { keyIds }: FileAuthors): CorePlace {
  const stated = (author: string): Believed["keys"] =>
    [...(keyIds.get(author) ?? [])].map((keyId) => ({
      ...{ keyId, key: new Uint8Array(32), active: true },
    }));
  return {
    ...place,
    believed: (author) => ({ ...place.believed(author), keys: stated(author) }),
  };
}

/** Of an auditor who is nobody on the wire: lines are refused by no tier. Spec 2.4. */
function strangersPlace(
  config: WireConfig,
  roster: readonly string[],
  wireId: string,
  { store }: Keys,
): CorePlace {
  const believed = (author: string): Believed => ({
    ...peerNamed(store, author),
    ...{ tier: "ATTESTED", blocked: false, held: undefined },
  });
  const { signing, limits, domains, unchained, rosterEpoch } = config;
  const members = new Map(roster.map((handle) => [handle, !unchained.includes(handle)]));
  return {
    ...{ self: "", wireId, version: "v3.1", signing, limits, domains, believed },
    ...{ pinned: { roster: members, epoch: rosterEpoch }, tiers: DEFAULT_HEARTBEAT_TIERS },
    signer: makeSigner("auditor", new Uint8Array(32)),
    // Nothing is signed, and files are written to a disk of this process alone.
    ...{ markPath: "/audit/mark", inboxPath: "/audit/inbox.jsonl" },
  };
}

function fileAt(cli: Cli, named: string): string {
  const path = resolve(cli.cwd, named);
  try {
    return realpathSync(path);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ENOENT") throw cause;
    throw new DeaddropError("usage", `${path}: no such file`, {
      hint: "audit takes logs (.jsonl), or none for the wire's own",
      cause,
    });
  }
}

/** By our own store, or pins, where we are an agent of the wire. */
async function auditOfWire(
  cli: Cli,
  { disk, ...host }: SetupHost,
  flags: AuditFlags,
): Promise<AuditSource> {
  const wireDir = disk.realPath(findWire(cli, flags));
  requireWire(disk, wireDir);
  const given = givenKeys(cli, flags);
  const handle = auditorOf(cli, wireDir, flags);
  if (handle === undefined) {
    const config = readWireConfig(disk, wireDir) ?? DEFAULT_CONFIG;
    const keys = given ?? advertisedKeysOf(disk, wireDir);
    const roster = strangersRoster(config.roster, flags, keys);
    const place = strangersPlace(config, roster, config.wireId ?? "", keys);
    return auditOfCarriers(disk, wireDir, place, keys);
  }
  const config = loadPlace(disk, host.places, { wireDir, handle, peers: flags.peer });
  const keys: Keys = given ?? { from: "pinned", store: config.store };
  const place = corePlace(config, config);
  const isStored = disk.stat(config.paths.store) !== undefined;
  if (given !== undefined || !isStored) {
    const { store } = keys;
    const believing = { ...place, believed: (author: string) => peerNamed(store, author) };
    return auditOfCarriers(disk, wireDir, given === undefined ? place : believing, keys);
  }
  await takeIn(cli, { ...flags, wire: wireDir, as: handle });
  const core = coreOfStore(auditWorld(disk, keys), place, config.paths.store);
  const folder = folderOf(disk, wireDir, core.place.self, core.membership.handles);
  folder.list();
  const by = { ...comparedWith(disk, wireDir, folder), keys: keys.from, skipped: [] };
  return { core, by, trust: keys.store };
}

/** What the carriers have and the store lacks is taken in first; where it cannot be, the store is read as it is. */
async function takeIn(cli: Cli, flags: GlobalFlags): Promise<void> {
  try {
    await withClient(cli, flags, async (client) => {
      while (await client.ask("tick"));
    });
  } catch (error) {
    if (!(error instanceof DeaddropError)) throw error;
  }
}

/** Members that joined later have carriers, too. */
async function auditOfCarriers(
  disk: Disk,
  wireDir: string,
  place: CorePlace,
  keys: Keys,
): Promise<AuditSource> {
  for (let handles: readonly string[] = [...place.pinned.roster.keys()]; ;) {
    const folder = folderOf(disk, wireDir, place.self, handles);
    const { core, skipped } = await coreOfCarriers(auditWorld(disk, keys), place, [folder]);
    const known = core.membership.handles;
    if (known.length <= handles.length) {
      const by = { ...comparedWith(disk, wireDir, folder), keys: keys.from, skipped };
      return { core, by, trust: keys.store };
    }
    core.close();
    handles = known;
  }
}

function folderOf(
  disk: Disk,
  wireDir: string,
  handle: string,
  handles: readonly string[],
): FolderTransport {
  const layout = makeWireLayout({ handle, handles, members: new Map() });
  return new FolderTransport({
    ...{ disk, wireDir, mode: ONE_USER.logMode, layout: () => layout },
    world: { clock: systemClock, after: () => () => undefined, watch: () => () => undefined },
    ours: {
      handle,
      chain: () => {
        throw new Error("an audit publishes nothing");
      },
      beforeAppend: () => undefined,
    },
  });
}

function comparedWith(
  disk: Disk,
  wireDir: string,
  { unowned }: FolderTransport,
): Pick<Audited, "record" | "unowned"> {
  const isThere = disk.stat(wirePaths(wireDir).decisions) !== undefined;
  const { names, more } = unownedLogs(disk, wireDir, unowned);
  return {
    record: isThere ? recordedLines(disk, wireDir) : undefined,
    unowned: more === 0 ? names : [...names, `each of ${more} more files`],
  };
}

/** Who was named, else the only identity of this user that has joined this wire. */
function auditorOf(cli: Cli, wireDir: string, flags: AuditFlags): string | undefined {
  const named = flags.as ?? cli.env["DEADDROP_AS"];
  if (named !== undefined && named !== "") return named;
  const [only, ...others] = joinedHandles(cli.env, wireDir);
  return others.length > 0 ? undefined : only;
}

function strangersRoster(
  declared: readonly string[],
  flags: AuditFlags,
  keys: Keys,
): readonly string[] {
  if (declared.length > 0) return declared;
  const roster = flags.peer ?? [...keys.store.peers.keys()];
  if (roster.length >= 2) return roster;
  throw new DeaddropError("usage", "this wire does not say who is on it", {
    hint: "name its agents: --peer <handle>, once for each",
  });
}

/** What the wire claims: better than nothing for an auditor who has pinned nobody. */
function advertisedKeysOf(disk: Disk, wireDir: string): Keys {
  const path = wirePaths(wireDir).trust;
  const bytes = readWhole(disk, path);
  const parsed = bytes === undefined ? undefined : parseTrustFile(bytes, path, "UNTRUSTED");
  if (parsed?.ok !== true) return NO_KEYS;
  const { peers, version } = parsed.document;
  // Anybody who writes there would let everybody write unsigned lines.
  const claimed = [...peers].map(
    ([handle, peer]) => [handle, { ...peer, mayBeUnsigned: false }] as const,
  );
  return { from: "advertised", store: { version: version ?? 0, peers: new Map(claimed) } };
}

function givenKeys(cli: Cli, flags: AuditFlags): Keys | undefined {
  if (flags.trust === undefined) return undefined;
  const path = fileAt(cli, flags.trust);
  const parsed = parseTrustFile(readFileSync(path), path, "ATTESTED");
  if (!parsed.ok) throw new DeaddropError("usage", parsed.detail);
  const { peers, version } = parsed.document;
  return { from: "given", store: { version: version ?? 0, peers } };
}
