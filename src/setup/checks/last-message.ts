import { openIfThere, type Disk } from "../../storage/disk/disk.ts";
import { bytesBefore } from "../../storage/disk/line-splitter.ts";
import { MAX_LINE_BYTES } from "../../wire/limits.ts";
import { parseMessage, type Message } from "../../wire/message.ts";

/** The last whole line of a log that is a message; undefined when its last 2 MiB hold none. */
export function lastMessage(disk: Disk, path: string): Message | undefined {
  const file = openIfThere(disk, path);
  if (file === undefined) return undefined;
  try {
    const tail = Buffer.from(bytesBefore(file, file.stat().size, 2 * MAX_LINE_BYTES));
    for (let end = tail.lastIndexOf(0x0a); end > 0;) {
      const start = tail.lastIndexOf(0x0a, end - 1) + 1;
      const parsed = parseMessage(tail.subarray(start, end));
      if (parsed.ok) return parsed.message;
      end = start - 1;
    }
    return undefined;
  } finally {
    file.close();
  }
}
