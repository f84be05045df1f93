import type { Client } from "../api/client.ts";
import type { JsonValue } from "../wire/json/json-value.ts";
import type { Prepared } from "./prepared.ts";

/**
 * An argument of a verb: a JSON schema, and what the command line calls it. The command's options, the
 * tool's schema and the library's types are derived from it.
 */
export interface Field<Value = unknown> {
  readonly type: "string" | "integer" | "boolean" | "array";
  readonly enum?: readonly string[];
  readonly items?: { readonly type: "string" };
  readonly default?: string;
  /** `<id>` or `[subject]` is a word of the command, in the order of the fields; `--due <when>` an option. */
  readonly spelling?: string;
  /** What the help of the command says of it. */
  readonly about?: string;
  /** What a model is told of it: as short as the name allows. */
  readonly description?: string;
  /** Other names that callers use for it. */
  readonly aliases?: readonly string[];
  /** Text, or any JSON value where the caller has one. */
  readonly isBody?: true;
  /** An option by which the text is read from a file, and its help. */
  readonly file?: Readonly<Record<`--${string}`, string>>;
  /** Only for its type: no field has it. */
  readonly value?: Value;
}

export type Fields = Readonly<Record<string, Field>>;
type ValueOf<F> = F extends Field<infer Value> ? Value : never;
type IsGiven<F, Needed> = {
  [K in keyof F]: K extends Needed ? K : F[K] extends { readonly default: string } ? K : never;
}[keyof F];

/** The arguments that the fields let pass, of which some are needed. */
export type ArgumentsOf<F extends Fields, Needed> = {
  readonly [K in IsGiven<F, Needed>]: ValueOf<F[K]>;
} & { readonly [K in Exclude<keyof F, IsGiven<F, Needed>>]?: ValueOf<F[K]> | undefined };

/** Who says something, where and when. */
export interface Speaker {
  readonly client: Client;
  /** Of the wall clock. */
  readonly nowMs: number;
  /** The folder that paths begin at. */
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Something that an agent can say. */
export interface AnyVerb {
  /** Paragraphs for the help of the command. */
  readonly about: string;
  /** In the order of the help; positional ones in the order of the words. */
  readonly fields: Fields;
  readonly needs: readonly string[];
  /** Command lines to copy. */
  readonly examples: readonly string[];
  /** Whether it binds or ends something for others: a client may ask a person before. Spec 8.1. */
  readonly binds?: true;
  /** Words of the command line as arguments, where their order alone does not say what they are. */
  words?(client: Client, words: readonly string[]): Promise<Record<string, unknown>>;
  /**
   * What is sent. It only reads; throws DeaddropError for what may not be said. The arguments have
   * passed `checkArguments`, or the parser of the command line.
   */
  prepare(by: Speaker, args: object): Promise<Prepared>;
}

/** The same, with the types of its arguments. */
export interface Verb<F extends Fields, Needed extends keyof F> extends AnyVerb {
  readonly fields: F;
  readonly needs: readonly (Needed & string)[];
  prepare(by: Speaker, args: ArgumentsOf<F, Needed>): Promise<Prepared>;
}

export function verb<const F extends Fields, const Needed extends keyof F & string = never>(
  definition: Verb<F, Needed>,
): Verb<F, Needed> {
  return definition;
}

/** @param description see `Field` */
export function text(spelling?: string, about?: string, description?: string): Field<string> {
  return { type: "string", ...said(spelling, about, description) };
}

export function texts(spelling?: string, about?: string, description?: string): Field<string[]> {
  return { type: "array", items: { type: "string" }, ...said(spelling, about, description) };
}

export function flag(spelling?: string, about?: string, description?: string): Field<boolean> {
  return { type: "boolean", ...said(spelling, about, description) };
}

export function choice<const V extends string>(
  values: readonly V[],
  spelling?: string,
  about?: string,
): Field<V> {
  return { type: "string", enum: values, ...said(spelling, about) };
}

/** A whole number of 0 or more. */
export function whole(description?: string): Field<number> {
  return { type: "integer", ...said(undefined, undefined, description) };
}

/** What is said; the command line has `--body`, `--body-file` and standard input for it, too. */
export function body(about: string, description?: string): Field<JsonValue> {
  const aliases = ["body", "message", "text", "content"];
  return { type: "string", isBody: true, aliases, ...said("[body]", about, description) };
}

function said(spelling?: string, about?: string, description?: string) {
  return {
    ...(spelling === undefined ? {} : { spelling }),
    ...(about === undefined ? {} : { about }),
    ...(description === undefined ? {} : { description }),
  };
}
