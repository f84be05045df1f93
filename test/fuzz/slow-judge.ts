import { createHash } from "node:crypto";
import type { PinnedKey } from "../../src/trust/store.ts";
import { DEFAULT_LIMITS } from "../../src/wire/limits.ts";
import { pointVerdict } from "../wire/point-verdict.ts";
import { compareCodePoints, slowCanonical, type Tree } from "../wire/json/slow-json.ts";
import type { Situation } from "./situations.ts";
import { member, slowRead } from "./slow-reader.ts";
import { SENDER, slowShape } from "./slow-shape.ts";

/** What becomes of one line, in a form in which two judges can be compared. */
export interface Judgement {
  /** `accepted`, or the reason of Spec 2.4. */
  readonly verdict: string;
  /** The id of an accepted line. */
  readonly id: string;
}

const refused = (verdict: string): Judgement => ({ verdict, id: "" });

/** The verdict of Spec 2.4 on a line by itself, written down as it reads, one check after another. */
export function slowJudge(line: Uint8Array, { store }: Situation): Judgement {
  if (line.length > 1_048_576) return refused("oversized");
  const tree = slowRead(line);
  if (tree?.is !== "object") return refused("malformed");
  const texts = memberTexts(tree);
  const v30 = formOf(texts, ["public_key_id", "signature"]);
  const v31 = formOf(texts, ["public_key_id", "signature", "event_id"]);
  const id = sha256(v31);
  const shape = slowShape(tree);
  const from = SENDER.exec(textIn(tree, "from") ?? "")?.[1];
  if (from === undefined) return refused("schema");
  const isChained = member(tree, "seq") !== undefined;
  if (!isChained && shape === "schema") return refused("schema");
  const [keyId, signature] = [member(tree, "public_key_id"), member(tree, "signature")];
  if ((keyId === undefined) !== (signature === undefined)) return refused("unsigned");
  const stated = member(tree, "event_id");
  if (stated !== undefined && textIn(tree, "event_id") !== id) return refused("event_id_mismatch");
  const name = textIn(tree, "public_key_id") ?? "";
  const colon = [...name].indexOf(":");
  const isSigned = keyId !== undefined;
  if (isSigned && (colon < 0 || [...name].slice(0, colon).join("") !== from))
    return refused("from_mismatch");
  const raw = strictBase64(textIn(tree, "signature") ?? "");
  if (isSigned && raw === undefined) return refused("invalid_signature");
  if (isChained && !isPlaced(tree)) return refused("schema");
  if (!isSigned && isChained) return refused("unsigned");
  if (typeof shape === "string") return refused(shape);
  if (raw === undefined) return refused("unsigned");
  const peer = store.peers.get(from);
  const key = peer?.keys.find((each) => each.keyId === name && each.active);
  if (key === undefined) return refused("untrusted_key");
  const bytes = stated === undefined ? Buffer.from(v30, "utf8") : Buffer.from(id, "hex");
  if (!remembered(key, bytes, raw)) return refused("invalid_signature");
  const tier = peer === undefined ? "UNTRUSTED" : peer.blocked ? "none" : (peer.tier ?? "none");
  const isTaken =
    tier === "ATTESTED" ||
    tier === "TRUSTED" ||
    (tier === "VERIFIED" && shape.type !== "claim") ||
    (tier === "UNTRUSTED" &&
      ["heartbeat", "agent_card", "trust_tier_announcement"].includes(shape.type));
  if (!isTaken) return refused("tier_refused");
  const size = Buffer.byteLength(slowCanonical(shape.body), "utf8");
  if (tier !== "TRUSTED" && size > DEFAULT_LIMITS.max_message_body_kb * 1_024)
    return refused("body_too_large");
  if (shape.refs > DEFAULT_LIMITS.max_refs) return refused("too_many_refs");
  return { verdict: "accepted", id };
}

/** A number from 1, and the line before it, but of the first. */
function isPlaced(tree: Tree): boolean {
  const seq = member(tree, "seq");
  const number = seq?.is === "integer" || seq?.is === "double" ? Number(seq.text) : 0;
  if (number < 1) return false;
  const prev = member(tree, "prev");
  if (number === 1) return prev === undefined;
  return prev?.is === "string" && /^[0-9a-f]{64}$/u.test(prev.text);
}

function textIn(tree: Tree, name: string): string | undefined {
  const value = member(tree, name);
  return value?.is === "string" ? value.text : undefined;
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
