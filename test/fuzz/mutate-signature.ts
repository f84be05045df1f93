import { createHash, createPrivateKey, sign, type KeyObject } from "node:crypto";
import { sha256Hex } from "../../src/wire/canonical.ts";
import { alice, bob, person } from "../trust/people.ts";
import {
  ORDER,
  bytesOf,
  littleEndian,
  smallOrderEncodings,
  smallOrderPoints,
  strictPoint,
} from "../wire/point-verdict.ts";
import { slowCanonical, type Tree } from "../wire/json/slow-json.ts";
import { unsignedOf } from "./mutate-tree.ts";
import type { Picker } from "./picker.ts";
import { member } from "./slow-reader.ts";
import { TORSION_KEY_ID, torsionSignature } from "./torsion-signer.ts";

/** The keys of the test's people. OpenSSL signs, because it is ten times as fast as noble. */
const SECRETS = new Map(
  [alice, bob, person("carol")].map(({ handle, signer }) => {
    const secret = Buffer.from(sha256Hex(Buffer.from(`test key of ${handle}`)), "hex");
    const der = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), secret]);
    const key: KeyObject = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
    return [handle, { keyId: signer.keyId, sign: (bytes: Uint8Array) => sign(null, bytes, key) }];
  }),
);

const text = (value: string): Tree => ({ is: "string", text: value });

/** The tree signed again by the agent that it names, so that it passes every check before the signature's. */
export function signedTree(tree: Tree, pick: Picker): Tree {
  const from = member(tree, "from");
  const handle = from?.is === "string" ? from.text.replace(/^did:wire:/, "") : "";
  const crooked = handle === "alice" && pick.once(12);
  const signer = SECRETS.get(handle) ?? SECRETS.get("alice");
  if (tree.is !== "object" || signer === undefined) return tree;
  const version = pick.once(4) ? "v3.0" : "v3.1";
  const form = unsignedOf(tree, version);
  if (form.is !== "object") return tree;
  const canonical = Buffer.from(slowCanonical(form), "utf8");
  const digest = createHash("sha256").update(canonical).digest();
  const bytes = version === "v3.1" ? digest : canonical;
  const signature = crooked
    ? torsionSignature(bytes, pick.below(1_000), pick.once(2) ? 0 : pick.below(8))
    : signer.sign(bytes);
  const spoilt = pick.once(4) ? malleable(signature, pick) : signature;
  const base64 = Buffer.from(spoilt).toString("base64");
  return {
    is: "object",
    members: [
      ...form.members.filter(([key]) => key !== "event_id"),
      ...(version === "v3.1" ? [["event_id", text(digest.toString("hex"))] as const] : []),
      ["public_key_id", text(crooked ? TORSION_KEY_ID : signer.keyId)],
      ["signature", text(pick.once(6) ? respelt(base64, pick) : base64)],
    ],
  };
}

const SMALL = smallOrderEncodings();
const TORSION = smallOrderPoints();
const PRIME = 2n ** 255n - 19n;

/** Another 64 bytes that some verifier takes for the same signature. */
function malleable(signature: Uint8Array, pick: Picker): Uint8Array {
  const r = signature.subarray(0, 32);
  const s = littleEndian(signature.subarray(32));
  const joined = (left: Uint8Array, right: bigint): Uint8Array =>
    new Uint8Array([...left, ...bytesOf(right)]);
  const pointR = strictPoint(r);
  switch (pick.below(8)) {
    case 0:
      return joined(r, s + ORDER * BigInt(1 + pick.below(7)));
    case 1:
      return joined(r, (ORDER - s) % ORDER);
    case 2:
      return joined(pick.one(SMALL), pick.once(2) ? 0n : s);
    case 3:
      return pointR === undefined ? signature : joined(pointR.add(pick.one(TORSION)).toBytes(), s);
    case 4:
      // R beyond the prime reads back as the same point only when y is small; most decode to none.
      return joined(bytesOf((littleEndian(r) % 2n ** 255n) + PRIME), s);
    case 5:
      return signature.map((byte, at) => (at === 31 || at === 63 ? byte ^ 0x80 : byte));
    case 6:
      return new Uint8Array([...signature.subarray(32), ...r]);
    default: {
      const at = pick.below(64);
      const mask = 1 << pick.below(8);
      return signature.map((byte, place) => (place === at ? byte ^ mask : byte));
    }
  }
}

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** The same bytes as some decoders read them, written otherwise. */
function respelt(base64: string, pick: Picker): string {
  const at = pick.below(base64.length);
  switch (pick.below(8)) {
    case 0:
      return base64.replace(/=+$/, "");
    case 1:
      return base64.slice(0, -1);
    case 2:
      return `${base64}${pick.one(["=", "\n", " ", "A", "\u0000"])}`;
    case 3:
      return `${base64.slice(0, at)}${pick.one(["\n", " ", "\t", "=", "-", "_"])}${base64.slice(at)}`;
    case 4:
      return base64.replaceAll("+", "-").replaceAll("/", "_");
    case 5: {
      // The last digit holds four bits that nothing reads.
      const last = DIGITS.indexOf(base64.charAt(85));
      return `${base64.slice(0, 85)}${DIGITS.charAt(last + 1 + pick.below(15))}==`;
    }
    case 6:
      return base64.replace(/[Aa]/, (digit) => pick.one(["\u0410", "\uff21", digit]));
    default:
      return ` ${base64}`;
  }
}
