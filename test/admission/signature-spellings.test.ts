import { expect, test } from "vitest";
import { authenticate } from "../../src/admission/authenticate.ts";
import {
  bob,
  alice,
  context,
  lineOf,
  note,
  peer,
  person,
  signV30,
  signV31,
  storeOf,
} from "../trust/people.ts";

// Replay by a signature that is spelled otherwise: JavaScript's own decoder takes all of these for
// the same 64 bytes. Only the one that an encoder writes is a signature.

type Respell = (spelled: string) => string;
const SPELLINGS: readonly (readonly [string, Respell])[] = [
  ["without padding", (spelled) => spelled.replace(/=+$/, "")],
  ["with white space in it", (spelled) => `${spelled.slice(0, 40)}\n ${spelled.slice(40)}`],
  ["with more padding", (spelled) => `${spelled}==`],
  ["in the URL alphabet", (spelled) => spelled.replaceAll("+", "-").replaceAll("/", "_")],
  [
    "with bits set in the last sign",
    (spelled) => spelled.replace(/.==$/, (end) => `${nextSign(end)}==`),
  ],
];

/** The letter after it: the two signs differ only in bits that are not part of the 64 bytes. */
function nextSign(end: string): string {
  return String.fromCharCode(end.charCodeAt(0) + 1);
}

/** A line whose signature has a sign of each alphabet in it. */
function spelledBoth(sign: typeof signV31): ReturnType<typeof signV31> {
  for (let at = 0; ; at += 1) {
    const signed = sign(note({ body: `line ${at}` }));
    const text = String(signed["signature"]);
    if (text.includes("+") && text.includes("/")) return signed;
  }
}

const here = { owner: "alice", log: "alice_to_bob" };
const ctx = context({ store: storeOf(peer(alice), peer(bob), peer(person("carol"))) });

test.each(SPELLINGS)("re-encoded signature: %s, it is none", (_, respell) => {
  for (const sign of [signV31, signV30]) {
    const signed = spelledBoth(sign);
    const text = String(signed["signature"]);
    const other = respell(text);
    expect(other).not.toBe(text);
    expect(Buffer.from(other, "base64")).toEqual(Buffer.from(text, "base64"));
    expect(authenticate(lineOf(signed), here, ctx).ok).toBe(true);
    expect(authenticate(lineOf({ ...signed, signature: other }), here, ctx)).toMatchObject({
      ok: false,
      reason: "invalid_signature",
    });
  }
});
