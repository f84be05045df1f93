import { DeaddropError } from "../../api/errors.ts";
import type { Input } from "../context.ts";

/** A longer list of paths or refs is not read. */
const MAX_INPUT_BYTES = 256 * 1_048_576;

/** All of standard input. Throws DeaddropError on a terminal: a person would wait for it. */
export async function readText(input: Input): Promise<string> {
  if (input.isTTY === true) {
    throw new DeaddropError("usage", "standard input is a terminal", {
      hint: "give the paths as arguments, or pipe them: git diff --name-only -z | deaddrop check -",
    });
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    const piece = Buffer.from(chunk);
    bytes += piece.length;
    if (bytes > MAX_INPUT_BYTES) {
      throw new DeaddropError("usage", `standard input holds more than ${MAX_INPUT_BYTES} bytes`, {
        hint: "ask about fewer paths at once",
      });
    }
    chunks.push(piece);
  }
  return Buffer.concat(chunks).toString("utf8");
}
