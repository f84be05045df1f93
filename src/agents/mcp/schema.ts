declare const VALUE: unique symbol;

/** A JSON schema of one argument; `Value`: what `checkArguments` makes of it. */
export interface Schema<Value = unknown> {
  readonly type: "string" | "integer" | "boolean" | "array";
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly items?: Schema;
  /** Only a type: no schema has this field. */
  readonly [VALUE]?: Value;
}

type Properties = Readonly<Record<string, Schema>>;
type ValueOf<S> = S extends Schema<infer Value> ? Value : never;
type ArgumentsOf<P extends Properties, Required extends keyof P> = {
  [Name in Required]: ValueOf<P[Name]>;
} & { [Name in Exclude<keyof P, Required>]?: ValueOf<P[Name]> };

/** A JSON schema of an object; some clients drop any combination (`anyOf`) at the root. Spec 8.1. */
export interface ObjectSchema<Args = unknown> {
  readonly type: "object";
  readonly properties: Properties;
  readonly required?: readonly string[];
  readonly [VALUE]?: Args;
}

/** The arguments that a schema lets pass. */
export type Args<S> = S extends ObjectSchema<infer A> ? A : never;

export function object<const P extends Properties, Required extends keyof P & string = never>(
  properties: P,
  ...required: readonly Required[]
): ObjectSchema<ArgumentsOf<P, Required>> {
  const needed = required.length === 0 ? {} : { required };
  return { type: "object", properties, ...needed };
}

export function text(description?: string): Schema<string> {
  return { type: "string", ...about(description) };
}

export function texts(description?: string): Schema<string[]> {
  return { type: "array", items: { type: "string" }, ...about(description) };
}

export function choice<const Value extends string>(values: readonly Value[]): Schema<Value> {
  return { type: "string", enum: values };
}

export function flag(description?: string): Schema<boolean> {
  return { type: "boolean", ...about(description) };
}

/** A whole number of 0 or more; beyond what the tool can do it does what it can. */
export function whole(description?: string): Schema<number> {
  return { type: "integer", ...about(description) };
}

function about(description: string | undefined): { description?: string } {
  return description === undefined ? {} : { description };
}
