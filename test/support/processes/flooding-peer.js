// A hostile peer: appends to its log as fast as it can, until it is killed. Told on standard input,
// a line each: where to append to from now on ("" = nowhere). Lines: "signed" ones of its chain, or
// "garbage" that no check lets pass. Arguments: the built program's dist folder, the wire's id, the
// handle, its key, the log's name, the addressee, which lines.
import { createPrivateKey, sign } from "node:crypto";
import { appendFileSync, readFileSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import { pathToFileURL } from "node:url";

const [dist, wireId, handle, keyPath, log, to, which] = process.argv.slice(2);
const { composeLine } = await import(pathToFileURL(`${dist}/wire/compose.js`).href);
const { makeSigner } = await import(pathToFileURL(`${dist}/wire/signature.js`).href);
const { formatMicros } = await import(pathToFileURL(`${dist}/wire/timestamp.js`).href);

const LINES_A_WRITE = 32;
const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");
const NEWLINE = Buffer.from("\n");
const seed = readFileSync(keyPath);
const key = createPrivateKey({
  key: Buffer.concat([PKCS8_PREFIX, seed]),
  format: "der",
  type: "pkcs8",
});
const signer = { ...makeSigner(handle, seed), sign: (bytes) => sign(null, bytes, key) };
const body = { text: "all tests pass on main; ".repeat(6) };

function signedLines(head) {
  const lines = [];
  for (let at = 0; at < LINES_A_WRITE; at += 1) {
    const timestamp = formatMicros(Date.now() * 1_000 + at);
    const draft = { to: [to], type: "feedback", subject: "flood", body };
    const { line, id } = composeLine(draft, { timestamp, log, wireId, head }, signer);
    lines.push(line, NEWLINE);
    head = { seq: (head?.seq ?? 0) + 1, id };
  }
  return { bytes: Buffer.concat(lines), head };
}

const garbage = Buffer.from(`${'{"not":"a message"}\n'.repeat(5)}${"%\n".repeat(5)}`);
let target = "";
let asked = "";
process.stdin.setEncoding("utf8").on("data", (text) => {
  asked += text;
  const lines = asked.split("\n");
  asked = lines.pop();
  target = lines.at(-1) ?? target;
});
process.stdin.on("end", () => process.exit(0));
process.stdout.write("ready\n");

let standing;
for (;;) {
  await turn();
  if (target === "") {
    await new Promise((resolve) => setTimeout(resolve, 5));
    continue;
  }
  if (which === "garbage") {
    appendFileSync(target, garbage);
    continue;
  }
  const { bytes, head } = signedLines(standing);
  appendFileSync(target, bytes);
  // What goes elsewhere is no part of the chain.
  if (target.endsWith(`${log}.jsonl`)) standing = head;
}
