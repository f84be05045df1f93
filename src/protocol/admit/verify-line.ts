import { DEFAULT_LIMITS } from "../../wire/limits.ts";
import { verifySignature } from "../../wire/signature.ts";
import { tierOf, type TrustStore } from "../../trust/store.ts";
import { policyProblem } from "./verdict.ts";
import { readLine, type ChainedLine, type LooseLine, type Problem } from "./read-line.ts";

export type JudgedLine =
  | { readonly ok: true; readonly line: ChainedLine | LooseLine }
  | { readonly ok: false; readonly problem: Problem };

/**
 * What can be said of one line without file, history and clock, by the default policy, which takes nothing
 * unsigned. Spec 2.4 (one judge).
 *
 * @param bytes undefined for a line that is too long to be kept
 */
export function verifyLine(bytes: Uint8Array | undefined, store: TrustStore): JudgedLine {
  const read = readLine(bytes, "");
  if (!read.ok) return read;
  const { line } = read;
  const isBlocked = store.peers.get(line.author)?.blocked === true;
  const policy = { tier: tierOf(store, line.author), isBlocked, limits: DEFAULT_LIMITS };
  const problem = line.problem ?? keyProblem(line, store) ?? policyProblem(line, policy);
  return problem === undefined ? read : { ok: false, problem };
}

function keyProblem({ author, signed }: ChainedLine | LooseLine, store: TrustStore) {
  if (signed === undefined) return problem("unsigned", "it has no signature, and policy wants one");
  const { keyId, bytes, signature } = signed;
  const keys = store.peers.get(author)?.keys ?? [];
  const pinned = keys.find((key) => key.keyId === keyId);
  if (pinned === undefined) return problem("untrusted_key", `${keyId} is not pinned`);
  if (!pinned.active) return problem("untrusted_key", `${keyId} was deactivated`);
  if (verifySignature(pinned.key, bytes, signature)) return undefined;
  return problem("invalid_signature", `the signature does not verify under ${keyId}`);
}

function problem(reason: Problem["reason"], detail: string): Problem {
  return { reason, detail };
}
