import { join } from "node:path";
import type { AgentConfig } from "../../agent/config/agent-config.ts";
import { FORKS } from "../../agent/duties/evidence.ts";
import { moment } from "../../framing/when.ts";
import { lookAt } from "../../setup/contact/first-contact.ts";
import type { SetupHost } from "../../setup/host.ts";
import { advertisedKeys, keyReport, readWireTrust, type KeyReport } from "../../setup/report.ts";
import { evidenceFor } from "../../storage/files/evidence.ts";
import { trustDrift, type Drift } from "../../trust/cards/advertised.ts";
import { signingKey } from "../../trust/cards/card.ts";
import type { Peer } from "../../trust/store.ts";
import type { Tier } from "../../trust/tiers.ts";
import { agentPlace, type AgentPlace } from "../agent-place.ts";
import { define } from "../command.ts";
import type { Cli, GlobalFlags } from "../context.ts";
import { emit, table, type Cell, type Paint } from "../output/output.ts";

/** A row of `deaddrop trust list --json`. */
interface TrustRow {
  handle: string;
  /** True for ourselves: our own key, which is believed without a pin. */
  self: boolean;
  tier: Tier | null;
  blocked: boolean;
  /** Why it is held; null: it is not. */
  held: { cause: string; detail: string; since: string } | null;
  allow_unchained: boolean;
  allow_unsigned: boolean;
  /** Pinned keys. */
  keys: (KeyReport & { active: boolean; added_at: string })[];
  /** Of its card in the wire, when its agent has pins and this key is none: it waits for you. */
  pending: readonly KeyReport[];
  /** What the wire claims; nothing of it is used. */
  advertised: readonly KeyReport[];
  /** Files that keep what a fork of its chain has shown; absolute paths. */
  evidence: string[];
  /** Where the wire's claim departs from the pins. */
  drift: { cause: string; key_id: string; detail: string }[];
}

export const list = define({
  about: "the pins, their tiers, and where the wire claims something else",
  run(cli, flags) {
    const at = agentPlace(cli, flags);
    const rows = trustRows(at);
    emit(cli, flags, rows, (paint) => listText(rows, paint, cli.stdout.columns));
  },
});

function trustRows({ host, place, peers }: AgentPlace): TrustRow[] {
  const { store } = place;
  const advertised = advertisedKeys(host, place.wire.folder);
  const drifts = driftsOf({ host, place, peers });
  const handles = [...new Set([place.handle, ...peers, ...store.peers.keys()])];
  return handles.map((handle) => {
    const peer = store.peers.get(handle);
    return {
      handle,
      self: handle === place.handle,
      tier: peer?.tier ?? null,
      blocked: peer?.blocked ?? false,
      held: holdOf(peer),
      allow_unchained: peer?.allowUnchained ?? false,
      allow_unsigned: peer?.mayBeUnsigned ?? false,
      keys: (peer?.keys ?? []).map((key) => ({
        ...keyReport(key.keyId, key.key),
        active: key.active,
        added_at: key.addedAt,
      })),
      pending: pendingKeys({ host, place, peers }, peer),
      advertised: advertised.get(handle) ?? [],
      evidence: evidenceFiles(host, place, handle),
      drift: drifts
        .filter((drift) => drift.handle === handle)
        .map(({ cause, keyId, detail }) => ({ cause, key_id: keyId, detail })),
    };
  });
}

/** The row of one agent, as it is now. */
export function trustRow(cli: Cli, flags: GlobalFlags, handle: string): TrustRow | undefined {
  return trustRows(agentPlace(cli, flags)).find((each) => each.handle === handle);
}

/** Spec 2.2: a card never replaces a pin; its key is pending until the operator accepts it. */
function pendingKeys({ host, place, peers }: AgentPlace, peer: Peer | undefined): KeyReport[] {
  if (peer === undefined || peer.keys.length === 0 || !peers.includes(peer.handle)) return [];
  const look = lookAt(host, place, peer.handle);
  if (look.is !== "card") return [];
  const { keyId, key } = signingKey(look.card);
  const isKnown = peer.keys.some((pinned) => Buffer.compare(pinned.key, key) === 0);
  return isKnown ? [] : [keyReport(keyId, key)];
}

function evidenceFiles(
  { disk }: SetupHost,
  { paths: { evidence } }: AgentConfig,
  handle: string,
): string[] {
  return evidenceFor(disk, evidence, handle, FORKS).map((file) => join(evidence, file));
}

/** How far a peer is believed, in a word. */
export function standingOf(row: TrustRow | undefined): string {
  if (row?.blocked === true) return "blocked";
  return row?.tier ?? "of no tier";
}

/** Where the wire's trust.json departs from what is pinned. Spec 2.1. */
function driftsOf({ host, place }: AgentPlace): readonly Drift[] {
  const claimed = readWireTrust(host.disk, place.wire.trust);
  return claimed?.ok === true ? trustDrift(place.store, claimed.document) : [];
}

function holdOf(peer: Peer | undefined): TrustRow["held"] {
  if (peer?.held === undefined) return null;
  const { cause, detail, sinceMs } = peer.held;
  return { cause, detail, since: new Date(sinceMs).toISOString() };
}

function listText(rows: readonly TrustRow[], paint: Paint, width: number | undefined): string {
  const cells = rows.flatMap((row) => (row.keys.length === 0 ? [cellsOf(row)] : keyRows(row)));
  const notes = rows.flatMap((row) => notesOf(row));
  const body = table([heading(), ...cells], paint, width);
  return notes.length === 0 ? body : `${body}\n\n${table(notes, paint, undefined)}`;
}

function heading(): Cell[] {
  return ["AGENT", "TIER", "KEY", "FINGERPRINT"].map((text) => ({ text, style: "dim" }));
}

function keyRows(row: TrustRow): Cell[][] {
  const pending = row.pending.map((key): Cell[] => [
    ...[{ text: "" }, { text: "" }],
    { text: `${key.key_id} (pending)`, style: "yellow" },
    { text: key.fingerprint },
  ]);
  const pinned = row.keys.map((key, at) => {
    const [agent, tier] = at === 0 ? cellsOf(row) : [{ text: "" }, { text: "" }];
    const ended = key.active ? "" : " (stopped)";
    const id: Cell = { text: `${key.key_id}${ended}`, style: key.active ? undefined : "red" };
    return [agent ?? { text: "" }, tier ?? { text: "" }, id, { text: key.fingerprint }];
  });
  return [...pinned, ...pending];
}

function cellsOf(row: TrustRow): Cell[] {
  const tier = row.self ? "you" : row.keys.length === 0 ? "not pinned" : (row.tier ?? "no tier");
  return [{ text: row.handle, style: "bold" }, { text: tier }, { text: "-" }, { text: "-" }];
}

function notesOf(row: TrustRow): Cell[][] {
  const notes = row.drift.map(({ cause, detail }): Cell[] => [
    cause === "earlier_key" ? { text: "earlier key" } : { text: "drift", style: "yellow" },
    { text: detail },
  ]);
  for (const { key_id: id } of row.pending) {
    const words = `${id}: from its card; accept with: deaddrop trust sas ${row.handle}, or deaddrop trust pin ${row.handle} <its card> --fingerprint <as its operator reads it out>`;
    notes.push([{ text: "pending", style: "yellow" }, { text: words }]);
  }
  if (row.allow_unsigned) {
    const words = `${row.handle}: where policy lets it; ends with: deaddrop trust pin ${row.handle} <its key>`;
    notes.push([{ text: "may be unsigned", style: "yellow" }, { text: words }]);
  }
  if (row.blocked) notes.push([{ text: "blocked", style: "red" }, { text: row.handle }]);
  if (row.held !== null) {
    const { detail, since } = row.held;
    notes.push([
      { text: "held", style: "red" },
      { text: `${row.handle} since ${moment(since)}: ${detail}` },
    ]);
  }
  if (row.evidence.length > 0) {
    const text = `${row.handle}: ${row.evidence.length} files; see: deaddrop peers show ${row.handle}`;
    notes.push([{ text: "evidence", style: "yellow" }, { text }]);
  }
  return notes;
}
