import { join } from "node:path";
import { configOf, layoutOf } from "../../agent/config/agent-config.ts";
import { readAgentSettings } from "../../agent/config/settings.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import type { OwnHead } from "../../storage/own-log/heads.ts";
import { endOfOwnLog, type OwnClaim } from "../../storage/own-log/own-log-end.ts";
import { wirePaths, type AgentPaths } from "../../storage/paths.ts";
import { wholeLogs } from "../../storage/archive/whole-logs.ts";
import { authenticate } from "../../admission/authenticate.ts";
import type { AdmissionContext } from "../../admission/context.ts";
import { newPeer } from "../../trust/store.ts";
import { isChained, isOfAnotherWire } from "../../wire/chain.ts";
import { ownLogs } from "../../wire/layout.ts";
import { parseMessage } from "../../wire/message.ts";
import { quote } from "../../wire/quote.ts";
import { keyId, publicKeyOf } from "../../wire/signature.ts";

/** By what our own logs are found and read: as it will be after the restore. */
export interface LogsToFollow {
  readonly config: Uint8Array | undefined;
  readonly settings: Uint8Array | undefined;
  readonly peers: readonly string[] | undefined;
  /** Every private key of ours that is at hand. */
  readonly seeds: readonly Uint8Array[];
  readonly remembered: ReadonlyMap<string, OwnHead>;
}

export interface FollowedLogs {
  readonly own: ReadonlyMap<string, OwnHead>;
  /** Logs with lines of ours that keys have signed which are not at hand. In words. */
  readonly older: readonly string[];
  /** Logs that their daemon will not write to. In words. */
  readonly notes: readonly string[];
}

/** Our own heads, moved on to the last line that each of our logs shows. */
export function followOwnLogs(disk: Disk, paths: AgentPaths, by: LogsToFollow): FollowedLogs {
  const wire = wirePaths(paths.wireDir);
  const logs = wholeLogs(disk, paths.wireDir);
  const config = configOf("config.json", by.config);
  const settings = readAgentSettings(jsonOf(by.settings), "settings.json");
  const request = { wireDir: paths.wireDir, handle: paths.handle, peers: by.peers };
  const layout = layoutOf(config, request, settings);
  const ctx: AdmissionContext = {
    wireId: config.wireId,
    signing: config.signing,
    limits: config.limits,
    store: { version: 0, peers: new Map([[paths.handle, ourselves(paths.handle, by.seeds)]]) },
    self: paths.handle,
  };
  const own = new Map(by.remembered);
  const older: string[] = [];
  const notes: string[] = [];
  for (const { name, path } of ownLogs(layout, paths.handle)) {
    const log = join(wire.folder, path);
    const end = endOfOwnLog(logs, log, own.get(name), (line) => claimOf(name, line, ctx));
    if (end.head !== undefined) own.set(name, end.head);
    if (end.problem !== undefined) notes.push(`${name}: ${end.problem}`);
    if (end.unknownKeys.length > 0) {
      const keys = end.unknownKeys.map((id) => quote(id)).join(", ");
      older.push(
        `${name}: later lines of ${paths.handle} are signed with ${keys}, a key not in it`,
      );
    }
  }
  return { own, older, notes };
}

function claimOf(log: string, line: Uint8Array, ctx: AdmissionContext): OwnClaim | undefined {
  const result = authenticate(line, { owner: ctx.self, log }, ctx);
  if (result.ok) {
    const { message } = result;
    if (!isChained(message) || isOfAnotherWire(message, ctx.wireId)) return undefined;
    return { by: "us", seq: message.seq, id: message.id, prev: message.prev };
  }
  if (result.reason !== "untrusted_key") return undefined;
  const parsed = parseMessage(line);
  if (!parsed.ok || !isChained(parsed.message)) return undefined;
  return { by: "unknown key", seq: parsed.message.seq, keyId: parsed.message.publicKeyId ?? "" };
}

function ourselves(handle: string, seeds: readonly Uint8Array[]) {
  const byId = new Map(
    seeds.map((seed) => {
      const key = publicKeyOf(seed);
      return [keyId(handle, key), { keyId: keyId(handle, key), key, addedAt: "", active: true }];
    }),
  );
  return { ...newPeer(handle), tier: "TRUSTED" as const, keys: [...byId.values()] };
}

function jsonOf(bytes: Uint8Array | undefined): unknown {
  return bytes === undefined ? undefined : JSON.parse(Buffer.from(bytes).toString("utf8"));
}
