import { LIMITS, type LimitName } from "../../wire/limits.ts";
import { quote } from "../../wire/quote.ts";
import { mayBeUnsigned, type WireConfig } from "./config.ts";

/** One thing in which a policy is weaker than the defaults; the operator agrees to each. Spec 1.1. */
export interface Weakness {
  readonly kind: "unsigned" | "limit" | "domain";
  /** The handle, the limit or the domain: what `--accept-unsigned` and the like are given. */
  readonly name: string;
  /** In words; what the file chose is quoted. */
  readonly detail: string;
}

/**
 * In what a policy is weaker than the defaults: whose unsigned lines it lets in, which limits it
 * raises, which domains belong to others. Spec 1.1.
 *
 * @param roster of the wire, or the peers that are named where its file names none
 * @param own handles of this operator
 */
export function weaknesses(
  { signing, limits, domains }: WireConfig,
  roster: readonly string[],
  own: readonly string[],
): readonly Weakness[] {
  const others = new Set([...roster, ...signing.allowUnsignedFrom].filter((h) => !own.includes(h)));
  const unsigned = [...others].filter((handle) => mayBeUnsigned(signing, handle));
  const raised = (Object.keys(LIMITS) as LimitName[]).filter(
    (name) => LIMITS[name].protects && limits[name] > LIMITS[name].default,
  );
  const foreign = [...domains].filter(([, { owner }]) => !own.includes(owner));
  return [
    ...unsigned.map((name) => {
      const detail = `lines of ${name} need no signature: anybody who can write in the folder can speak as ${name} until a key of it is pinned`;
      return { kind: "unsigned" as const, name, detail };
    }),
    ...raised.map((name) => {
      const detail = `limits.${name} is ${limits[name]}; the default is ${LIMITS[name].default}`;
      return { kind: "limit" as const, name, detail };
    }),
    ...foreign.map(([name, { owner, paths }]) => {
      const which = paths.map((path) => quote(path)).join(", ");
      const detail = `the domain ${quote(name)} (${which || "no paths"}) belongs to ${owner}: decisions on it need ${owner}`;
      return { kind: "domain" as const, name, detail };
    }),
  ];
}
