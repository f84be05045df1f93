import type { Client } from "../api/client.ts";
import { checkArguments } from "../verbs/check.ts";
import { say, type Said } from "../verbs/say.ts";
import { VERBS, type VerbEntry } from "../verbs/table.ts";
import type { Field, Fields, Verb } from "../verbs/verb.ts";
import type { JsonValue } from "../wire/json/json-value.ts";

type CamelCase<S> = S extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : S & string;

/** What every verb takes besides: `key` makes a repeated call safe for 24 hours. Spec 8.1. */
export interface Once {
  readonly key?: string;
}

/** A body is any JSON value. */
type ValueOf<F> = F extends Field<infer V> ? (JsonValue extends V ? unknown : V) : never;
type About<F extends Fields, Left> = Once & {
  readonly [K in Exclude<keyof F, Left> as CamelCase<K>]?: ValueOf<F[K]> | undefined;
};
/** What a verb needs is its first argument, or among the others. Several are sent together, or none. */
type Saying<V> =
  V extends Verb<infer F, infer Needed>
    ? [Needed] extends [never]
      ? (...abouts: readonly About<F, never>[]) => Promise<Said>
      : {
          (needed: ValueOf<F[Needed]>, about?: About<F, Needed>): Promise<Said>;
          (...abouts: readonly About<F, never>[]): Promise<Said>;
        }
    : never;

/**
 * The ways in which an agent speaks: one for each verb. Each refuses what may not be said, with
 * DeaddropError, and resolves when the message is durable. A message is named by its event id or the first 6
 * characters of it. Spec 8.7.
 */
export type Speaking = {
  readonly [Name in keyof typeof VERBS as CamelCase<Name>]: Saying<
    Awaited<ReturnType<(typeof VERBS)[Name]["load"]>>
  >;
};

export function speakingOf(client: Client): Speaking {
  return methodsOf(client, VERBS) as unknown as Speaking;
}

/**
 * A method for each of these verbs, by its name in camel case.
 *
 * @internal
 */
export function methodsOf(client: Client, verbs: Readonly<Record<string, VerbEntry>>) {
  return Object.fromEntries(
    Object.entries(verbs).map(([name, entry]) => [
      name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
      (...given: readonly unknown[]) => call(client, name, entry, given),
    ]),
  );
}

async function call(
  client: Client,
  name: string,
  { load }: VerbEntry,
  given: readonly unknown[],
): Promise<Said> {
  const verb = await load();
  const [first, second] = given;
  const isAbout = typeof first === "object" && !Array.isArray(first);
  const [needed = Object.keys(verb.fields)[0] ?? ""] = verb.needs;
  const abouts = isAbout ? given : [{ ...(second as object | undefined), [needed]: first }];
  const { key } = (abouts[0] ?? {}) as Once;
  const words = abouts.map((about) => ({ ...(about as object | undefined), key: undefined }));
  const all = words.map((each) => checkArguments(name, verb.fields, verb.needs, each));
  const by = { client, nowMs: Date.now(), cwd: process.cwd(), env: process.env };
  return say(by, { name, args: words, key }, async () => {
    const [prepared, ...others] = await Promise.all(all.map((args) => verb.prepare(by, args)));
    if (prepared === undefined) throw new Error("nothing is said");
    const more = others.flatMap((other) => [other.draft, ...(other.more ?? [])]);
    return { ...prepared, more: [...(prepared.more ?? []), ...more] };
  });
}
