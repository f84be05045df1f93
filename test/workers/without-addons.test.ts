import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

const TYPESCRIPT = new URL("../support/typescript.js", import.meta.url).href;

function sourceOf(path: string): string {
  return JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);
}

test("where no native module loads, OpenSSL gives the verdicts, here and in threads", () => {
  const script = `
    import { makeSigner, publicKeyOf, signatureEngine } from ${sourceOf("wire/signature.ts")};
    import { CheckPool } from ${sourceOf("workers/check-pool.ts")};
    import { startCheckWorker } from ${sourceOf("workers/check-worker.ts")};
    const secret = new Uint8Array(32).fill(1);
    const bytes = new Uint8Array(32);
    const signature = makeSigner("a", secret).sign(bytes);
    const good = { publicKey: publicKeyOf(secret), bytes, signature };
    const bad = { ...good, bytes: new Uint8Array(31) };
    // Its own cofactorless equation holds for this one: the key and R are of small order.
    const identity = Uint8Array.of(1, ...new Uint8Array(31));
    const small = { ...good, publicKey: identity, signature: Uint8Array.of(...identity, ...new Uint8Array(32)) };
    const pool = new CheckPool(() => startCheckWorker(["--import", ${JSON.stringify(TYPESCRIPT)}]), 1);
    const asked = Array.from({ length: 99 }, (_, at) => [good, bad, small][at % 3]);
    const valid = await pool.verifyAll(asked);
    console.log(signatureEngine().name, pool.workers, valid.filter((is, at) => is === (at % 3 === 0)).length);`;
  const args = ["--import", TYPESCRIPT, "--input-type=module", "--eval", script];
  const env = { ...process.env, NODE_OPTIONS: "--no-addons" };
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", env });
  expect([stdout, stderr]).toEqual(["OpenSSL 1 99\n", ""]);
});
