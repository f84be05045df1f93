import { readFileSync } from "node:fs";
import { lineOf, note, signV30, signV31 } from "../trust/people.ts";
import { MESSAGE_TYPES } from "../../src/wire/kinds.ts";
import { utf8, vectorFile, vectorLines } from "../wire/vector-files.ts";
import { CHAIN } from "./situations.ts";

export interface Seed {
  readonly name: string;
  readonly line: Uint8Array;
}

interface Kept {
  readonly name: string;
  readonly base64: string;
}

const kept = (text: string): Seed[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Kept)
    .map(({ name, base64 }) => ({ name, line: new Uint8Array(Buffer.from(base64, "base64")) }));

function corpusFile(name: string): string {
  return readFileSync(new URL(`corpus/${name}`, import.meta.url), "utf8");
}

/** Every line that has ever told two judges apart, the real ones and those that were broken. */
const found = kept(corpusFile("found.jsonl"));

/** Lines as our own agents wrote them, of every type. */
const written = corpusFile("written.jsonl")
  .split("\n")
  .filter((line) => line !== "")
  .map((line, at) => ({ name: `written ${at + 1}`, line: utf8(line) }));

const published = vectorLines<{ name: string; line: string }>("signed.jsonl").map(
  ({ name, line }) => ({ name, line: utf8(line) }),
);

const canonical = vectorLines<{ name: string; text: string }>("canonical.jsonl").map(
  ({ name, text }) => ({ name, line: utf8(text) }),
);

const suite = vectorFile<Kept[]>("third-party/json-parsing-suite.json").map(({ name, base64 }) => ({
  name,
  line: new Uint8Array(Buffer.concat([utf8('{"body":'), Buffer.from(base64, "base64"), utf8("}")])),
}));

/** Lines whose keys the situations know, of every type and version, in the chain and outside. */
const own = [
  ...CHAIN.map((fields) => ({ name: `chain ${String(fields["seq"])}`, line: lineOf(fields) })),
  ...MESSAGE_TYPES.flatMap((type) => {
    const fields = note({ type, ack_required: type === "proposal", correlation_id: "a thread" });
    return [
      { name: `v3.1 ${type}`, line: lineOf(signV31(fields)) },
      { name: `v3.0 ${type}`, line: lineOf(signV30(fields)) },
      { name: `v2.0 ${type}`, line: lineOf(fields) },
    ];
  }),
];

/** Where mutations begin. */
export const CORPUS: readonly Seed[] = [
  ...found,
  ...written,
  ...own,
  ...published,
  ...canonical,
  ...suite,
];

/** These come more often than their number: they reach the checks behind the signature. */
export const FREQUENT: readonly Seed[] = [...found, ...written, ...own];
