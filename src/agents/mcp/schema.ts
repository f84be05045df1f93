/** A JSON schema of one argument. */
export type Schema = Readonly<Record<string, unknown>>;

/** A JSON schema of an object; some clients drop any combination (`anyOf`) at the root. Spec 8.1. */
export interface ObjectSchema {
  readonly type: "object";
  readonly properties: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties: false;
}

export function object(
  properties: Readonly<Record<string, Schema>>,
  ...required: readonly string[]
): ObjectSchema {
  const needed = required.length === 0 ? {} : { required };
  return { type: "object", properties, ...needed, additionalProperties: false };
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

export function whole(minimum: number, maximum: number, description?: string): Schema {
  return { type: "integer", minimum, maximum, ...about(description) };
}

function about(description: string | undefined): { description?: string } {
  return description === undefined ? {} : { description };
}
