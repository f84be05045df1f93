import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  coreOfCarriers,
  coreOfStore,
  fileTransport,
  readFileAuthors,
  recordedLines,
} from "../../src/agent/audit.ts";
import { auditReport, type AuditReport } from "../../src/agent/answers/audit.ts";
import { keyHistory } from "../../src/agent/answers/key-history.ts";
import type { Core, CorePlace } from "../../src/agent/core.ts";
import { nodeDisk } from "../../src/storage/disk/node-disk.ts";
import { composeLine, signFields } from "../../src/wire/compose.ts";
import { fromPlain, type JsonObject } from "../../src/wire/json/json.ts";
import {
  corePlace,
  recordingWire,
  verifyAll,
  type CoreWire,
  WIRE_ID,
  type CoreAgent,
} from "../support/core-wire.ts";

const disk = nodeDisk();
const MINUTE = 60_000;
let root = "";
let wire: CoreWire;
let opened: Core[] = [];
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "audit-"));
});
afterEach(() => {
  for (const core of opened) core.close();
  opened = [];
  wire.close();
});
afterAll(() => {
  rmSync(root, { recursive: true });
});

/** Three agents agree on something, and 25 minutes pass. */
async function agreed(recorders: readonly string[] = ["forge", "scribe"]): Promise<CoreAgent[]> {
  const names = ["forge", "scribe", "ann"];
  wire = recordingWire(root, names, recorders);
  await wire.settle(1);
  const [forge, scribe] = [wire.agent("forge"), wire.agent("scribe")];
  const ask = forge.propose("Frozen until May.", ["scribe"]);
  await wire.settle();
  scribe.answer(ask, true);
  await wire.settle();
  wire.nowMs += 25 * MINUTE;
  await wire.settle();
  return names.map((name) => wire.agent(name));
}

function world() {
  const clock = {
    ...{ wallMs: () => wire.nowMs, micros: () => 0, monoMs: () => wire.nowMs },
    nextTurn: () => Promise.resolve(),
  };
  return { disk, clock, verifyAll, random: () => 0.5 };
}

function placeOf(name: string): CorePlace {
  const paths = { markPath: join(wire.root, "no-mark"), inboxPath: join(wire.root, "no-inbox") };
  return { ...corePlace(name, wire.names), ...paths };
}

const outbox = (name: string): string => join(wire.dir, "outbox", `${name}.jsonl`);

function ofStore({ name, storePath }: CoreAgent): AuditReport {
  const core = coreOfStore(world(), placeOf(name), storePath);
  opened.push(core);
  const record = recordedLines(disk, wire.dir);
  return auditReport(core, { keys: "pinned", record, unowned: [], skipped: [] });
}

/** Of the carriers alone, as ann would. */
async function ofFiles(): Promise<AuditReport> {
  const paths = wire.names.map(outbox);
  const transport = fileTransport(disk, readFileAuthors(disk, paths), world().clock);
  const { core, skipped } = await coreOfCarriers(world(), placeOf("ann"), [transport]);
  opened.push(core);
  const record = recordedLines(disk, wire.dir);
  return auditReport(core, { keys: "pinned", record, unowned: [], skipped });
}

const rules = ({ violations }: AuditReport): string[] => violations.map(({ rule }) => rule);

function rewrite(path: string, change: (lines: string[]) => readonly string[]): void {
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
  writeFileSync(
    path,
    change(lines)
      .map((line) => `${line}\n`)
      .join(""),
  );
}

describe("an audit (spec 4.10)", () => {
  test("a store and the carriers alone give the same outcomes, and nothing is written", async () => {
    const [forge] = (await agreed()) as [CoreAgent];
    const before = wire.names.map((name) => readFileSync(outbox(name), "utf8"));
    const report = ofStore(forge);
    expect(report).toMatchObject({
      ...{ violations: [], keys: "pinned", unverified: 0, twins: [], torn: [], incidents: [] },
      decisions: [{ decision: "Frozen until May.", acked_by: ["forge", "scribe"] }],
    });
    const files = await ofFiles();
    expect([files.violations, files.decisions]).toEqual([[], report.decisions]);
    expect(files.threads).toBe(report.threads);
    expect(wire.names.map((name) => readFileSync(outbox(name), "utf8"))).toEqual(before);
  });

  test("a decision that nobody has recorded is missing, once a party should have recorded it", async () => {
    const [forge] = (await agreed([])) as [CoreAgent];
    expect(rules(ofStore(forge))).toEqual(["decision_missing"]);
    wire.nowMs -= 24 * MINUTE;
    expect(rules(ofStore(forge))).toEqual([]);
  });

  test("entries that the lines do not prove are violations, those of nobody and torn ones are not", async () => {
    const [forge] = (await agreed()) as [CoreAgent];
    const path = join(wire.dir, "decisions.jsonl");
    const entry = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
    const { event_id: _id, public_key_id: _key, signature: _signature, ...fields } = entry;
    const sign = (name: string, more: object): string => {
      const unsigned = fromPlain({ ...fields, ...more }) as JsonObject;
      return Buffer.from(signFields(unsigned, corePlace(name, wire.names).signer).line).toString();
    };
    rewrite(path, (lines) => [
      ...lines,
      sign("scribe", { recorded_by: "scribe" }),
      sign("scribe", { recorded_by: "scribe", decision: "Frozen for good." }),
      JSON.stringify({ ...fields, decision: "Nobody's." }),
      '{"decision":"to',
    ]);
    const report = ofStore(forge);
    expect(report.violations).toMatchObject([
      { rule: "decision_unproved", detail: "decision is not what the lines say" },
    ]);
    expect([report.twins.length, report.torn.length]).toEqual([1, 1]);
  });

  test("a line that is missing in the carriers is a gap, and what waits for it is no decision", async () => {
    await agreed();
    const own = readFileSync(outbox("scribe"), "utf8").split("\n").slice(0, -1);
    const at = own.findIndex((line) => line.includes('"approve":true'));
    wire.agent("scribe").say("later");
    await wire.settle(1);
    rewrite(outbox("scribe"), (lines) => lines.filter((_line, index) => index !== at));
    const report = await ofFiles();
    expect(new Set(rules(report))).toEqual(new Set(["log_gap", "decision_pending"]));
    expect(report.violations[0]?.place?.[0]).toBe("scribe");
    expect(report.decisions).toEqual([]);
  });

  test("another line of the same number is a fork", async () => {
    const [forge, scribe] = (await agreed()) as [CoreAgent, CoreAgent];
    const first = forge.say("one");
    const head = { seq: (first.seq ?? 0) - 1, id: first.prev ?? "" };
    const timestamp = new Date(wire.nowMs).toISOString();
    const draft = { to: ["*"], type: "ship", subject: "two", body: "" };
    const at = { timestamp, wireId: WIRE_ID, head, version: "v3.1" } as const;
    const { line, id } = composeLine(draft, at, placeOf("forge").signer);
    rewrite(outbox("forge"), (lines) => [...lines, Buffer.from(line).toString()]);
    while (await scribe.core.round());
    const second = ["forge", first.seq, id];
    for (const report of [await ofFiles(), ofStore(scribe)])
      expect(report.violations).toMatchObject([{ rule: "log_forked", place: second }]);
  });

  test("junk in a carrier is counted by its reason", async () => {
    await agreed();
    rewrite(outbox("ann"), (lines) => [...lines, "junk", "more junk"]);
    const report = await ofFiles();
    expect(report.violations).toMatchObject([
      {
        rule: "malformed",
        place: null,
        detail: expect.stringMatching(/^2 lines .* ann/u) as string,
      },
    ]);
  });

  test("files without any key that is known are taken as they are", async () => {
    await agreed();
    const authors = readFileAuthors(disk, wire.names.map(outbox));
    expect([...authors.handles].toSorted()).toEqual(["ann", "forge", "scribe"]);
    expect(authors.wireIds.size).toBe(1);
    const known: CorePlace = {
      ...placeOf("ann"),
      believed: (author) => ({
        ...placeOf("ann").believed(author),
        keys: [...(authors.keyIds.get(author) ?? [])].map((keyId) => ({
          ...{ keyId, key: new Uint8Array(32), active: true },
        })),
      }),
    };
    const all = (items: readonly unknown[]) => Promise.resolve(items.map(() => true));
    const transport = fileTransport(disk, authors, world().clock);
    const gathered = await coreOfCarriers({ ...world(), verifyAll: all }, known, [transport]);
    opened.push(gathered.core);
    const by = { keys: "none", record: undefined, unowned: [], skipped: gathered.skipped } as const;
    const report = auditReport(gathered.core, by);
    expect(report.decisions).toMatchObject([{ decision: "Frozen until May." }]);
    expect(report.unverified).toBe(report.messages);
  });

  test("what a key has signed is listed, and what it signed after its end is marked", async () => {
    const [forge] = (await agreed()) as [CoreAgent];
    const all = keyHistory(forge.core, placeOf("scribe").signer.keyId, 0);
    expect(all.map(({ type }) => type)).toContain("ack");
    expect(all.every((line) => !line.after_the_end && line.received)).toBe(true);
    const last = all.find(({ type }) => type === "ack");
    const believed = placeOf("ann").believed;
    const stopped: CorePlace = {
      ...placeOf("ann"),
      believed: (author) => ({
        ...believed(author),
        keys: believed(author).keys.map((key) => ({
          ...{ ...key, active: false },
          last: { seq: last?.place[1] ?? 0, id: last?.event_id ?? "" },
        })),
      }),
    };
    const core = coreOfStore(world(), stopped, forge.storePath);
    opened.push(core);
    wire.agent("scribe").say("later");
    await wire.settle(1);
    const marked = keyHistory(core, placeOf("scribe").signer.keyId, Infinity);
    expect(marked.map(({ subject }) => subject)).toContain("later");
    expect(marked.map(({ event_id: id }) => id)).not.toContain(last?.event_id);
    expect(keyHistory(core, "nobody:00000000", 0)).toEqual([]);
  });
});
