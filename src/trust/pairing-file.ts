import { isHandle } from "../wire/handle.ts";
import { parseObject, type JsonValue } from "../wire/json.ts";
import { decodeKey, encodeBase64 } from "../wire/signature.ts";
import { DocumentReader } from "./document.ts";
import type { Pairing } from "./pairing.ts";

/** Where we stand with each peer, by handle. */
export type Pairings = ReadonlyMap<string, Pairing>;

export type PairingsParse =
  | { readonly ok: true; readonly pairings: Pairings }
  | { readonly ok: false; readonly detail: string };

const VERSION = 1;
const MAX_COUNT = 1_000_000;

/** The private file of the pairings. It holds nonces that nobody has seen yet. */
export function serialisePairings(pairings: Pairings): string {
  const peers = [...pairings].map(([handle, pairing]) => [handle, plain(pairing)] as const);
  return `${JSON.stringify({ version: VERSION, peers: Object.fromEntries(peers) }, null, 2)}\n`;
}

function plain({ nonce, key, isShown, peer, peerNonce, mismatches, restarts }: Pairing) {
  return {
    nonce: encodeBase64(nonce),
    key: encodeBase64(key),
    shown: isShown,
    peer: peer && { key: encodeBase64(peer.key), commitment: peer.commitment },
    peer_nonce: peerNonce && encodeBase64(peerNonce),
    mismatches,
    restarts,
  };
}

/** Ours, so nothing in it may be wrong: half a ceremony that is guessed at proves nothing. */
export function parsePairings(bytes: Uint8Array, file: string): PairingsParse {
  const parsed = parseObject(bytes);
  if (!parsed.ok) return { ok: false, detail: `${file}: ${parsed.detail}` };
  const reader = new DocumentReader(file);
  const { version, peers } = parsed.value;
  if (version !== VERSION) reader.problem("version", `is not ${VERSION}`);
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
  const bytes = (of: JsonValue | undefined, at: string): Uint8Array | undefined => {
    const text = reader.text(of, `${path}.${at}`);
    const decoded = text === undefined ? undefined : decodeKey(text);
    if (text !== undefined && decoded === undefined) {
      reader.problem(`${path}.${at}`, "is not the base64 of 32 bytes");
    }
    return decoded;
  };
  const nonce = bytes(fields?.["nonce"], "nonce");
  const key = bytes(fields?.["key"], "key");
  const counted = (name: string) =>
    reader.wholeNumber(fields?.[name], `${path}.${name}`, 0, MAX_COUNT);
  const mismatches = counted("mismatches");
  const restarts = counted("restarts") ?? 0;
  const isShown = reader.flag(fields?.["shown"], `${path}.shown`);
  const peerFields = reader.object(fields?.["peer"], `${path}.peer`);
  const peerKey = bytes(peerFields?.["key"], "peer.key");
  const commitment = reader.text(peerFields?.["commitment"], `${path}.peer.commitment`);
  const peerNonce = bytes(fields?.["peer_nonce"], "peer_nonce");
  if (
    nonce === undefined ||
    key === undefined ||
    mismatches === undefined ||
    isShown === undefined
  ) {
    reader.problem(path, "lacks its nonce, its key, shown or mismatches");
    return undefined;
  }
  const isWhole = peerKey !== undefined && commitment !== undefined;
  if (peerFields !== undefined && !isWhole)
    reader.problem(`${path}.peer`, "lacks key or commitment");
  const peer = isWhole ? { key: peerKey, commitment } : undefined;
  return { nonce, key, isShown, peer, peerNonce, mismatches, restarts };
}
