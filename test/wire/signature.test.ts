import { randomBytes, verify as nodeVerify, createPublicKey, type KeyObject } from "node:crypto";
import * as noble from "@noble/ed25519";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decodeKey,
  decodeSignature,
  encodeBase64,
  isAcceptableKey,
  keyId,
  makeSigner,
  parseKeyId,
  publicKeyOf,
  signatureEngine,
  verifyBy,
  verifyEach,
  verifySignature,
  type SignatureCheck,
} from "../../src/wire/signature.ts";
import type { SignatureEngine } from "../../src/wire/signatures/engine.ts";
import { opensslEngine } from "../../src/wire/signatures/openssl.ts";
import { loadSodium } from "../../src/wire/signatures/sodium.ts";
import {
  ORDER,
  bytesOf,
  challenge,
  littleEndian,
  pointVerdict,
  smallOrderEncodings,
  smallOrderPoints,
  strictPoint,
} from "./point-verdict.ts";
import { hex, utf8, vectorFile } from "./vector-files.ts";

interface Wycheproof {
  numberOfTests: number;
  testGroups: {
    publicKey: { pk: string };
    tests: { tcId: number; comment: string; msg: string; sig: string; result: string }[];
  }[];
}

interface Speccheck {
  message: string;
  pub_key: string;
  signature: string;
}

const wycheproof = vectorFile<Wycheproof>("third-party/wycheproof-ed25519.json");
const wycheproofCases = wycheproof.testGroups.flatMap(({ publicKey, tests }) =>
  tests.map((test) => ({
    name: `${test.tcId} ${test.comment}`,
    valid: test.result === "valid",
    check: { publicKey: hex(publicKey.pk), bytes: hex(test.msg), signature: hex(test.sig) },
  })),
);
const speccheck = vectorFile<Speccheck[]>("third-party/ed25519-speccheck.json").map(
  ({ message, pub_key, signature }) => ({
    publicKey: hex(pub_key),
    bytes: hex(message),
    signature: hex(signature),
  }),
);

const sodiumEngine = loadSodium();
/** What may compute signatures; where the native module does not load, OpenSSL is alone. */
const engines = [opensslEngine, ...(sodiumEngine === undefined ? [] : [sodiumEngine])].map(
  (engine) => [engine.name, engine] as const,
);

/** A key of small order, and a signature by it that holds for any bytes under the bare equation. */
const SMALL_ORDER_KEY = hex("01".padEnd(64, "0"));
const FORGED = new Uint8Array([...SMALL_ORDER_KEY, ...new Uint8Array(32)]);

/** Some versions of Node.js let points of small order pass, others refuse them: no matter of OpenSSL's version. */
const TAKES_SMALL_ORDER = nodeVerify(null, utf8("x"), importedKey(SMALL_ORDER_KEY), FORGED);

it("libsodium loads wherever its package has a binary", () => {
  const hasBinary = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64", "win32-x64"];
  if (isMusl() || !hasBinary.includes(`${process.platform}-${process.arch}`)) return;
  expect(sodiumEngine?.name).toBe("libsodium");
  expect(signatureEngine().name).toBe("libsodium");
});

function isMusl(): boolean {
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  return process.platform === "linux" && header.glibcVersionRuntime === undefined;
}

describe.each(engines)("the strict verdict by %s", (_name, engine: SignatureEngine) => {
  const verify = (publicKey: Uint8Array, bytes: Uint8Array, signature: Uint8Array): boolean =>
    verifyBy(engine, publicKey, bytes, signature);
  const verdict = ({ publicKey, bytes, signature }: SignatureCheck): boolean =>
    verify(publicKey, bytes, signature);

  it("agrees with Wycheproof on 151 of 151", () => {
    expect(wycheproofCases).toHaveLength(151);
    const wrong = wycheproofCases.filter(({ check, valid }) => verdict(check) !== valid);
    expect(wrong.map(({ name }) => name)).toEqual([]);
  });

  it("is libsodium's on speccheck", () => {
    expect(speccheck.map((check) => (verdict(check) ? "V" : "X")).join("")).toBe("XXXVXXXXXXXX");
  });

  it("is the one that another library's points give, on all vectors", () => {
    for (const check of [...wycheproofCases.map((each) => each.check), ...speccheck]) {
      expect(pointVerdict(check)).toBe(verdict(check));
    }
  });

  it("is the same there on mutations", () => {
    const secret = secretOf(9);
    const bytes = utf8("a message");
    const good = {
      publicKey: publicKeyOf(secret),
      bytes,
      signature: makeSigner("a", secret).sign(bytes),
    };
    const mutated = fc
      .record({
        part: fc.constantFrom("publicKey" as const, "bytes" as const, "signature" as const),
        at: fc.nat(63),
        xor: fc.integer({ min: 0, max: 255 }),
      })
      .map(({ part, at, xor }) => {
        const check = { ...good, [part]: Uint8Array.from(good[part]) };
        const target = check[part];
        target[at % target.length]! ^= xor;
        return { check, changed: xor !== 0 };
      });
    fc.assert(
      fc.property(mutated, ({ check, changed }) => {
        expect(verdict(check)).toBe(!changed);
        expect(pointVerdict(check)).toBe(!changed);
      }),
      { numRuns: 300 },
    );
  });

  it("is the same there on crafted keys and points", () => {
    // Every point of small order, every encoding beyond the prime, against each other and a good key.
    const encodings = smallOrderEncodings();
    const keys = [...encodings, publicKeyOf(secretOf(3))];
    for (const publicKey of keys) {
      for (const r of encodings) {
        for (const s of ["00", "01"]) {
          const signature = new Uint8Array([...r, ...hex(s.padEnd(64, "0"))]);
          const check = { publicKey, bytes: utf8("x"), signature };
          expect(verdict(check)).toBe(false);
          expect(pointVerdict(check)).toBe(false);
        }
      }
    }
  });

  it("refuses R of small order even from the key's own holder", () => {
    const { scalar, pointBytes } = noble.utils.getExtendedPublicKey(secretOf(6));
    const identity = bytesOf(1n);
    const bytes = utf8("x");
    const s = (challenge(identity, pointBytes, bytes) * scalar) % ORDER;
    const signature = new Uint8Array([...identity, ...bytesOf(s)]);
    expect(nodeVerify(null, bytes, importedKey(pointBytes), signature)).toBe(TAKES_SMALL_ORDER);
    expect(verify(pointBytes, bytes, signature)).toBe(false);
  });

  it("refuses every R of small order, also where a key with a part of small order makes it hold", () => {
    const { scalar, point } = noble.utils.getExtendedPublicKey(secretOf(6));
    const small = smallOrderPoints();
    const mixed = point.add(small[1]!);
    const publicKey = mixed.toBytes();
    expect(isAcceptableKey(publicKey)).toBe(true);
    for (const r of small) {
      const rBytes = r.toBytes();
      // The equation S·B = R + k·A holds once k takes the key's small part to −R.
      let tries = 0;
      let k: bigint;
      do k = challenge(rBytes, publicKey, utf8(`${++tries}`));
      while (!r.add(small[1]!.multiply(k % 8n, false)).is0());
      const bytes = utf8(`${tries}`);
      const signature = new Uint8Array([...rBytes, ...bytesOf((k * scalar) % ORDER)]);
      expect(nodeVerify(null, bytes, importedKey(publicKey), signature)).toBe(TAKES_SMALL_ORDER);
      expect(verify(publicKey, bytes, signature)).toBe(false);
    }
  });

  it("is not what noble's verify alone gives, cofactor cleared", () => {
    makeSigner("a", new Uint8Array(32)); // has set noble's hash
    const row = speccheck.map(({ publicKey, bytes, signature }) =>
      noble.verify(signature, bytes, publicKey, { zip215: false }) ? "V" : "X",
    );
    expect(row.join("")).toBe("XXVVVVXXXXXX");
  });

  it("refuses S beyond the group order", () => {
    const secret = secretOf(5);
    const bytes = utf8("malleable");
    const signature = makeSigner("a", secret).sign(bytes);
    const twin = Uint8Array.from(signature);
    twin.set(bytesOf(littleEndian(signature.subarray(32)) + ORDER), 32);
    expect(verify(publicKeyOf(secret), bytes, signature)).toBe(true);
    expect(verify(publicKeyOf(secret), bytes, twin)).toBe(false);
  });

  it("refuses a small-order key, which signs anything by the bare equation", () => {
    expect(verify(SMALL_ORDER_KEY, utf8("anything"), FORGED)).toBe(false);
  });

  it("is false for keys and signatures of another length", () => {
    const secret = secretOf(5);
    const key = publicKeyOf(secret);
    const signature = makeSigner("a", secret).sign(utf8("x"));
    expect(verify(key.subarray(1), utf8("x"), signature)).toBe(false);
    expect(verify(key, utf8("x"), signature.subarray(1))).toBe(false);
    expect(verify(key, utf8("x"), new Uint8Array([...signature, 0]))).toBe(false);
  });
});

function secretOf(fill: number): Uint8Array {
  return new Uint8Array(32).fill(fill);
}

function importedKey(raw: Uint8Array): KeyObject {
  const der = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), raw]);
  return createPublicKey({ key: der, format: "der", type: "spki" });
}

describe("acceptable keys", () => {
  it("are canonical points that are not of small order", () => {
    expect(isAcceptableKey(publicKeyOf(secretOf(1)))).toBe(true);
    const encodings = smallOrderEncodings();
    expect(encodings).toHaveLength(14);
    for (const encoded of encodings) expect(isAcceptableKey(encoded)).toBe(false);
    // y = 2 is on no point; p + 3 is another spelling of y = 3.
    expect(isAcceptableKey(hex("02".padEnd(64, "0")))).toBe(false);
    expect(isAcceptableKey(hex(`f0${"ff".repeat(30)}7f`))).toBe(false);
    expect(isAcceptableKey(new Uint8Array(31))).toBe(false);
    expect(isAcceptableKey(new Uint8Array(0))).toBe(false);
  });

  it("are judged as noble judges them", () => {
    for (let i = 0; i < 300; i++) {
      const key = new Uint8Array(randomBytes(32));
      const point = strictPoint(key);
      const expected = point !== undefined && !point.isSmallOrder();
      expect(isAcceptableKey(key)).toBe(expected);
    }
  });

  it("keep their verdict when more keys come than are remembered", () => {
    const secret = secretOf(1);
    const signature = makeSigner("a", secret).sign(utf8("x"));
    for (let i = 0; i < 1_100; i++) {
      const junk = new Uint8Array(32);
      new DataView(junk.buffer).setUint32(0, i + 2);
      isAcceptableKey(junk);
    }
    expect(verifySignature(publicKeyOf(secret), utf8("x"), signature)).toBe(true);
  });
});

describe("many at once", () => {
  it("each gets its verdict, in order", () => {
    const checks = [...wycheproofCases.map(({ check }) => check), ...speccheck];
    const expected = checks.map(pointVerdict);
    expect(verifyEach(checks)).toEqual(expected);
    expect(verifyEach([])).toEqual([]);
  });
});

describe("signing", () => {
  it("is deterministic: all engines and noble make the same bytes", () => {
    for (let i = 0; i < 20; i++) {
      const secret = new Uint8Array(randomBytes(32));
      const bytes = new Uint8Array(randomBytes(i * 7));
      const expected = noble.sign(bytes, secret);
      const { sign } = makeSigner("a", secret);
      expect(sign(bytes)).toEqual(expected);
      for (const [, engine] of engines) {
        expect(engine.signerOf(secret)(bytes)).toEqual(expected);
        expect(engine.verify(publicKeyOf(secret), bytes, expected)).toBe(true);
      }
    }
  });

  it.each(engines)("by %s is not changed by what happens to the secret's buffer", (_, engine) => {
    const secret = secretOf(4);
    const expected = noble.sign(utf8("x"), secret);
    const sign = engine.signerOf(secret);
    secret.fill(0);
    expect(sign(utf8("x"))).toEqual(expected);
  });

  it("is not changed by what happens to the secret's buffer", () => {
    const secret = secretOf(4);
    const publicKey = publicKeyOf(secret);
    const signer = makeSigner("forge", secret);
    secret.fill(0);
    expect(verifySignature(publicKey, utf8("x"), signer.sign(utf8("x")))).toBe(true);
    expect(signer.keyId).toBe(keyId("forge", publicKey));
  });
});

describe("key ids", () => {
  it("are the handle and 8 hex of the key's hash, split at the first colon", () => {
    // From trust.json: alice's key.
    const key = decodeKey("fLrW21x02eJDGgk9cjpDzi/ln77xbhgDtYdbfqSKwg0=")!;
    expect(keyId("alice", key)).toBe("alice:28bf6857");
    expect(parseKeyId("alice:28bf6857")).toEqual({ handle: "alice", fingerprint: "28bf6857" });
    expect(parseKeyId("a:b:c")).toEqual({ handle: "a", fingerprint: "b:c" });
    expect(parseKeyId(":28bf6857")).toEqual({ handle: "", fingerprint: "28bf6857" });
    expect(parseKeyId("alice")).toBeUndefined();
  });
});

describe("base64", () => {
  const signature = new Uint8Array(64).map((_, i) => i * 4);
  const spelled = encodeBase64(signature);

  it("has one spelling", () => {
    expect(decodeSignature(spelled)).toEqual(signature);
    for (const other of [
      spelled.slice(0, -2),
      spelled.slice(0, -1),
      `${spelled}=`,
      `${spelled}\n`,
      ` ${spelled}`,
      `${spelled.slice(0, 40)}\n${spelled.slice(40)}`,
      spelled.replace(/.==$/, (end) => `${String.fromCharCode(end.charCodeAt(0) + 1)}==`),
      spelled.replaceAll("/", "_").replaceAll("+", "-"),
      `${spelled.slice(0, 43)}=`,
      "",
    ]) {
      if (other !== spelled) expect(decodeSignature(other)).toBeUndefined();
    }
  });

  it("of a signature decodes exactly when it is how the bytes are encoded", () => {
    const digit = fc.constantFrom(...Array.from("ABQgwz09+/=-_ \n"));
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 64, maxLength: 64 }),
        fc.nat(87),
        digit,
        (bytes, at, replacement) => {
          const text = encodeBase64(bytes);
          const other = text.slice(0, at) + replacement + text.slice(at + 1);
          const decoded = decodeSignature(other);
          expect(decodeSignature(text)).toEqual(bytes);
          if (decoded !== undefined) expect(encodeBase64(decoded)).toBe(other);
          else {
            const lenient = Buffer.from(other, "base64");
            expect(lenient.length === 64 && lenient.toString("base64") === other).toBe(false);
          }
        },
      ),
    );
  });

  it("of a key is as strict", () => {
    const key = encodeBase64(new Uint8Array(32).fill(255));
    expect(decodeKey(key)).toEqual(new Uint8Array(32).fill(255));
    expect(decodeKey(key.replace(/8=$/, "9="))).toBeUndefined();
    expect(decodeKey(key.slice(0, -1))).toBeUndefined();
    for (const other of [`A${key}`, `${key}=`, `${key}\n`, ` ${key}`]) {
      expect(decodeKey(other)).toBeUndefined();
    }
    expect(decodeKey(spelled)).toBeUndefined();
    expect(decodeSignature(key)).toBeUndefined();
  });
});
