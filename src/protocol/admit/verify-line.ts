import { bodyBytes } from "../../wire/compose.ts";
import { DEFAULT_LIMITS } from "../../wire/limits.ts";
import { verifySignature } from "../../wire/signature.ts";
import { acceptsType } from "../../trust/tiers.ts";
import { tierOf, type TrustStore } from "../../trust/store.ts";
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
  const problem = line.problem ?? keyProblem(line, store) ?? policyProblem(line, store);
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

function policyProblem(line: ChainedLine | LooseLine, store: TrustStore): Problem | undefined {
  const { author, type, body, refs, size } = line;
  const tier = tierOf(store, author);
  if (!acceptsType(tier, type))
    return problem("tier_refused", `${author} is ${tier ?? "blocked"}: ${type} is not taken`);
  const maxBytes = DEFAULT_LIMITS.maxMessageBodyKb * 1_024;
  const length = tier !== "TRUSTED" && size > maxBytes ? bodyBytes(body) : 0;
  if (length > maxBytes)
    return problem("body_too_large", `body has ${length} bytes; at most ${maxBytes} are taken`);
  const { maxRefs } = DEFAULT_LIMITS;
  if (refs > maxRefs) return problem("too_many_refs", `${refs} refs; at most ${maxRefs} are taken`);
  return undefined;
}

function problem(reason: Problem["reason"], detail: string): Problem {
  return { reason, detail };
}
