import { LineSplitter } from "../../storage/disk/line-splitter.ts";

/**
 * The lines of standard input, without their newlines; a last one that no newline ends counts
 * too. `undefined` is a line over the line limit, which is not kept in memory.
 */
export async function* inputLines(
  input: AsyncIterable<Uint8Array | string>,
): AsyncGenerator<Uint8Array | undefined> {
  const splitter = new LineSplitter(0);
  for await (const chunk of input) {
    for (const line of splitter.feed(Buffer.from(chunk))) yield line.bytes;
  }
  if (splitter.position === splitter.start) return;
  for (const line of splitter.feed(Buffer.from("\n"))) yield line.bytes;
}
