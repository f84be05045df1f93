import { join } from "node:path";
import { growthView, type GrowthView } from "../../agent/answers/growth.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { AgentConfig } from "../../agent/config/agent-config.ts";
import { NO_HINT, trouble } from "../../api/troubles.ts";
import { listWire, makeWireLayout } from "../../carriers/folder.ts";
import { knownMembership } from "../../agent/config/known-handles.ts";
import { StorageError, type Disk } from "../../storage/disk/disk.ts";
import { lockHolder } from "../../storage/disk/lock.ts";
import { trustDrift } from "../../trust/cards/advertised.ts";
import { mayBeUnsigned } from "../../trust/policy/config.ts";
import { weaknesses } from "../../trust/policy/weak-policy.ts";
import { absentNote } from "../guard/project-files.ts";
import { projectFrom } from "../guard/project-paths.ts";
import { ok, type Finding } from "./host-checks.ts";
import { DAY_MS } from "../../wire/durations.ts";
import { quote } from "../../wire/quote.ts";
import { readWireTrust } from "../report.ts";
import { MAX_KEY_AGE_DAYS } from "../../trust/store.ts";

/** Runs a check; trouble on the way is a finding too, with the hint that came with it. */
export function checking(check: string, run: () => readonly Finding[]): readonly Finding[] {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof StorageError) && !(error instanceof DeaddropError)) throw error;
    const { message: problem, hint = NO_HINT } = error;
    return [trouble("check_failed", { what: check, problem, hint })];
  }
}

/** The agent's own key: how old it is, and whether Python peers can find it. Spec 2.1, 2.5. */
export function checkKey(disk: Disk, place: AgentConfig, nowMs: number): readonly Finding[] {
  const { handle, identity, paths, wire } = place;
  const { keyId } = identity.signer;
  const made = disk.stat(paths.signing.key) ?? disk.stat(paths.identity.key);
  const madeMs = made?.mtimeMs ?? nowMs;
  const days = Math.floor((nowMs - madeMs) / DAY_MS);
  const age =
    days > MAX_KEY_AGE_DAYS
      ? trouble("key_old", { key: keyId, days })
      : ok("key", `${keyId}, ${days} days old`);
  const parsed = readWireTrust(disk, wire.trust);
  if (parsed?.ok === false) return [age, trouble("trust_drift", { difference: parsed.detail })];
  const keys = parsed?.document.peers.get(handle)?.keys ?? [];
  const isListed = keys.some((key) => key.keyId === keyId && key.active);
  return [
    age,
    isListed
      ? ok("advertised key", `${keyId} is in the wire's trust.json`)
      : trouble("key_not_advertised", { key: keyId, file: wire.trust, wire: wire.folder, handle }),
  ];
}

/** Whom we believe: pins, tiers, holds, and where the wire claims something else. Spec 2.1, 2.3. */
export function checkPeers(disk: Disk, place: AgentConfig): readonly Finding[] {
  const { members } = knownMembership(disk, place);
  const peers = [...members].filter(([handle]) => handle !== place.handle);
  return [
    ...peers.map(([handle]) => checkPeer(place, handle)),
    ...driftFindings(disk, place),
    // Replay of unchained lines from another wire cannot be told apart. Spec 1.6, 2.6.
    ...peers.flatMap(([peer, chains]) => (chains ? [] : [trouble("peer_unchained", { peer })])),
  ];
}

/** That one is held, the agent itself says. */
function checkPeer({ store, wire, handle: self }: AgentConfig, peer: string): Finding {
  const { tier, blocked = false, keys = [] } = store.peers.get(peer) ?? {};
  const place = `--wire ${wire.folder} --as ${self}`;
  if (blocked) return trouble("peer_blocked", { peer });
  if (tier === undefined) return trouble("peer_unpinned", { peer, place });
  if (tier === "UNTRUSTED") return trouble("peer_untrusted", { peer, place });
  const active = keys.filter((key) => key.active).length;
  return ok(`peer ${peer}`, `${tier}, ${active} ${active === 1 ? "key" : "keys"}`);
}

function driftFindings(disk: Disk, { store, wire }: AgentConfig): readonly Finding[] {
  const parsed = readWireTrust(disk, wire.trust);
  if (parsed?.ok !== true) return [];
  return trustDrift(store, parsed.document)
    .filter(({ cause }) => cause !== "unknown_agent")
    .map(({ cause, detail: difference }) =>
      cause === "earlier_key"
        ? ok("advertised keys", difference)
        : trouble("trust_drift", { difference }),
    );
}

/** How large what grows with use is. Spec 4.6. */
export function growthOf(disk: Disk, place: AgentConfig): readonly GrowthView[] {
  const { wire } = place;
  const layout = makeWireLayout(knownMembership(disk, place));
  const { carriers } = listWire(disk, wire.folder, layout);
  const files = {
    logs: carriers.map(({ name }) => join(wire.folder, name)),
    decisions: [wire.decisions],
    incidents: [wire.incidents],
  };
  const { store, inbox } = place.paths;
  return growthView(
    { store: { path: store }, place: { inboxPath: inbox }, world: { disk } },
    files,
  );
}

/** What the operator has agreed to that is weaker than the defaults, listed ever after. Spec 1.1, 1.5. */
export function checkPolicy({ config, pinned, store, handle }: AgentConfig): readonly Finding[] {
  const findings = [
    ...weaknesses(config, [...pinned.roster.keys()], [handle]).map(({ detail: weakness }) =>
      trouble("policy_weak", { weakness }),
    ),
    ...[...store.peers.values()]
      .filter((peer) => peer.mayBeUnsigned && mayBeUnsigned(config.signing, peer.handle))
      .map((peer) => trouble("unsigned_taken", { peer: peer.handle })),
  ];
  if (findings.length > 0) return findings;
  return [ok("policy", "nothing that you hold on to is weaker than the defaults")];
}

/** Domains whose paths match nothing in the project that is asked from: nobody owns what was meant. */
export function checkDomains({ config, wire }: AgentConfig, folder: string): readonly Finding[] {
  const project = projectFrom(wire.folder, folder);
  return [...config.domains].flatMap(([name, { owner, paths }]) => {
    const problem = absentNote(project, paths);
    if (problem === undefined) return [];
    return [
      trouble("domain_unmatched", { domain: quote(name), owner, problem, file: wire.config }),
    ];
  });
}

/** Nothing where none runs: the agent itself says that. */
export function checkDaemon(disk: Disk, { paths }: AgentConfig): readonly Finding[] {
  const holder = lockHolder(disk, paths.lock);
  return holder?.role === "daemon" ? [ok("daemon", `running, process ${holder.pid}`)] : [];
}
