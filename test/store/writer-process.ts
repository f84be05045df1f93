// A process that holds lines in a store, one transaction each, and prints the `n` of each line that is
// committed. Arguments: the database, a name, how many lines (0: until it is killed).
import { createHash } from "node:crypto";
import { writeSync } from "node:fs";
import { Store } from "../../src/store/store.ts";

const [path = "", name = "", count = "0"] = process.argv.slice(2);
const store = Store.open(path);
for (let at = 1; count === "0" || at <= Number(count); at += 1) {
  const id = createHash("sha256").update(`${name} ${at}`).digest("hex");
  const n = store.write((into) => {
    const { n: held } = into.hold({
      ...{ author: name, seq: at, id, thread: name, type: "ship", sentMs: at, receivedMs: at },
      ...{
        isLive: true,
        isOurs: true,
        isUrgent: false,
        keyId: null,
        isVerified: true,
        prev: null,
        names: [],
        bytes: Buffer.from(`${name} ${at}`),
      },
      words: { subject: name, body: `line ${at}` },
    });
    store.sends.bind({ name: `${name} ${at}`, digest: "" }, [held], 0);
    return held;
  });
  writeSync(1, `${at} ${n}\n`);
}
store.close();
