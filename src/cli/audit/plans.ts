import { readFileSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import type { AuditPlan } from "../../audit/audit.ts";
import { filePlan, wirePlan, type Keys } from "../../audit/plan.ts";
import { DeaddropError } from "../../api/errors.ts";
import { loadPlace } from "../../agent/config/agent-config.ts";
import { setupHost, type SetupHost } from "../../setup/host.ts";
import { readWireConfig } from "../../setup/wire/wire-config.ts";
import { readWhole } from "../../storage/disk/disk.ts";
import { wirePaths } from "../../storage/paths.ts";
import { requireWire } from "../../storage/wire-folder.ts";
import { DEFAULT_CONFIG } from "../../trust/policy/config.ts";
import { DEFAULT_HEARTBEAT_TIERS } from "../../trust/policy/heartbeat-tiers.ts";
import { EMPTY_STORE } from "../../trust/store.ts";
import { parseTrustFile } from "../../trust/trust-file.ts";
import { findWire, joinedHandles, type Cli, type GlobalFlags } from "../context.ts";

export interface AuditFlags extends GlobalFlags {
  trust?: string;
}

/** What is audited and by whose keys: the files given, else all logs of the wire. */
export function auditPlan(cli: Cli, files: readonly string[], flags: AuditFlags): AuditPlan {
  const host = setupHost(cli.env, cli.clock.nowMs());
  return files.length === 0 ? planOfWire(cli, host, flags) : planOfFiles(cli, host, files, flags);
}

function planOfFiles(
  cli: Cli,
  { disk }: SetupHost,
  files: readonly string[],
  flags: AuditFlags,
): AuditPlan {
  const paths = files.map((file) => fileAt(cli, file));
  const planned = filePlan(disk, paths, givenKeys(cli, flags) ?? NO_KEYS);
  if (planned.ok) return planned.plan;
  throw new DeaddropError("refused", planned.detail, {
    hint: "audit the files of one wire at a time",
  });
}

const NO_KEYS: Keys = { from: "none", store: EMPTY_STORE };

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

/** By our own pins and pinned configuration where we are an agent of the wire. */
function planOfWire(cli: Cli, host: SetupHost, flags: AuditFlags): AuditPlan {
  const wireDir = findWire(cli, flags);
  requireWire(host.disk, wireDir);
  const given = givenKeys(cli, flags);
  const handle = auditorOf(cli, wireDir, flags);
  if (handle !== undefined) {
    const place = loadPlace(host.disk, host.places, { wireDir, handle, peers: flags.peer });
    const keys: Keys = given ?? { from: "pinned", store: place.store };
    const { config, tiers, layout, paths } = place;
    const by = { config, tiers, roster: layout.roster, journal: paths.journal, self: handle };
    return wirePlan(host.disk, place.wire.folder, keys, by);
  }
  const config = readWireConfig(host.disk, wireDir) ?? DEFAULT_CONFIG;
  const keys = given ?? advertisedKeysOf(host, wireDir);
  return wirePlan(host.disk, wireDir, keys, {
    config,
    tiers: DEFAULT_HEARTBEAT_TIERS,
    roster: strangersRoster(config.roster, flags, keys),
    journal: undefined,
  });
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
function advertisedKeysOf(host: SetupHost, wireDir: string): Keys {
  const path = wirePaths(wireDir).trust;
  const bytes = readWhole(host.disk, path);
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
