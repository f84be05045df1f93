import { verifySignature, type SignatureCheck } from "../wire/signature.ts";

/** Before the parts of each check, as 32-bit numbers: their lengths. */
const LENGTHS_BYTES = 12;

/** Checks as one block of memory of their own, so that a message to another thread is one copy. */
export function packChecks(items: readonly SignatureCheck[]): Uint8Array {
  let size = 0;
  for (const { publicKey, bytes, signature } of items) {
    size += LENGTHS_BYTES + publicKey.length + bytes.length + signature.length;
  }
  const packed = new Uint8Array(size);
  const view = new DataView(packed.buffer);
  let at = 0;
  for (const { publicKey, bytes, signature } of items) {
    view.setUint32(at, publicKey.length);
    view.setUint32(at + 4, bytes.length);
    view.setUint32(at + 8, signature.length);
    at += LENGTHS_BYTES;
    for (const part of [publicKey, bytes, signature]) {
      packed.set(part, at);
      at += part.length;
    }
  }
  return packed;
}

/** The strict verdicts on packed checks, in their order; 1 = valid. Spec 1.5. */
export function verifyPacked(packed: Uint8Array): Uint8Array {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.length);
  const verdicts: number[] = [];
  let at = 0;
  while (at < packed.length) {
    const bytesAt = at + LENGTHS_BYTES + view.getUint32(at);
    const signatureAt = bytesAt + view.getUint32(at + 4);
    const end = signatureAt + view.getUint32(at + 8);
    const isValid = verifySignature(
      packed.subarray(at + LENGTHS_BYTES, bytesAt),
      packed.subarray(bytesAt, signatureAt),
      packed.subarray(signatureAt, end),
    );
    verdicts.push(isValid ? 1 : 0);
    at = end;
  }
  return Uint8Array.from(verdicts);
}
