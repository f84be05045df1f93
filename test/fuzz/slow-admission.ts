import { createHash } from "node:crypto";
import type { PinnedKey } from "../../src/trust/store.ts";
import { pointVerdict } from "../wire/point-verdict.ts";
import { compareCodePoints, slowCanonical, type Tree } from "../wire/json/slow-json.ts";
import type { Situation } from "./situations.ts";
import { slowRead } from "./slow-reader.ts";
import { slowShape, type Said } from "./slow-shape.ts";

/** What becomes of one line, in a form in which two judges can be compared. */
export interface Judgement {
  /** `accepted`, `duplicate`, `wait`, or the reason of Spec 2.4. */
  readonly verdict: string;
  /** SHA-256 of the canonical bytes: whole, of the v3.0 form, of the v3.1 form. */
  readonly canonical: readonly string[];
  /** What an authentic line says. */
  readonly said: string;
}

/** The verdict of Spec 2.4 written down as it reads, one check after another. */
export function slowJudge(line: Uint8Array, situation: Situation): Judgement {
  if (line.length > 1_048_576) return { verdict: "oversized", canonical: [], said: "" };
  const tree = slowRead(line);
  if (tree === undefined) return { verdict: "malformed", canonical: [], said: "" };
  const texts = memberTexts(tree);
  const form = (...omit: string[]): string => formOf(texts, omit);
  const v30 = form("public_key_id", "signature");
  const v31 = form("public_key_id", "signature", "event_id");
  const canonical = [form(), v30, v31].map(sha256);
  const shape = slowShape(tree);
  if (typeof shape === "string") return { verdict: shape, canonical, said: "" };
  const id = canonical[2] as string;
  const unauthentic = unauthenticReason(v30, shape, id, situation);
  if (unauthentic !== undefined) return { verdict: unauthentic, canonical, said: "" };
  const verdict = placed(line, shape, id, situation) ?? content(shape, situation) ?? "accepted";
  return { verdict, canonical, said: sayingOf(shape) };
}

export function sayingOf(said: Omit<Said, "body" | "refs">): string {
  const { from, to, type, priority, correlationId, ackRequired, timestampMicros } = said;
  // Beyond some hundred years from 1970 a double cannot hold every microsecond.
  const near = timestampMicros ** 2n < 10n ** 31n;
  const time = near ? String(timestampMicros) : "far";
  return JSON.stringify([
    ...[from, to, type, priority, correlationId, ackRequired, time],
    ...[said.eventId, said.publicKeyId, said.signature, said.wire, said.log, said.seq, said.prev],
  ]);
}

type MemberTexts = readonly (readonly [key: string, text: string])[];

function memberTexts(tree: Tree): MemberTexts {
  if (tree.is !== "object") return [];
  return tree.members
    .toSorted(([a], [b]) => compareCodePoints(a, b))
    .map(([key, value]) => [
      key,
      `${slowCanonical({ is: "string", text: key })}:${slowCanonical(value)}`,
    ]);
}

/** The canonical object without those fields at the top. */
function formOf(texts: MemberTexts, omit: readonly string[]): string {
  const kept = texts.filter(([key]) => !omit.includes(key));
  return `{${kept.map(([, text]) => text).join(",")}}`;
}

const sha256 = (text: string): string => createHash("sha256").update(text, "utf8").digest("hex");

function versionOf(said: Said): "v3.1" | "v3.0" | "v2.0" {
  if (said.publicKeyId === undefined || said.signature === undefined) return "v2.0";
  return said.eventId === undefined ? "v3.0" : "v3.1";
}

/** `wrong_file` to `invalid_signature`. */
function unauthenticReason(
  v30: string,
  said: Said,
  id: string,
  { source, ctx }: Situation,
): string | undefined {
  if (source.owner !== undefined && said.from !== source.owner) return "wrong_file";
  if (source.log !== undefined && ![undefined, source.log].includes(said.log)) return "wrong_file";
  const both = said.publicKeyId !== undefined && said.signature !== undefined;
  const neither = said.publicKeyId === undefined && said.signature === undefined;
  const letIn = isLetInUnsigned(said, source, ctx);
  if (!both && !(neither && letIn)) return "unsigned";
  if (said.eventId !== undefined && said.eventId !== id) return "event_id_mismatch";
  if (neither) return undefined;
  const keyId = said.publicKeyId ?? "";
  const colon = [...keyId].indexOf(":");
  if (colon < 0 || [...keyId].slice(0, colon).join("") !== said.from) return "from_mismatch";
  const keys = ctx.store.peers.get(said.from)?.keys ?? [];
  const key = keys.find((each) => each.keyId === keyId && each.active);
  if (key === undefined) return "untrusted_key";
  const raw = strictBase64(said.signature ?? "");
  const signed = versionOf(said) === "v3.1" ? Buffer.from(id, "hex") : Buffer.from(v30, "utf8");
  return raw !== undefined && remembered(key, signed, raw) ? undefined : "invalid_signature";
}

/** Spec 1.5, v2.0: policy, then whether a key was pinned, then what came before the first signature. */
function isLetInUnsigned(
  { from, timestampMicros }: Said,
  { unsignedPast }: Situation["source"],
  { signing, store }: Situation["ctx"],
): boolean {
  if (signing.enforceSigned && !signing.allowUnsignedFrom.includes(from)) return false;
  const peer = store.peers.get(from);
  if (peer === undefined || peer.keys.length === 0 || peer.mayBeUnsigned) return true;
  const past = unsignedPast?.(from);
  if (past === undefined || past.noted !== undefined) return past?.noted === "taken";
  const isAfterPin = peer.keys.some(
    ({ addedAt }) => timestampMicros >= BigInt(Date.parse(addedAt)) * 1_000n,
  );
  return past.isBeforeSigned && !isAfterPin;
}

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** RFC 4648 section 4 digit by digit: 86 of them, two signs of padding, no bit left over. */
function strictBase64(text: string): Uint8Array | undefined {
  const digits = [...text].map((digit) => ALPHABET.indexOf(digit));
  if (digits.length !== 88 || !text.endsWith("==")) return undefined;
  if (digits.slice(0, 86).some((digit) => digit < 0)) return undefined;
  const bits = digits.slice(0, 86).map((digit) => digit.toString(2).padStart(6, "0"));
  const [whole, rest] = [bits.join("").slice(0, 512), bits.join("").slice(512)];
  if (rest.includes("1")) return undefined;
  return Uint8Array.from({ length: 64 }, (_, at) =>
    Number.parseInt(whole.slice(at * 8, at * 8 + 8), 2),
  );
}

/** The points are slow, and most mutations leave the signature and what it covers alone. */
const verdicts = new Map<string, boolean>();

function remembered(key: PinnedKey, bytes: Uint8Array, signature: Uint8Array): boolean {
  const digest = createHash("sha256").update(key.key).update(signature).update(bytes);
  const name = digest.digest("hex");
  const known = verdicts.get(name);
  if (known !== undefined) return known;
  const verdict = pointVerdict({ publicKey: key.key, bytes, signature });
  if (verdicts.size < 100_000) verdicts.set(name, verdict);
  return verdict;
}

interface ShownLine {
  readonly line: Uint8Array;
  readonly id: string;
  readonly said: Said;
}

const shownBefore = new WeakMap<Situation, readonly ShownLine[]>();

function shownLines(situation: Situation): readonly ShownLine[] {
  const known = shownBefore.get(situation);
  if (known !== undefined) return known;
  const lines = situation.shown.map((line) => {
    const tree = slowRead(line);
    const said = tree === undefined ? "malformed" : slowShape(tree);
    if (tree === undefined || typeof said === "string") throw new Error("a bad situation");
    const form = formOf(memberTexts(tree), ["public_key_id", "signature", "event_id"]);
    return { line, id: sha256(form), said };
  });
  shownBefore.set(situation, lines);
  return lines;
}

/** `wrong_wire` to `replayed`, for a log that has shown just those lines. */
function placed(
  line: Uint8Array,
  said: Said,
  id: string,
  situation: Situation,
): string | undefined {
  const { source, ctx } = situation;
  // Without a file there is nothing to compare with.
  if (source.log === undefined) return undefined;
  const shown = shownLines(situation);
  const twin = shown.find((each) => each.id === id);
  if (twin !== undefined && Buffer.compare(twin.line, line) === 0) return "duplicate";
  if (ctx.store.peers.get(said.from)?.held !== undefined) return "wait";
  const chained = versionOf(said) !== "v2.0" && said.seq !== undefined && said.log !== undefined;
  if (ctx.wireId !== undefined && said.wire !== ctx.wireId && (said.wire !== undefined || chained))
    return "wrong_wire";
  const outside = versionOf(said) === "v2.0" || ctx.store.peers.get(said.from)?.allowUnchained;
  if (!chained && shown.length > 0 && outside !== true) return "unchained";
  if (chained && isWrittenAway(said, situation)) return "left_member";
  if (isBehindClosing(said, id, situation, chained)) return "closed_log";
  if (chained && twin === undefined) {
    const isReturn =
      situation.left?.back === said.seq && shown.every((each) => isLower(each, said));
    const inChain = chainReason(said, id, isReturn ? [] : shown);
    if (inChain !== undefined) return inChain;
    if (!isReturn && shown.length === 0 && said.seq !== 1 && !situation.mayBeginLate) return "wait";
  }
  const limitMicros = BigInt(ctx.limits.maxClockSkewSeconds) * 1_000_000n;
  const receivedMicros = BigInt(situation.receivedAtMs) * 1_000n;
  if (said.timestampMicros - receivedMicros > limitMicros) return "clock_skew";
  if (twin !== undefined) return "replayed";
  const addressee = source.log.split("_to_")[1] ?? "";
  const names = said.to ?? ["*"];
  const meant = names.includes("*") || names.includes(addressee);
  if (!chained && !meant && names.some((each) => situation.otherAddressees.includes(each)))
    return "replayed";
  return undefined;
}

function isLower(shown: ShownLine, said: Said): boolean {
  return (shown.said.seq ?? 0) < (said.seq ?? 0);
}

/** Whether its author was no member: behind its last line, and before its first one afterwards. Spec 1.1. */
function isWrittenAway({ from, seq = 0 }: Said, { left, source }: Situation): boolean {
  if (left === undefined || from !== source.owner) return false;
  return seq > left.after && (left.back === undefined || seq < left.back);
}

/** After its last line a closed log takes what was missing before that line, and nothing else. Spec 1.6. */
function isBehindClosing(said: Said, id: string, situation: Situation, chained: boolean): boolean {
  if (situation.closedBy === undefined) return false;
  const shown = shownLines(situation);
  if (!chained) return true;
  const isKnown = shown.some((each) => each.id === id);
  const isMissing =
    (said.seq ?? 0) < situation.closedBy && chainReason(said, id, shown) === undefined;
  return !isKnown && !isMissing;
}

/** Whether a new chained line contradicts one of those that are known. Spec 1.6. */
function chainReason(said: Said, id: string, shown: readonly ShownLine[]): string | undefined {
  const at = (seq: number): ShownLine | undefined => shown.find((each) => each.said.seq === seq);
  const seq = said.seq ?? 0;
  if ((seq === 1) !== (said.prev === undefined)) return "log_forked";
  if (at(seq) !== undefined) return "log_forked";
  const before = at(seq - 1);
  if (before !== undefined && said.prev !== before.id) return "log_forked";
  const after = at(seq + 1);
  if (after !== undefined && after.said.prev !== id) return "log_forked";
  return undefined;
}

/** `tier_refused` to `too_many_refs`. */
function content(said: Said, { ctx }: Situation): string | undefined {
  const peer = ctx.store.peers.get(said.from);
  const tier = peer === undefined ? "UNTRUSTED" : peer.blocked ? "none" : (peer.tier ?? "none");
  const taken =
    tier === "ATTESTED" ||
    tier === "TRUSTED" ||
    (tier === "VERIFIED" && said.type !== "claim") ||
    (tier === "UNTRUSTED" &&
      ["heartbeat", "agent_card", "trust_tier_announcement"].includes(said.type));
  if (!taken) return "tier_refused";
  const bytes = Buffer.byteLength(slowCanonical(said.body), "utf8");
  if (tier !== "TRUSTED" && bytes > ctx.limits.maxMessageBodyKb * 1_024) return "body_too_large";
  return said.refs > ctx.limits.maxRefs ? "too_many_refs" : undefined;
}
