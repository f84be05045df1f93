import { makeLayout } from "../../src/wire/layout.ts";
import { DEFAULT_LIMITS } from "../../src/wire/limits.ts";
import { authenticate } from "../../src/admission/authenticate.ts";
import type { AdmissionContext, LineSource } from "../../src/admission/context.ts";
import {
  acceptFromHere,
  newLogAdmission,
  saveLogAdmission,
  type LogAdmission,
  type SavedLogAdmission,
} from "../../src/admission/log-admission.ts";
import { NOBODY_LEFT, type Absences } from "../../src/wire/roster/members.ts";
import { judge } from "../../src/admission/judge.ts";
import { parseTrustFile } from "../../src/trust/trust-file.ts";
import type { Peer, PinnedKey } from "../../src/trust/store.ts";
import { alice, bob, context, lineOf, NOON_MS, note, pinned, signV31 } from "../trust/people.ts";
import { vectorFile } from "../wire/vector-files.ts";
import { TORSION_KEY_ID, torsionKey } from "./torsion-signer.ts";

/** A place and a policy under which a line is judged, and what its log has shown before. */
export interface Situation {
  readonly name: string;
  readonly source: LineSource;
  readonly ctx: AdmissionContext;
  /** Lines that the log has taken in, in their order. */
  readonly shown: readonly Uint8Array[];
  readonly receivedAtMs: number;
  readonly mayBeginLate: boolean;
  readonly otherAddressees: readonly string[];
  /** Which line of the chain has closed the log. */
  readonly closedBy: number | undefined;
  /** After which line of the chain its author left, and with which it came back. */
  readonly left: LeftPlan | undefined;
  readonly fresh: LogAdmission;
  readonly saved: SavedLogAdmission;
}

interface LeftPlan {
  readonly after: number;
  readonly back?: number;
}

const LOG = "alice_to_bob";

/** alice's chain; every line names the one before it. */
export const CHAIN = chainOf("w1", 6);

function chainOf(wire: string, length: number): readonly Record<string, unknown>[] {
  const lines: Record<string, unknown>[] = [];
  for (let seq = 1; seq <= length; seq++) {
    const prev = lines.at(-1)?.["event_id"];
    const place = { wire, log: LOG, seq, ...(prev === undefined ? {} : { prev }) };
    lines.push(signV31(note({ ...place, body: `line ${seq}` })));
  }
  return lines;
}

const chainLine = (seq: number): Uint8Array => lineOf(CHAIN[seq - 1] ?? {});

/** The keys of the published vectors, and ours beside them. */
function peers(change: Partial<Peer> = {}, pinnedAt?: string): ReadonlyMap<string, Peer> {
  const file = Buffer.from(JSON.stringify(vectorFile("trust.json")));
  const parsed = parseTrustFile(file, "trust.json", "ATTESTED");
  if (!parsed.ok) throw new Error(parsed.detail);
  const crooked: PinnedKey = { ...pinned(alice), keyId: TORSION_KEY_ID, key: torsionKey };
  const published = parsed.document.peers;
  return new Map(
    [alice, bob].map((who) => {
      const peer = published.get(who.handle);
      if (peer === undefined) throw new Error(`${who.handle} is not in the vectors`);
      const keys = [...peer.keys, pinned(who), ...(who === alice ? [crooked] : [])];
      const dated = keys.map((key) => ({ ...key, addedAt: pinnedAt ?? key.addedAt }));
      return [who.handle, { ...peer, keys: dated, ...change }];
    }),
  );
}

interface Plan {
  readonly peer?: Partial<Peer>;
  /** When the keys were pinned; as the vectors have it unless said. */
  readonly pinnedAt?: string;
  readonly ctx?: Partial<AdmissionContext>;
  readonly source?: LineSource;
  readonly shown?: readonly number[];
  readonly mayBeginLate?: boolean;
  readonly closedBy?: number;
  readonly left?: LeftPlan;
  readonly receivedAtMs?: number;
}

function leftBy(left: LeftPlan | undefined): Absences {
  if (left === undefined) return NOBODY_LEFT;
  const at = (seq: number) => new Map([[LOG, { lines: seq, seq, eventId: undefined }]]);
  const back = left.back === undefined ? undefined : { atMs: NOON_MS, logs: at(left.back) };
  return new Map([["alice", [{ atMs: NOON_MS, logs: at(left.after), back }]]]);
}

function situation(name: string, plan: Plan): Situation {
  const layout = makeLayout("pairwise", ["alice", "bob", "carol"]);
  const source = plan.source ?? { owner: "alice", log: LOG };
  const log = layout.logs.get(source.log ?? LOG);
  if (log === undefined) throw new Error(`no log ${source.log}`);
  const store = { version: 1, peers: peers(plan.peer, plan.pinnedAt) };
  const ctx = context({ wireId: "w1", store, left: leftBy(plan.left), ...plan.ctx });
  const fresh = newLogAdmission(log, layout, 1);
  const state = newLogAdmission(log, layout, 1);
  if (plan.mayBeginLate === true) acceptFromHere(state);
  const shown = (plan.shown ?? []).map(chainLine);
  const open = context({ wireId: "w1", store: { version: 1, peers: peers() } });
  for (const line of shown) {
    const authentic = authenticate(line, source, open);
    if (!authentic.ok) throw new Error(authentic.detail);
    const verdict = judge(authentic, state, open, { mode: "live", receivedAtMs: NOON_MS });
    if (verdict.outcome !== "accepted") throw new Error(`${name}: ${verdict.outcome}`);
  }
  if (plan.closedBy !== undefined) {
    const id = String(CHAIN[plan.closedBy - 1]?.["event_id"]);
    state.closing = { into: "alice", by: { seq: plan.closedBy, id } };
  }
  return {
    name,
    source,
    ctx,
    closedBy: plan.closedBy,
    left: plan.left,
    shown,
    receivedAtMs: plan.receivedAtMs ?? NOON_MS + 40 * 86_400_000,
    mayBeginLate: plan.mayBeginLate ?? false,
    otherAddressees: fresh.readers.others,
    fresh,
    saved: saveLogAdmission(state),
  };
}

const held = { cause: "log_forked", detail: "two lines 4", sinceMs: NOON_MS };

export const SITUATIONS: readonly Situation[] = [
  situation("three lines of a chain", { shown: [1, 2, 3] }),
  situation("a chain with a gap", { shown: [1, 2, 5], peer: { allowUnchained: true } }),
  situation("a log that its author has closed", { shown: [1, 2, 3], closedBy: 3 }),
  situation("a closed log with a gap", {
    shown: [1, 2, 5],
    closedBy: 5,
    peer: { allowUnchained: true },
  }),
  situation("a log whose author has left", {
    shown: [1, 2, 3],
    left: { after: 3 },
    peer: { allowUnchained: true },
  }),
  situation("a log whose author has come back", { shown: [1, 2], left: { after: 2, back: 5 } }),
  situation("an empty log that may begin late", { mayBeginLate: true }),
  situation("a wire without an id", { ctx: { wireId: undefined } }),
  situation("a line without a place", {
    source: { owner: undefined, log: undefined },
    ctx: { wireId: undefined },
  }),
  situation("unsigned lines are let in", {
    shown: [1],
    peer: { mayBeUnsigned: true },
    ctx: { signing: { enforceSigned: true, allowUnsignedFrom: ["alice"] } },
  }),
  situation("policy lets unsigned lines in, and a key is pinned", {
    shown: [1],
    ctx: { signing: { enforceSigned: true, allowUnsignedFrom: ["alice"] } },
  }),
  situation("unsigned lines before the first signed one are history", {
    pinnedAt: "2026-06-01T12:00:02Z",
    source: {
      owner: "alice",
      log: LOG,
      unsignedPast: () => ({ noted: undefined, isBeforeSigned: true }),
    },
    ctx: { signing: { enforceSigned: false, allowUnsignedFrom: [] } },
  }),
  situation("nobody has to sign", {
    source: { owner: undefined, log: undefined },
    peer: { mayBeUnsigned: true },
    ctx: { wireId: undefined, signing: { enforceSigned: false, allowUnsignedFrom: [] } },
  }),
  situation("bob's log, small limits, received at noon", {
    source: { owner: "bob", log: "bob_to_alice" },
    ctx: { wireId: undefined, limits: { ...DEFAULT_LIMITS, maxMessageBodyKb: 1, maxRefs: 2 } },
    receivedAtMs: NOON_MS,
  }),
  situation("an untrusted peer", { shown: [1, 2], peer: { tier: "UNTRUSTED" } }),
  situation("a verified peer", { ctx: { wireId: undefined }, peer: { tier: "VERIFIED" } }),
  situation("a trusted peer, small limits", {
    ctx: { limits: { ...DEFAULT_LIMITS, maxMessageBodyKb: 1, maxRefs: 2 } },
    peer: { tier: "TRUSTED" },
    shown: [1],
  }),
  situation("a peer of no tier", { peer: { tier: undefined } }),
  situation("a held peer", { shown: [1, 2], peer: { held } }),
];
