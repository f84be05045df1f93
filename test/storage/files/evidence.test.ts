import { describe, expect, it } from "vitest";
import {
  evidenceFor,
  keepEvidence,
  MAX_EVIDENCE_BYTES,
  MAX_EVIDENCE_FILES,
  type Evidence,
} from "../../../src/storage/files/evidence.ts";
import { MemoryDisk, type MemoryProcess } from "../../support/disk/memory-disk.ts";

const FOLDER = "/state/evidence";

function evidence(change: Partial<Evidence> = {}): Evidence {
  const lines = [{ which: "held", line: "a" }];
  return { peer: "scribe", log: "scribe", mark: "5", matter: "m", about: {}, lines, ...change };
}

function text(disk: MemoryProcess, name: string): string {
  const file = disk.open(`${FOLDER}/${name}`, "read");
  const bytes = file.read(file.stat().size, 0);
  file.close();
  return Buffer.from(bytes).toString("utf8");
}

describe("evidence", () => {
  it("has a file of its own for each matter, and the same matter found again has the same", () => {
    const disk = new MemoryDisk({ seed: 1 }).process();
    expect(keepEvidence(disk, FOLDER, evidence())).toBe("scribe-scribe-5.jsonl");
    const before = text(disk, "scribe-scribe-5.jsonl");
    expect(before).toBe(
      '{"matter":"m","peer":"scribe","log":"scribe"}\n{"which":"held","line":"a"}\n',
    );
    const later = evidence({ lines: [{ which: "held", line: "b" }] });
    expect(keepEvidence(disk, FOLDER, later)).toBe("scribe-scribe-5.jsonl");
    expect(keepEvidence(disk, FOLDER, { ...later, matter: "n" })).toBe("scribe-scribe-5.2.jsonl");
    expect(text(disk, "scribe-scribe-5.jsonl")).toBe(before);
    expect(disk.stat(FOLDER)?.mode).toBe(0o700);
    expect(disk.stat(`${FOLDER}/scribe-scribe-5.jsonl`)?.mode).toBe(0o600);
  });

  it("is bounded for each log, and what is there stays", () => {
    const disk = new MemoryDisk({ seed: 1 }).process();
    const keep = (matter: string, log = "scribe") =>
      keepEvidence(disk, FOLDER, evidence({ matter, log, mark: matter }));
    for (let at = 1; at <= MAX_EVIDENCE_FILES; at += 1) {
      expect(keep(String(at))).toBe(`scribe-scribe-${at}.jsonl`);
    }
    expect(keep("99")).toBeUndefined();
    expect(keep("7")).toBe("scribe-scribe-7.jsonl");
    expect(keep("99", "scribe_to_forge")).toBe("scribe-scribe_to_forge-99.jsonl");
    expect(evidenceFor(disk, FOLDER, "scribe", "scribe")).toHaveLength(MAX_EVIDENCE_FILES);
  });

  it.each(["null", "7", '"m"', '{"matter":7}', "{"])(
    "passes over a file that somebody has made %s",
    (edited) => {
      const disk = new MemoryDisk({ seed: 1 }).process();
      keepEvidence(disk, FOLDER, evidence());
      disk.replace(`${FOLDER}/scribe-scribe-5.jsonl`, Buffer.from(`${edited}\n`), 0o600);
      expect(keepEvidence(disk, FOLDER, evidence())).toBe("scribe-scribe-5.2.jsonl");
    },
  );

  it("leaves out lines for which a file has no room", () => {
    const disk = new MemoryDisk({ seed: 1 }).process();
    const long = { line: "x".repeat(MAX_EVIDENCE_BYTES / 2) };
    const name = keepEvidence(disk, FOLDER, evidence({ lines: [long, long, { line: "y" }] })) ?? "";
    expect(text(disk, name).length).toBeLessThanOrEqual(MAX_EVIDENCE_BYTES);
    expect(text(disk, name).split("\n")).toHaveLength(3);
  });

  it("of one peer is not taken for that of another whose name begins alike", () => {
    const disk = new MemoryDisk({ seed: 1 }).process();
    keepEvidence(disk, FOLDER, evidence({ peer: "a-a", log: "a-a" }));
    expect(evidenceFor(disk, FOLDER, "a", "a")).toEqual([]);
    expect(evidenceFor(disk, FOLDER, "a-a", "a-a")).toEqual(["a-a-a-a-5.jsonl"]);
  });

  it("that somebody has edited is left as it is, and kept beside", () => {
    const disk = new MemoryDisk({ seed: 1 }).process();
    const name = keepEvidence(disk, FOLDER, evidence()) ?? "";
    disk.replace(`${FOLDER}/${name}`, Buffer.from("no json\n"), 0o600);
    expect(keepEvidence(disk, FOLDER, evidence())).toBe("scribe-scribe-5.2.jsonl");
    expect(text(disk, name)).toBe("no json\n");
  });
});
