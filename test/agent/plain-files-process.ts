// A process that delivers mail and writes it into an inbox, and prints the number of the last line that it has
// written. Arguments: the database, the inbox.
import { createHash } from "node:crypto";
import { writeSync } from "node:fs";
import { inboxRows, mailId, PlainFile } from "../../src/agent/plain-files.ts";
import { nodeDisk } from "../../src/storage/disk/node-disk.ts";
import { Store } from "../../src/store/store.ts";

const [path = "", inbox = ""] = process.argv.slice(2);
const store = Store.open(path);
const file = new PlainFile(nodeDisk(), inbox, inboxRows(store), mailId, 200_000);
file.write();
for (let at = store.lastN() + 1; ; at += 1) {
  const id = createHash("sha256").update(String(at)).digest("hex");
  const body = "x".repeat((at * 1_237) % 9_001);
  store.write((into) => {
    const { n } = into.hold({
      ...{ author: "forge", seq: at, id, thread: "t", type: "ship", sentMs: at, receivedMs: at },
      ...{
        isLive: true,
        isOurs: true,
        isUrgent: false,
        keyId: null,
        isVerified: true,
        prev: null,
        names: [],
      },
      bytes: Buffer.from(JSON.stringify({ event_id: id, body })),
    });
    into.deliver(n);
    if (at % 50 === 0) into.markRead(store.mail.after({ unread: true }, 0, 100));
  });
  // Sometimes several are written at once.
  if (at % 3 === 0) continue;
  file.write();
  writeSync(1, `${at}\n`);
}
