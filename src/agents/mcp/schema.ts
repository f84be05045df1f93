/** A JSON schema of one argument. */
export interface Schema {
  readonly type: "string" | "integer" | "boolean" | "array";
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly items?: Schema;
}

/** A JSON schema of an object; some clients drop any combination (`anyOf`) at the root. Spec 8.1. */
export interface ObjectSchema {
  readonly type: "object";
  readonly properties: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

export function object(
  properties: Readonly<Record<string, Schema>>,
  ...required: readonly string[]
): ObjectSchema {
  const needed = required.length === 0 ? {} : { required };
  return { type: "object", properties, ...needed };
}

export function text(description?: string): Schema {
  return { type: "string", ...about(description) };
}

export function texts(description?: string): Schema {
  return { type: "array", items: { type: "string" }, ...about(description) };
}

export function choice(values: readonly string[], description?: string): Schema {
  return { type: "string", enum: values, ...about(description) };
}

export function flag(description?: string): Schema {
  return { type: "boolean", ...about(description) };
}

/** A whole number of 0 or more; beyond what the tool can do it does what it can. */
export function whole(description?: string): Schema {
  return { type: "integer", ...about(description) };
}

function about(description: string | undefined): { description?: string } {
  return description === undefined ? {} : { description };
}
