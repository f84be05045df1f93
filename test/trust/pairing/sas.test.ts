import { readFileSync } from "node:fs";
import { describe, expect, it, test } from "vitest";
import { committedSas, sasCommitment, staticSas } from "../../../src/trust/pairing/sas.ts";

interface Side {
  readonly did: string;
  readonly key: string;
  readonly nonce: string;
  readonly commitment: string;
}

interface Vector {
  readonly a: Side;
  readonly b: Side;
  readonly committed_sas: string;
  readonly sas: string;
}

const vectors = readFileSync(new URL("../../vectors/sas.jsonl", import.meta.url), "utf8")
  .trimEnd()
  .split("\n")
  .map((text) => JSON.parse(text) as Vector);

const party = ({ did, key, nonce }: Side) => ({
  did,
  key: Buffer.from(key, "base64"),
  nonce: Buffer.from(nonce, "base64"),
});

test("the vectors are all there", () => {
  expect(vectors).toHaveLength(8);
});

test.each(vectors)("$a.did and $b.did: $committed_sas, $sas", (vector) => {
  const [a, b] = [party(vector.a), party(vector.b)];
  expect(sasCommitment(a.nonce, a.key)).toBe(vector.a.commitment);
  expect(sasCommitment(b.nonce, b.key)).toBe(vector.b.commitment);
  expect([committedSas(a, b), committedSas(b, a)]).toEqual(Array(2).fill(vector.committed_sas));
  expect([staticSas(a, b), staticSas(b, a)]).toEqual(Array(2).fill(vector.sas));
});

describe("digits", () => {
  const [a, b] = [party(vectors[0]?.a as Side), party(vectors[0]?.b as Side)];

  it("need two sides, and nonces and keys of 32 bytes", () => {
    expect(() => staticSas(a, { ...b, did: a.did })).toThrow(TypeError);
    expect(() => committedSas(a, { ...b, nonce: b.nonce.subarray(1) })).toThrow("31 bytes");
    expect(() => staticSas({ ...a, key: a.key.subarray(1) }, b)).toThrow("31 bytes");
    expect(() => sasCommitment(a.nonce.subarray(2), a.key)).toThrow(
      "a nonce of 30 bytes; expected 32",
    );
    expect(() => sasCommitment(a.nonce, a.key.subarray(3))).toThrow(
      "a key of 29 bytes; expected 32",
    );
    expect(() => committedSas({ ...a, nonce: a.nonce.subarray(1) }, b)).toThrow("a nonce of 31");
    expect(() => staticSas(a, { ...b, key: b.key.subarray(1) })).toThrow("a key of 31 bytes");
    expect(() => staticSas(a, { ...b, did: a.did })).toThrow(`both sides are ${a.did}`);
  });

  it("follow from both nonces", () => {
    const other = { ...a, nonce: Buffer.alloc(32, 7) };
    expect(committedSas(other, b)).not.toBe(committedSas(a, b));
    expect(committedSas(a, { ...b, nonce: Buffer.alloc(32, 7) })).not.toBe(committedSas(a, b));
  });
});
