/** What the baseline uses of it; the package brings no types. */
declare module "sodium-native" {
  const sodium: {
    crypto_sign_verify_detached(
      signature: Uint8Array,
      message: Uint8Array,
      publicKey: Uint8Array,
    ): boolean;
  };
  export default sodium;
}
