import { parseObject } from "../../wire/json/json.ts";
import { isRecord } from "../../wire/json/json-value.ts";

/** What one document is here, in the remote, and when the two were last the same: ids, by content. */
export interface DocumentState {
  readonly local: string | undefined;
  readonly remote: string | undefined;
  readonly agreed: string | undefined;
}

/** What is to be done with it: nothing, take the remote's, push ours, or merge the two and push. */
export type DocumentStep = "same" | "take" | "push" | "merge";

/**
 * Of a document that any agent may write: who has changed it since the two were the same wins; if both
 * have, the remote's counts, since the others have it already, and a list that can be merged is merged.
 * A document of ours is pushed as it is, and another agent's is taken as it is. Spec 5.2. Pure.
 */
export function documentStep(
  { local, remote, agreed }: DocumentState,
  whose: "ours" | "another's" | "everybody's",
  isMergeable: boolean,
): DocumentStep {
  if (local === remote) return "same";
  if (whose === "ours") return local === undefined ? "same" : "push";
  if (whose === "another's") return remote === undefined ? "same" : "take";
  if (remote === undefined) return "push";
  if (local === undefined || local === agreed) return "take";
  if (remote === agreed) return "push";
  return isMergeable ? "merge" : "take";
}

/**
 * Two JSON objects as one: what only one of them has is kept, lists are joined, and where they
 * contradict each other the first one counts. Undefined when one is no JSON object. Pure.
 */
export function mergedJson(first: string, second: string): string | undefined {
  const [a, b] = [first, second].map(parsed);
  if (!isRecord(a) || !isRecord(b)) return undefined;
  return `${JSON.stringify(merge(a, b), null, 2)}\n`;
}

/** Strictly, as all JSON of a wire is read: others write it, and its depth is bounded. */
function parsed(text: string): unknown {
  return parseObject(Buffer.from(text, "utf8")).ok ? (JSON.parse(text) as unknown) : undefined;
}

function merge(a: unknown, b: unknown): unknown {
  if (Array.isArray(a) && Array.isArray(b)) {
    const [ours, theirs] = [a as unknown[], b as unknown[]];
    const known = new Set(ours.map((each) => JSON.stringify(each)));
    return [...ours, ...theirs.filter((each) => !known.has(JSON.stringify(each)))];
  }
  if (!isRecord(a) || !isRecord(b)) return a;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return Object.fromEntries(
    [...keys].map((key) => {
      if (!Object.hasOwn(a, key)) return [key, b[key]];
      return [key, Object.hasOwn(b, key) ? merge(a[key], b[key]) : a[key]];
    }),
  );
}
