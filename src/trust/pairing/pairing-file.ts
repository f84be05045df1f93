import { isHandle } from "../../wire/handle.ts";
import { parseObject, type JsonValue } from "../../wire/json/json.ts";
import { decodeKey, encodeBase64 } from "../../wire/signature.ts";
import { DocumentReader } from "../policy/document.ts";
import { MAX_RESTARTS, type Pairing } from "./pairing.ts";

/** How far we are with each peer, by handle. */
export type Pairings = ReadonlyMap<string, Pairing>;

export type PairingsParse =
  | { readonly ok: true; readonly pairings: Pairings }
  | { readonly ok: false; readonly detail: string };

const PAIRING_VERSION = 1;

/** The private file of the pairings. It holds nonces that nobody has seen yet. */
export function serialisePairings(pairings: Pairings): string {
  const peers = [...pairings].map(([handle, pairing]) => [handle, plain(pairing)] as const);
  return `${JSON.stringify({ version: PAIRING_VERSION, peers: Object.fromEntries(peers) }, null, 2)}\n`;
}

function plain(pairing: Pairing) {
  const { nonce, key, isShown, peer, peerNonce, other, mismatches, restarts } = pairing;
  return {
    nonce: encodeBase64(nonce),
    key: encodeBase64(key),
    shown: isShown,
    peer: peer && plainClaim(peer),
    peer_nonce: peerNonce && encodeBase64(peerNonce),
    other: other && plainClaim(other),
    mismatches,
    restarts,
  };
}

function plainClaim({ key, commitment }: NonNullable<Pairing["peer"]>) {
  return { key: encodeBase64(key), commitment };
}

/** Ours, so nothing in it may be wrong: half a ceremony that is guessed at proves nothing. */
export function parsePairings(bytes: Uint8Array, file: string): PairingsParse {
  const parsed = parseObject(bytes);
  if (!parsed.ok) return { ok: false, detail: `${file}: ${parsed.detail}` };
  const reader = new DocumentReader(file);
  const { version, peers } = parsed.value;
  if (version !== PAIRING_VERSION) reader.problem("version", `is not ${PAIRING_VERSION}`);
  const pairings = new Map<string, Pairing>();
  for (const [handle, value] of Object.entries(reader.object(peers, "peers") ?? {})) {
    const pairing = readPairing(reader, value, `peers.${handle}`);
    if (!isHandle(handle)) reader.problem("peers", "names somebody who is no agent");
    else if (pairing !== undefined) pairings.set(handle, pairing);
  }
  const [problem] = reader.problems;
  return problem === undefined ? { ok: true, pairings } : { ok: false, detail: problem };
}

function readPairing(reader: DocumentReader, value: JsonValue, path: string): Pairing | undefined {
  const fields = reader.object(value, path);
  const nonce = readBytes(reader, fields?.["nonce"], `${path}.nonce`);
  const key = readBytes(reader, fields?.["key"], `${path}.key`);
  const counted = (name: string) =>
    reader.wholeNumber(fields?.[name], `${path}.${name}`, 0, MAX_RESTARTS);
  const mismatches = counted("mismatches");
  const restarts = counted("restarts") ?? 0;
  const isShown = reader.flag(fields?.["shown"], `${path}.shown`);
  const peer = readClaim(reader, fields?.["peer"], `${path}.peer`);
  const other = readClaim(reader, fields?.["other"], `${path}.other`);
  const peerNonce = readBytes(reader, fields?.["peer_nonce"], `${path}.peer_nonce`);
  if (
    nonce === undefined ||
    key === undefined ||
    mismatches === undefined ||
    isShown === undefined
  ) {
    reader.problem(path, "lacks its nonce, its key, shown or mismatches");
    return undefined;
  }
  return { nonce, key, isShown, peer, peerNonce, other, mismatches, restarts };
}

function readClaim(
  reader: DocumentReader,
  value: JsonValue | undefined,
  path: string,
): Pairing["peer"] {
  const fields = reader.object(value, path);
  if (fields === undefined) return undefined;
  const key = readBytes(reader, fields["key"], `${path}.key`);
  const commitment = reader.text(fields["commitment"], `${path}.commitment`);
  if (key !== undefined && commitment !== undefined) return { key, commitment };
  reader.problem(path, "lacks key or commitment");
  return undefined;
}

function readBytes(
  reader: DocumentReader,
  value: JsonValue | undefined,
  path: string,
): Uint8Array | undefined {
  const text = reader.text(value, path);
  const decoded = text === undefined ? undefined : decodeKey(text);
  if (text !== undefined && decoded === undefined) {
    reader.problem(path, "is not the base64 of 32 bytes");
  }
  return decoded;
}
