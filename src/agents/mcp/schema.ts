import type { JsonValue } from "../../wire/json/json-value.ts";
import * as verb from "../../verbs/verb.ts";
import type { ArgumentsOf, Field, Fields } from "../../verbs/verb.ts";

export { choice, whole } from "../../verbs/verb.ts";

declare const ARGUMENTS: unique symbol;

/** The arguments of a tool; some clients drop any combination (`anyOf`) at the root. Spec 8.1. */
export interface ObjectSchema<Args = unknown> {
  readonly fields: Fields;
  readonly required: readonly string[];
  /** Only a type: no schema has this field. */
  readonly [ARGUMENTS]?: Args;
}

/** The arguments that a schema lets pass. */
export type Args<S> = S extends ObjectSchema<infer A> ? A : never;

export function object<const F extends Fields, Required extends keyof F & string = never>(
  fields: F,
  ...required: readonly Required[]
): ObjectSchema<ArgumentsOf<F, Required>> {
  return { fields, required };
}

export const text = (description?: string) => verb.text(undefined, undefined, description);
export const texts = (description?: string) => verb.texts(undefined, undefined, description);
export const flag = (description?: string) => verb.flag(undefined, undefined, description);

type AsText<F> = F extends Field<infer V> ? (JsonValue extends V ? Field<string> : F) : never;

/** Fields of a verb, as a model gives them: a body is text, and nothing is filled in. */
export function pick<F extends Fields, const Name extends keyof F>(
  fields: F,
  ...names: readonly Name[]
): { readonly [N in Name]: AsText<F[N]> } {
  const picked = names.map((name) => {
    const { isBody: _, default: __, ...field } = fields[name] as Field;
    return [name, field];
  });
  return Object.fromEntries(picked) as { readonly [N in Name]: AsText<F[N]> };
}

/** The JSON schema that clients are shown. Each word is paid for in each session. */
export function jsonSchemaOf({ fields, required }: ObjectSchema) {
  const properties = Object.fromEntries(
    Object.entries(fields).map(([name, { type, description, enum: values, items }]) => [
      name,
      {
        type,
        ...(values === undefined ? {} : { enum: values }),
        ...(items === undefined ? {} : { items }),
        ...(description === undefined ? {} : { description }),
      },
    ]),
  );
  return { type: "object", properties, ...(required.length === 0 ? {} : { required }) };
}
