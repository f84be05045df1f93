import { resolve } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { readPrivateTrust } from "../../agent/config/trust-store.ts";
import { readWhole } from "../../storage/disk/disk.ts";
import { importTrust } from "../../trust/cards/advertised.ts";
import type { StoreChange } from "../../trust/pins.ts";
import type { TrustStore } from "../../trust/store.ts";
import { agentPlace } from "../agent-place.ts";
import { confirmOperator, type ConsentFlags } from "../input/confirm.ts";
import type { Cli, GlobalFlags } from "../context.ts";
import { emit } from "../output/output.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { applyTrust } from "./peer.ts";

export interface ImportFlags extends GlobalFlags, ConsentFlags {
  acceptWireTrust?: boolean;
}

const MAX_IMPORT_BYTES = 16 * 1024 * 1024;

/** `deaddrop trust import`: takes the agents of a v3.0 or v3.1 trust file. Spec 2.1. */
export async function run(cli: Cli, named: string, flags: ImportFlags): Promise<void> {
  const { host, place } = agentPlace(cli, flags);
  const file = resolve(cli.cwd, named);
  const bytes = readWhole(host.disk, file, MAX_IMPORT_BYTES);
  if (bytes === undefined) {
    throw new DeaddropError("usage", `${file}: no such file`, {
      hint: "give a trust file, such as trust.json of the wire",
    });
  }
  const how = { acceptWireTrust: flags.acceptWireTrust === true, nowMs: cli.clock.nowMs() };
  let lines: readonly string[] = [];
  const change = (store: TrustStore): StoreChange => {
    const imported = importTrust(store, bytes, file, how);
    if (!imported.ok) return imported;
    lines = imported.lines.filter((line) => !line.startsWith(`${place.handle}: `));
    return { ok: true, store: withoutSelf(imported.store, store, place.handle) };
  };
  const before = readPrivateTrust(host.disk, place.paths);
  const planned = change(before);
  if (!planned.ok) throw new DeaddropError("refused", planned.detail);
  if (planned.store !== before) {
    const action = { action: "trust import", target: file, effect: lines, word: "import" };
    await confirmOperator(cli, flags, action, place.paths.operatorJournal);
    await applyTrust({ host, place }, change);
  }
  emit(cli, flags, { file, changed: planned.store !== before, lines }, () =>
    (lines.length === 0 ? ["nobody to take in"] : lines).map((line) => sanitise(line)).join("\n"),
  );
}

/** A file has no say in which keys are ours. */
function withoutSelf(after: TrustStore, before: TrustStore, self: string): TrustStore {
  if (!after.peers.has(self) || before.peers.has(self)) return after;
  const peers = new Map(after.peers);
  peers.delete(self);
  const onlySelf = [...peers].every(([handle, peer]) => before.peers.get(handle) === peer);
  return onlySelf ? before : { ...after, peers };
}
