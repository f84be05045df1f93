import { join } from "node:path";
import { growthView, type GrowthView } from "../../agent/answers/growth.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { AgentConfig } from "../../agent/config/agent-config.ts";
import { noDaemon } from "../../agent/answers/troubles.ts";
import { unownedLogs } from "../../agent/answers/unowned-logs.ts";
import { listWire, makeWireLayout } from "../../carriers/folder.ts";
import { knownMembership } from "../../agent/config/known-handles.ts";
import { StorageError, type Disk } from "../../storage/disk/disk.ts";
import { lockHolder } from "../../storage/disk/lock.ts";
import { unownedText } from "../../storage/unowned-text.ts";
import { trustDrift } from "../../trust/cards/advertised.ts";
import { mayBeUnsigned } from "../../trust/policy/config.ts";
import { weaknesses } from "../../trust/policy/weak-policy.ts";
import { absentNote } from "../guard/project-files.ts";
import { projectFrom } from "../guard/project-paths.ts";
import { failed, ok, warning, type Finding } from "./host-checks.ts";
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
    return [failed(check, error.message, error.hint ?? "see the message")];
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
      ? warning(
          "key",
          `${keyId} is ${days} days old`,
          "change keys twice a year: deaddrop key rotate",
        )
      : ok("key", `${keyId}, ${days} days old`);
  const parsed = readWireTrust(disk, wire.trust);
  if (parsed?.ok === false) {
    return [age, failed("advertised keys", parsed.detail, `correct ${wire.trust}`)];
  }
  const keys = parsed?.document.peers.get(handle)?.keys ?? [];
  const isListed = keys.some((key) => key.keyId === keyId && key.active);
  return [
    age,
    isListed
      ? ok("advertised key", `${keyId} is in the wire's trust.json`)
      : warning(
          "advertised key",
          `${keyId} is not in ${wire.trust}`,
          `peers cannot find it there: deaddrop join ${wire.folder} --me ${handle}`,
        ),
  ];
}

/** Whom we believe: pins, tiers, holds, and where the wire claims something else. Spec 2.1, 2.3. */
export function checkPeers(disk: Disk, place: AgentConfig): readonly Finding[] {
  const { members } = knownMembership(disk, place);
  const peers = [...members].filter(([handle]) => handle !== place.handle);
  return [
    ...peers.map(([handle]) => checkPeer(place, handle)),
    ...driftFindings(disk, place),
    ...peers.flatMap(([handle, chains]) => (chains ? [] : [doesNotChain(handle)])),
  ];
}

function checkPeer({ store, wire, handle: self }: AgentConfig, handle: string): Finding {
  const check = `peer ${handle}`;
  const peer = store.peers.get(handle);
  const where = `--wire ${wire.folder} --as ${self}`;
  const pin = `deaddrop trust pin ${handle} --tier VERIFIED ${where}`;
  const compare = `compare the digits with its operator by phone: deaddrop trust sas ${handle} ${where}`;
  if (peer === undefined)
    return warning(check, "nothing is pinned, so nothing it says is taken", compare);
  if (peer.blocked)
    return warning(check, "blocked", `decide whether it stays so: deaddrop trust list`);
  if (peer.held !== undefined) {
    const fix =
      "find out what happened, then decide: deaddrop trust list, deaddrop incident notices";
    return warning(check, `held: ${peer.held.detail}`, fix);
  }
  if (peer.tier === undefined) return warning(check, "of a tier that does not exist", pin);
  if (peer.tier === "UNTRUSTED") {
    return warning(check, "UNTRUSTED: only its heartbeats are taken", compare);
  }
  const keys = peer.keys.filter((key) => key.active).length;
  return ok(check, `${peer.tier}, ${keys} ${keys === 1 ? "key" : "keys"}`);
}

function driftFindings(disk: Disk, { store, wire }: AgentConfig): readonly Finding[] {
  const parsed = readWireTrust(disk, wire.trust);
  if (parsed?.ok !== true) return [];
  const fix = "it is not used; ask its owner, over another channel, whether it is theirs";
  return trustDrift(store, parsed.document)
    .filter(({ cause }) => cause !== "unknown_agent")
    .map(({ cause, detail }) =>
      cause === "earlier_key"
        ? ok("advertised keys", detail)
        : warning("advertised keys", detail, fix),
    );
}

/** Replay of unchained lines from another wire cannot be told apart. Spec 1.6, 2.6. */
function doesNotChain(handle: string): Finding {
  return warning(
    `chain of ${handle}`,
    `${handle} does not chain its lines: what it wrote on another wire could be replayed here`,
    `have ${handle} use deaddrop, and then mark it: deaddrop member chains ${handle}`,
  );
}

/** Files of lines that nobody reads. Spec 1.9. */
export function checkUnowned(disk: Disk, place: AgentConfig): readonly Finding[] {
  const { wire } = place;
  const membership = knownMembership(disk, place);
  const { unowned } = listWire(disk, wire.folder, makeWireLayout(membership));
  const found = unownedText(unownedLogs(disk, wire.folder, unowned));
  if (found === undefined) return [];
  return [
    warning(
      "unowned logs",
      `they belong to nobody who was ever a member (${membership.handles.join(", ")}) and are not read: ${found}`,
      "find out who wrote them, and move them away",
    ),
  ];
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
  const weak = weaknesses(config, [...pinned.roster.keys()], [handle]).map(({ detail }) =>
    warning(
      "policy",
      detail,
      "you agreed to it; it ends when the wire's config.json is changed and you accept that: deaddrop config accept",
    ),
  );
  const unsigned = [...store.peers.values()].filter(
    (peer) => peer.mayBeUnsigned && mayBeUnsigned(config.signing, peer.handle),
  );
  const findings = [
    ...weak,
    ...unsigned.map((peer) =>
      warning(
        "policy",
        `unsigned lines of ${peer.handle} are taken whatever key is pinned: anybody who can write in the folder can speak as ${peer.handle}`,
        `pin its key, once it signs: deaddrop trust pin ${peer.handle}`,
      ),
    ),
  ];
  if (findings.length > 0) return findings;
  return [ok("policy", "nothing that you hold on to is weaker than the defaults")];
}

/** Domains whose paths match nothing in the project that is asked from: nobody owns what was meant. */
export function checkDomains({ config, wire }: AgentConfig, folder: string): readonly Finding[] {
  const project = projectFrom(wire.folder, folder);
  return [...config.domains].flatMap(([name, { owner, paths }]) => {
    const absent = absentNote(project, paths);
    if (absent === undefined) return [];
    const fix = `if that is a mistake, correct it in ${wire.config}; then everybody runs: deaddrop config accept`;
    return [warning("domains", `domain ${quote(name)} of ${owner}: ${absent}`, fix)];
  });
}

export function checkDaemon(disk: Disk, { paths, handle, wire }: AgentConfig): Finding {
  const holder = lockHolder(disk, paths.lock);
  if (holder?.role === "daemon") return ok("daemon", `running, process ${holder.pid}`);
  const { detail, end } = noDaemon(wire.folder, handle);
  return failed("daemon", detail, end);
}
