import { isHandle } from "../../wire/handle.ts";
import { decodeKey, encodeBase64 } from "../../wire/signature.ts";
import { openDocument, type DocumentReader } from "../policy/document.ts";
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
  const opened = openDocument(bytes, file);
  if (!opened.ok) return opened;
  const { reader } = opened;
  if (reader.value("version") !== PAIRING_VERSION)
    reader.problem("version", `is not ${PAIRING_VERSION}`);
  const pairings = new Map<string, Pairing>();
  for (const [handle, value] of reader.entries("peers", Infinity)) {
    const fields = reader.objectAt(`peers.${handle}`, value);
    const pairing = fields && readPairing(fields);
    if (!isHandle(handle)) reader.problem("peers", "names somebody who is no agent");
    else if (pairing !== undefined) pairings.set(handle, pairing);
  }
  const [problem] = reader.problems;
  return problem === undefined ? { ok: true, pairings } : { ok: false, detail: problem };
}

function readPairing(fields: DocumentReader): Pairing | undefined {
  const nonce = readBytes(fields, "nonce");
  const key = readBytes(fields, "key");
  const mismatches = fields.wholeNumber("mismatches", 0, MAX_RESTARTS);
  const restarts = fields.wholeNumber("restarts", 0, MAX_RESTARTS) ?? 0;
  const isShown = fields.flag("shown");
  const peer = readClaim(fields.object("peer"));
  const other = readClaim(fields.object("other"));
  const peerNonce = readBytes(fields, "peer_nonce");
  if (
    nonce === undefined ||
    key === undefined ||
    mismatches === undefined ||
    isShown === undefined
  ) {
    fields.problem("", "lacks its nonce, its key, shown or mismatches");
    return undefined;
  }
  return { nonce, key, isShown, peer, peerNonce, other, mismatches, restarts };
}

function readClaim(fields: DocumentReader | undefined): Pairing["peer"] {
  if (fields === undefined) return undefined;
  const key = readBytes(fields, "key");
  const commitment = fields.text("commitment");
  if (key !== undefined && commitment !== undefined) return { key, commitment };
  fields.problem("", "lacks key or commitment");
  return undefined;
}

function readBytes(fields: DocumentReader, name: string): Uint8Array | undefined {
  const text = fields.text(name);
  const decoded = text === undefined ? undefined : decodeKey(text);
  if (text !== undefined && decoded === undefined) {
    fields.problem(name, "is not the base64 of 32 bytes");
  }
  return decoded;
}
