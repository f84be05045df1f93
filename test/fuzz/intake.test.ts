import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { mailId } from "../../src/agent/plain-files.ts";
import { Database } from "../../src/store/database.ts";
import { composeLine, type ChainHead } from "../../src/wire/compose.ts";
import { makeSigner } from "../../src/wire/signature.ts";
import { amount } from "../support/amounts.ts";
import { CoreWire, secretOf, WIRE_ID } from "../support/core-wire.ts";
import { CORPUS } from "./corpus.ts";
import { mutateBytes } from "./mutate-bytes.ts";
import { pickerFrom, type Picker } from "./picker.ts";

/** Fewer than an author may send at once: none of them waits. */
const LINES = 40;
const FILES = ["scribe_to_forge.jsonl", "forge_to_scribe.jsonl", "outbox/scribe.jsonl"];

const root = mkdtempSync(join(tmpdir(), "deaddrop-soup-"));
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

/** The chain of an honest agent. */
function chainOf(author: string): { id: string; line: Uint8Array }[] {
  const signer = makeSigner(author, secretOf(author));
  const lines: { id: string; line: Uint8Array }[] = [];
  let head: ChainHead | undefined;
  for (let seq = 1; seq <= LINES; seq += 1) {
    const draft = { to: ["forge"], type: "ship", subject: `line ${seq}`, body: { at: `${seq}` } };
    const at = { timestamp: `2026-06-01T11:00:00.0000${seq + 10}Z`, wireId: WIRE_ID, head };
    const { line, message } = composeLine(draft, at, signer);
    head = { seq, id: message.id };
    lines.push({ id: message.id, line });
  }
  return lines;
}

/** These lines, each once or more often and in any order, among what anybody might have written there. */
function soup(lines: readonly Uint8Array[], pick: Picker): Uint8Array[] {
  const junk = (): Uint8Array => {
    const one = pick.one(lines);
    if (pick.once(4)) return Uint8Array.from({ length: pick.below(300) }, () => pick.below(256));
    if (pick.once(4)) return mutateBytes(pick.one(CORPUS).line, one, pick);
    return mutateBytes(one, pick.one(lines), pick);
  };
  const pieces = [
    ...lines,
    ...Array.from({ length: lines.length }, () => pick.one(lines)),
    ...Array.from({ length: 4 * lines.length }, junk),
  ];
  return pieces
    .map((piece) => ({ piece, at: pick.below(1_000_000) }))
    .toSorted((one, other) => one.at - other.at)
    .map(({ piece }) => Buffer.concat([piece, Buffer.from("\n")]));
}

test("whatever stands in carriers, each line that its author has signed comes once, and nothing else", async () => {
  const chain = chainOf("scribe");
  const ids = chain.map(({ id }) => id);
  for (let seed = 1; seed <= amount(8, 200); seed += 1) {
    const pick = pickerFrom(seed);
    const wire = new CoreWire(root, ["forge", "scribe"]);
    const forge = wire.agent("forge");
    mkdirSync(join(wire.dir, "outbox"));
    const files = FILES.map((file) => ({ path: join(wire.dir, file), text: [] as Uint8Array[] }));
    for (const piece of soup(
      chain.map(({ line }) => line),
      pick,
    ))
      pick.one(files).text.push(piece);
    for (const { path, text } of files) {
      const bytes = Buffer.concat(text);
      for (let from = 0; from < bytes.length;) {
        // It is read while somebody writes it.
        const to = from + 1 + pick.below(bytes.length / 4);
        appendFileSync(path, bytes.subarray(from, to));
        from = to;
        wire.nowMs += 1_000;
        while (await forge.core.round());
        if (pick.once(8)) forge.restart();
      }
    }
    while (await forge.core.round());
    const { store } = forge.core;
    expect(store.chain("scribe", { after: 0, limit: 1_000 }).map(({ id }) => id)).toEqual(ids);
    expect(store.chains.whole("scribe")).toMatchObject({ seq: LINES, fork: null });
    expect(store.mail.after({}, 0, 1_000).map((n) => store.line(n)?.id)).toEqual(ids);
    const inbox = readFileSync(forge.inboxPath, "utf8").split("\n").slice(0, -1);
    expect(inbox.map((line) => mailId(Buffer.from(line)))).toEqual(ids);
    wire.close();
    const database = Database.openToRead(forge.storePath);
    expect(database.all("pragma integrity_check")).toEqual([{ integrity_check: "ok" }]);
    database.close();
  }
});
