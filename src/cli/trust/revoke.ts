import { DeaddropError } from "../../api/errors.ts";
import { lastMessage } from "../../setup/checks/last-message.ts";
import { changePrivateTrust } from "../../agent/config/trust-store.ts";
import { openHeads } from "../../storage/own-log/heads.ts";
import { revokeKey } from "../../trust/pins.ts";
import type { KeyEnd } from "../../trust/store.ts";
import { ownLogs } from "../../wire/layout.ts";
import { parseKeyId } from "../../wire/signature.ts";
import { join } from "node:path";
import { agentPlace, haveHeadsSaved, reloadDaemon, type AgentPlace } from "../agent-place.ts";
import { confirmOperator, type ConsentFlags } from "../input/confirm.ts";
import type { Cli, GlobalFlags } from "../context.ts";
import { emit } from "../output/output.ts";

/** `deaddrop trust revoke`: stops a key at once and holds its agent. Spec 2.5. */
export async function run(
  cli: Cli,
  keyId: string,
  flags: GlobalFlags & ConsentFlags,
): Promise<void> {
  const at = agentPlace(cli, flags);
  const handle = pinnedOwner(at, keyId);
  await confirmOperator(
    cli,
    flags,
    {
      action: "trust revoke",
      target: keyId,
      effect: [
        `${keyId} stops at once: nothing that it signs from now on is believed.`,
        `${handle} is UNTRUSTED and held: none of its lines is taken until a new key is compared.`,
        "What it signed until now stays good in audits.",
      ],
      word: keyId,
    },
    at.place.paths.operatorJournal,
  );
  await haveHeadsSaved(at.place.paths);
  const ends = endsOf(at, handle);
  changePrivateTrust(at.host.disk, at.place.paths, (store) =>
    revokeKey(store, keyId, cli.clock.nowMs(), ends),
  );
  const told = await reloadDaemon(at.place.paths);
  const logs = Object.fromEntries(ends);
  emit(cli, flags, { key_id: keyId, held: handle, last_lines: logs, daemon_told: told }, (paint) =>
    [
      `${paint("red", "revoked")} ${keyId}; ${handle} is held`,
      `what it has signed: deaddrop audit --key ${keyId} --since <when it was lost>`,
      `a new key of ${handle} enters by its card and the digits: deaddrop trust sas ${handle}`,
      `or by its fingerprint: deaddrop trust pin ${handle} <key or card> --tier VERIFIED`,
    ].join("\n"),
  );
}

function pinnedOwner({ place }: AgentPlace, keyId: string): string {
  const handle = parseKeyId(keyId)?.handle ?? "";
  if (handle === place.handle) {
    throw new DeaddropError("refused", `${keyId} is your own key`, {
      hint: `begin with another at once: deaddrop key rotate --now; then have each peer revoke this one and compare the digits of the new one with you`,
    });
  }
  const keys = place.store.peers.get(handle)?.keys ?? [];
  if (keys.some((key) => key.keyId === keyId)) return handle;
  const known = [...place.store.peers.values()].flatMap((peer) =>
    peer.handle === place.handle ? [] : peer.keys.map((key) => key.keyId),
  );
  throw new DeaddropError("unknown_id", `no key ${keyId} is pinned`, {
    hint: known.length === 0 ? "nothing is pinned yet" : `pinned here: ${known.join(", ")}`,
  });
}

/** The last line that we hold of each log of the agent: what is signed up to there stays good. */
function endsOf({ host, place }: AgentPlace, handle: string): ReadonlyMap<string, KeyEnd> {
  const heads = openHeads(host.disk, place.paths.heads);
  const ends = new Map<string, KeyEnd>();
  for (const log of ownLogs(place.layout, handle)) {
    const head = heads.peer(log.name);
    // A log that never chained has no head: its last message is taken.
    const end = head ?? lastMessage(host.disk, join(place.wire.folder, log.path));
    if (end !== undefined) ends.set(log.name, keyEnd(end));
  }
  return ends;
}

function keyEnd({ seq, id }: { seq?: number | undefined; id: string }): KeyEnd {
  return seq === undefined ? { id } : { seq, id };
}
