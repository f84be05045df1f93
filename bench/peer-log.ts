import { createPrivateKey, sign } from "node:crypto";
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { composeLine, type ChainHead, type Signer } from "../src/wire/compose.ts";
import { formatMicros } from "../src/wire/timestamp.ts";
import { PEER, READER, type Stage } from "./stage.ts";

/** One signed line, and what its signature is checked against. */
export interface SignedLine {
  /** With its newline. */
  readonly bytes: Uint8Array;
  readonly signed: Uint8Array;
  readonly signature: Uint8Array;
}

/** The peer's log towards the agent that is measured, written without a daemon. */
export interface PeerLog {
  readonly path: string;
  readonly publicKey: Uint8Array;
  /** The next line of the chain, of about that many bytes, dated `micros`; not written yet. */
  next(micros: number, lineBytes: number): SignedLine;
  append(lines: readonly SignedLine[]): void;
}

const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");

export function openPeerLog(stage: Stage): PeerLog {
  const { identity, config, paths } = stage.place(PEER);
  const log = `${PEER}_to_${READER}`;
  const path = join(stage.wireDir, `${log}.jsonl`);
  const signer = fastSigner(identity.signer, readFileSync(paths.identity.key));
  let head: ChainHead | undefined;
  let padding = 0;

  function compose(micros: number) {
    const timestamp = formatMicros(micros);
    const draft = {
      to: [READER],
      type: "feedback",
      subject: `line ${(head?.seq ?? 0) + 1}`,
      body: { text: "all tests pass on main; ".repeat(99).slice(0, padding) },
    };
    return composeLine(draft, { timestamp, log, wireId: config.wireId, head }, signer);
  }

  return {
    path,
    publicKey: identity.publicKey,
    next(micros, lineBytes) {
      // What the envelope leaves is the body's; the first line, which is shorter, finds out.
      if (head === undefined) padding = lineBytes - compose(micros).line.length - 1;
      const { line, id, message } = compose(micros);
      head = { seq: (head?.seq ?? 0) + 1, id };
      return {
        bytes: Buffer.concat([line, Buffer.from("\n")]),
        signed: Buffer.from(id, "hex"),
        signature: Buffer.from(message.signature!, "base64"),
      };
    },
    append(lines) {
      appendFileSync(path, Buffer.concat(lines.map(({ bytes }) => bytes)));
    },
  };
}

/** The same signatures by OpenSSL: making lines must not take longer than measuring with them. */
function fastSigner(signer: Signer, seed: Uint8Array): Signer {
  const der = Buffer.concat([PKCS8_PREFIX, seed]);
  const key = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  return { ...signer, sign: (bytes) => sign(null, bytes, key) };
}
