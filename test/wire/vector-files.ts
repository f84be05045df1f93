import { readFileSync } from "node:fs";

function pathOf(name: string): URL {
  return new URL(`../vectors/${name}`, import.meta.url);
}

/** The objects of a JSONL file under `test/vectors`. */
export function vectorLines<Line>(name: string): Line[] {
  const text = readFileSync(pathOf(name), "utf8");
  // Split at newlines alone: some texts hold U+2028 and the like.
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as Line);
}

export function vectorFile<Document>(name: string): Document {
  return JSON.parse(readFileSync(pathOf(name), "utf8")) as Document;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export const utf8 = (text: string): Uint8Array => encoder.encode(text);
export const textOf = (bytes: Uint8Array): string => decoder.decode(bytes);
export const hex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "hex"));
