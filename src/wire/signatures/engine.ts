/**
 * Computes Ed25519 with one library. All engines give the same verdicts, and signatures are
 * deterministic: all make the same bytes.
 */
export interface SignatureEngine {
  readonly name: "libsodium" | "OpenSSL";
  /**
   * The strict verdict: the cofactorless equation, S < L, A and R canonical and neither of small
   * order. Spec 1.5.
   *
   * @param publicKey 32 bytes
   * @param signature 64 bytes
   */
  verify(publicKey: Uint8Array, bytes: Uint8Array, signature: Uint8Array): boolean;
  /**
   * A function that gives the 64 bytes of a signature.
   *
   * @param secret 32 bytes; what is derived from them stays inside the function
   */
  signerOf(secret: Uint8Array): (bytes: Uint8Array) => Uint8Array;
}
