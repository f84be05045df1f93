import { resolve } from "node:path";
import { readPrivateTrust } from "../../agent/config/trust-store.ts";
import { DeaddropError } from "../../api/errors.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { readWhole } from "../../storage/disk/disk.ts";
import { importTrust } from "../../trust/cards/advertised.ts";
import type { StoreChange } from "../../trust/pins.ts";
import type { TrustStore } from "../../trust/store.ts";
import { agentPlace } from "../agent-place.ts";
import { define } from "../command.ts";
import { CONSENT_OPTIONS, confirmOperator } from "../input/confirm.ts";
import { emit } from "../output/output.ts";
import { applyTrust } from "./peer.ts";

const MAX_IMPORT_BYTES = 16 * 1024 * 1024;

/** `deaddrop trust import`: takes the agents of a v3.0 or v3.1 trust file. Spec 2.1. */
export const importPins = define({
  about: "pin the agents of a trust file, v3.0 or v3.1",
  args: { "<file>": "the trust file" },
  options: {
    ...CONSENT_OPTIONS,
    "--accept-wire-trust": "take its tiers too (up to ATTESTED), instead of UNTRUSTED",
  },
  async run(cli, flags, { file: named }) {
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
  },
});

/** A file has no say in which keys are ours. */
function withoutSelf(after: TrustStore, before: TrustStore, self: string): TrustStore {
  if (!after.peers.has(self) || before.peers.has(self)) return after;
  const peers = new Map(after.peers);
  peers.delete(self);
  const onlySelf = [...peers].every(([handle, peer]) => before.peers.get(handle) === peer);
  return onlySelf ? before : { ...after, peers };
}
