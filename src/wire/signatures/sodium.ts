import { createRequire } from "node:module";
import { arch, platform } from "node:process";
import type { SignatureEngine } from "./engine.ts";

/** The functions of libsodium that are used, as the native module has them. */
interface Sodium {
  crypto_sign_verify_detached(
    ...signatureMessageKey: readonly [
      ...[ArrayBufferLike, number, number],
      ...[ArrayBufferLike, number, number],
      ...[ArrayBufferLike, number, number],
    ]
  ): boolean;
  crypto_sign_detached(signature: Uint8Array, bytes: Uint8Array, secretKey: Uint8Array): number;
  crypto_sign_seed_keypair(publicKey: Uint8Array, secretKey: Uint8Array, seed: Uint8Array): number;
}

/**
 * libsodium, whose own verdict is the strict one; undefined where its native module is not installed
 * or does not load. The file is asked for by its name: the package's own loader searches for it
 * through eight other packages, and takes five times as long.
 */
export function loadSodium(): SignatureEngine | undefined {
  try {
    const require = createRequire(import.meta.url);
    const name = `sodium-native/prebuilds/${platform}-${arch}/sodium-native.node`;
    const engine = sodiumEngine(require(name) as Sodium);
    return isSound(engine) ? engine : undefined;
  } catch {
    // Whatever the reason: OpenSSL gives the same verdicts.
    return undefined;
  }
}

function sodiumEngine(sodium: Sodium): SignatureEngine {
  return {
    name: "libsodium",
    verify: (publicKey, bytes, signature) =>
      sodium.crypto_sign_verify_detached(
        ...[signature.buffer, signature.byteOffset, signature.byteLength],
        ...[bytes.buffer, bytes.byteOffset, bytes.byteLength],
        ...[publicKey.buffer, publicKey.byteOffset, publicKey.byteLength],
      ),
    signerOf(secret) {
      const publicKey = new Uint8Array(32);
      const secretKey = new Uint8Array(64);
      done(sodium.crypto_sign_seed_keypair(publicKey, secretKey, secret));
      return (bytes) => {
        const signature = new Uint8Array(64);
        done(sodium.crypto_sign_detached(signature, bytes, secretKey));
        return signature;
      };
    },
  };
}

function done(status: number): void {
  if (status !== 0) throw new Error(`libsodium answers ${status}`);
}

/** A module that was built in another way than ours may load, and give other answers. */
function isSound({ verify, signerOf }: SignatureEngine): boolean {
  // RFC 8032, 7.1, test 1.
  const secret = fromHex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
  const key = fromHex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
  const nothing = new Uint8Array(0);
  const signature = signerOf(secret)(nothing);
  const isValid = verify(key, nothing, signature);
  signature[0] = (signature[0] as number) ^ 1;
  return isValid && !verify(key, nothing, signature);
}

function fromHex(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, "hex"));
}
