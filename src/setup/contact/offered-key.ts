import { DeaddropError } from "../../api/errors.ts";
import { readWhole, type Disk } from "../../storage/disk/disk.ts";
import { agentName } from "../../wire/handle.ts";
import { parseObject } from "../../wire/json/json.ts";
import { sha256Hex } from "../../wire/canonical.ts";
import { quote } from "../../wire/quote.ts";
import { decodeKey, isAcceptableKey, keyId } from "../../wire/signature.ts";

/** A public key that somebody hands over; nothing is believed of it yet. */
export interface OfferedKey {
  readonly handle: string;
  readonly keyId: string;
  /** 32 bytes, canonical and not of small order. */
  readonly key: Uint8Array;
}

const MAX_KEY_FILE_BYTES = 64 * 1024;

/** What people compare: the SHA-256 of the raw key, 64 hex; the key id is its beginning. Spec 1.5. */
export function fingerprintOf(key: Uint8Array): string {
  return sha256Hex(key);
}

/** For reading aloud and comparing by eye: groups of four. */
export function groupedFingerprint(fingerprint: string): string {
  return fingerprint.replace(/(.{4})(?=.)/g, "$1 ");
}

/**
 * Reads a key as operators give it: 32 bytes in base64, or the path of a `<handle>.pub.json`.
 * Throws a usage error that says what was expected.
 */
export function readOfferedKey(disk: Disk, handle: string, source: string): OfferedKey {
  const inFile = decodeKey(source) === undefined ? readKeyFile(disk, handle, source) : source;
  const key = decodeKey(inFile);
  if (key === undefined || !isAcceptableKey(key)) {
    throw usage(`the key given for ${handle} is no usable Ed25519 public key`, KEY_HINT);
  }
  return { handle, keyId: keyId(handle, key), key };
}

const KEY_HINT =
  "give the 32 bytes in base64 (44 characters), or the path of the peer's <handle>.pub.json or card";

/** The Python reference's own format: {"agent","key_id","key","active"}. Spec 1.1. */
function readKeyFile(disk: Disk, handle: string, path: string): string {
  const bytes = readWhole(disk, path, MAX_KEY_FILE_BYTES);
  if (bytes === undefined) {
    throw usage(`${quote(path)} is neither a key in base64 nor a file that exists`, KEY_HINT);
  }
  const parsed = parseObject(bytes);
  if (!parsed.ok) throw usage(`${path}: ${parsed.detail}`, KEY_HINT);
  const { agent, key_id: id, key, active } = parsed.value;
  if (typeof agent !== "string" || typeof key !== "string") {
    throw usage(`${path}: expected {"agent", "key_id", "key", "active"}`, KEY_HINT);
  }
  if (agentName(agent) !== handle) {
    throw usage(
      `${path}: it holds the key of ${quote(agent)}, not of ${handle}`,
      "check whose file it is, and which handle was meant",
    );
  }
  if (active === false) {
    throw usage(`${path}: the key is marked inactive`, `ask ${handle} for the key in use`);
  }
  const bytesOfKey = decodeKey(key);
  if (bytesOfKey !== undefined && id !== undefined && id !== keyId(handle, bytesOfKey)) {
    throw usage(
      `${path}: the key is ${keyId(handle, bytesOfKey)}, but the file calls it ${quote(typeof id === "string" ? id : "")}`,
      `the file was changed or put together by hand: ask ${handle} for it again`,
    );
  }
  return key;
}

function usage(message: string, hint: string): DeaddropError {
  return new DeaddropError("usage", message, { hint });
}
