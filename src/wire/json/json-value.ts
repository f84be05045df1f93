/** A number literal with `.` or an exponent: an IEEE double, also when it is integral. Spec 1.4. */
export class JsonDouble {
  readonly value: number;
  constructor(value: number) {
    this.value = value;
  }
}

/** `number` is an integer literal that is a safe integer, `bigint` any larger one. */
export type JsonValue =
  null | boolean | string | number | bigint | JsonDouble | readonly JsonValue[] | JsonObject;

/** Frozen, and without a prototype that has properties: `__proto__` is an ordinary key. */
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** True for JSON objects alone: not for null, arrays and doubles. */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof JsonDouble)
  );
}

export function isJsonArray(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

type Bag<Value> = Record<string, Value>;
// An empty prototype that itself has none: as safe as Object.create(null), and V8 keeps such
// objects out of its slow dictionary mode.
function BareObject(this: object): void {}
BareObject.prototype = Object.freeze(Object.create(null) as object);
const Bare = BareObject as unknown as new () => Bag<never>;

/** A new object on which every key is an ordinary key. */
export function bareObject<Value>(): Bag<Value> {
  return new Bare();
}

/** Whether a value of other JSON than that of the wire is an object. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
