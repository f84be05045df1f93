import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AuditReport } from "../../src/audit/audit.ts";
import type { UnsignedDecision } from "../../src/protocol/decisions/record/decision-record.ts";
import type { Keys } from "../../src/audit/plan.ts";
import { NO_KEYS, pinned, PINNED, signerOf, WireOnDisk } from "./wire-on-disk.ts";

let wire: WireOnDisk;
beforeEach(() => {
  wire = new WireOnDisk();
});
afterEach(() => {
  wire.remove();
});

const EXAMPLE = readFileSync(
  join(import.meta.dirname, "..", "data", "example-coordination.jsonl"),
  "utf8",
);

function rules({ violations }: AuditReport): string[] {
  return violations.map(({ rule, log, line }) => `${rule} ${log ?? "-"}:${line ?? "-"}`);
}

describe("auditing files that were never signed", () => {
  function checkExample(report: AuditReport): void {
    expect(report.violations).toEqual([]);
    expect(report.messages).toBe(11);
    expect(report.by_type).toEqual({ ack: 2, heartbeat: 1, proposal: 3, ship: 4, warning: 1 });
    expect(report.decisions.map(({ proposer, decision_id }) => [proposer, decision_id])).toEqual([
      ["agent_a", "full-bilateral-autonomy-no-arbiter-608d95bd"],
      ["agent_a", "counter-t1-default-90s-add-t0-at-30s-45d8236d"],
    ]);
  }

  it("finds both decisions of the example, with both directions in one file", async () => {
    wire.replace("both.jsonl", EXAMPLE);
    checkExample(await wire.auditFiles(["both.jsonl"]));
  });

  it("finds the same in one file for each sender, in whichever order they are given", async () => {
    const lines = EXAMPLE.trim().split("\n");
    for (const sender of ["agent_a", "agent_b"]) {
      const own = lines.filter((line) => line.includes(`"from":"${sender}"`));
      wire.replace(`${sender}.jsonl`, own.join("\n"));
    }
    checkExample(await wire.auditFiles(["agent_a.jsonl", "agent_b.jsonl"]));
    checkExample(await wire.auditFiles(["agent_b.jsonl", "agent_a.jsonl"]));
  });

  it("counts the same line twice in a file once, and blank lines not at all", async () => {
    const [first = ""] = EXAMPLE.split("\n");
    wire.replace("both.jsonl", `${first}\n\n${EXAMPLE.replaceAll("\n", "\n\n")}`);
    checkExample(await wire.auditFiles(["both.jsonl"]));
  });

  it("names lines that cannot be read, and where they stand", async () => {
    const [first = "", second = ""] = EXAMPLE.split("\n");
    wire.replace("a.jsonl", `${first}\n{"torn\n${second}\n{"from":"agent_a"}\n`);
    const report = await wire.auditFiles(["a.jsonl"]);
    expect([report.messages, rules(report)]).toEqual([
      2,
      ["malformed agent_a:2", "schema agent_a:4"],
    ]);
  });

  it("reads a line that is too long for memory's sake past, and names it", async () => {
    wire.replace("a.jsonl", `{"x":"${"x".repeat(1_100_000)}"}\n${EXAMPLE}`);
    const report = await wire.auditFiles(["a.jsonl"]);
    expect([report.messages, report.violations.map(({ rule }) => rule)]).toEqual([
      11,
      ["oversized"],
    ]);
  });
});

describe("auditing a wire", () => {
  it("derives messages, decisions and incidents from signed logs", async () => {
    wire.say("forge", { subject: "hello" });
    const { proposal, ack, beat } = wire.decide();
    const incident = wire.say("scribe", {
      type: "incident",
      subject: "broken",
      body: { severity: "high" },
      ackRequired: true,
      correlationId: "incident 1",
    });
    wire.say("forge", {
      type: "ack",
      subject: "ack",
      body: { acks: incident },
      correlationId: "incident 1",
    });
    const report = await wire.audit();
    expect(report.violations).toEqual([]);
    expect(report).toMatchObject({ messages: 7, keys: "pinned", unverified: 0, threads: 3 });
    expect(report.decisions).toMatchObject([
      { proposal_id: proposal, ack_ids: [ack], ratified_by: beat, proposer: "forge" },
    ]);
    expect(report.incidents).toMatchObject([{ event_id: incident, status: "acked" }]);
  });

  it("finds the same in copies of the logs, without keys, and says what it could not verify", async () => {
    wire.decide();
    const files = ["forge_to_scribe.jsonl", "scribe_to_forge.jsonl"];
    const report = await wire.auditFiles(files);
    expect([rules(report), report.decisions.length, report.unverified]).toEqual([[], 1, 4]);
    expect(await wire.auditFiles(files, PINNED)).toMatchObject({ violations: [], unverified: 0 });
  });

  it("does not read a tail that its author may be writing", async () => {
    wire.say("forge", {});
    wire.write("forge_to_scribe.jsonl", wire.sign("forge", {}).line.slice(0, 40));
    expect(await wire.audit()).toMatchObject({ messages: 1, violations: [] });
  });

  it("reads archived segments first, compressed or not", async () => {
    wire.decide();
    const before = readFileSync(wire.path("forge_to_scribe.jsonl"));
    wire.write("archive/2025/forge_to_scribe.jsonl.gz", "");
    wire.replace("archive/2025/forge_to_scribe.jsonl.gz", gzipSync(before) as unknown as string);
    wire.replace("forge_to_scribe.jsonl", "");
    wire.say("forge", {});
    const report = await wire.audit();
    expect([rules(report), report.decisions.length, report.messages]).toEqual([[], 1, 5]);
  });

  it("takes receipt times from the private journal where it has them", async () => {
    const id = wire.say("forge", { type: "incident", subject: "x", body: { severity: "low" } });
    wire.say("scribe", {
      type: "ack",
      subject: "ack",
      body: { acks: id },
      correlationId: (await wire.audit()).incidents[0]?.correlation_id ?? "",
    });
    const at = Date.UTC(2026, 6, 1);
    wire.write("journal.jsonl", "damaged\n");
    const entry = { k: "line", at, log: "scribe_to_forge", line: 1, start: 0, end: 1 };
    wire.write("journal.jsonl", `${JSON.stringify(entry)}\n`);
    const [incident] = (await wire.audit(PINNED, wire.path("journal.jsonl"))).incidents;
    expect(incident?.addressees[0]?.acked_at).toBe("2026-07-01T00:00:00.000Z");
  });
});

describe("an audit with the journal of its agent", () => {
  const name = "forge_to_scribe.jsonl";
  const stopped = (): Keys => {
    const { keys, ...peer } = pinned("forge");
    const lost = { ...peer, keys: keys.map((key) => ({ ...key, active: false })) };
    return { ...PINNED, store: { version: 1, peers: new Map([["forge", lost]]) } };
  };
  const noteFirst = (line: string, id: string): void => {
    const place = { log: "forge_to_scribe", line: 1, start: 0, end: line.length + 1 };
    const entry = { k: "line", at: Date.UTC(2026, 6, 1), ...place, verdict: "accepted", id };
    wire.write("journal.jsonl", `${JSON.stringify(entry)}\n`);
  };

  it("takes a line that was accepted before its key was stopped", async () => {
    const { line, id } = wire.sign("forge", { to: ["scribe"], subject: "pay 10" });
    wire.replace(name, `${line}\n`);
    noteFirst(line, id);
    expect(rules(await wire.audit(stopped()))).toEqual(["untrusted_key forge_to_scribe:1"]);
    expect(rules(await wire.audit(stopped(), wire.path("journal.jsonl")))).toEqual([]);
  });

  it("tells of a line that was refused for want of a pin apart, by whatever keys it is read", async () => {
    const { line } = wire.sign("forge", { to: ["scribe"] });
    wire.replace(name, `${line}\n`);
    const place = { log: "forge_to_scribe", line: 1, start: 0, end: line.length + 1 };
    const verdict = { verdict: "unauthentic", reason: "untrusted_key" };
    const entry = { k: "line", at: Date.UTC(2026, 6, 1), ...place, ...verdict };
    wire.write("journal.jsonl", `${JSON.stringify(entry)}\n`);
    for (const keys of [PINNED, NO_KEYS]) {
      const report = await wire.audit(keys, wire.path("journal.jsonl"));
      expect(report).toMatchObject({ violations: [], unverified: 0 });
      expect(report.refused_then).toMatchObject([{ rule: "untrusted_key", line: 1 }]);
    }
  });

  it("takes no other line of the same length in its place", async () => {
    const { line, id } = wire.sign("forge", { to: ["scribe"], subject: "pay 10" });
    noteFirst(line, id);
    const attacker = new WireOnDisk();
    const forged = attacker.sign("forge", { to: ["scribe"], subject: "pay 99" }).line;
    attacker.remove();
    expect(forged).toHaveLength(line.length);
    wire.replace(name, `${forged}\n`);
    const report = await wire.audit(stopped(), wire.path("journal.jsonl"));
    expect(rules(report)).toEqual(["untrusted_key forge_to_scribe:1"]);
  });
});

describe("what an audit calls a violation", () => {
  const tamper = (from: RegExp | string, to: string) => {
    const name = "forge_to_scribe.jsonl";
    wire.replace(name, readFileSync(wire.path(name), "utf8").replace(from, to));
  };

  it("a changed line", async () => {
    wire.say("forge", { subject: "pay 10" });
    tamper("pay 10", "pay 99");
    expect(rules(await wire.audit())).toEqual(["event_id_mismatch forge_to_scribe:1"]);
    expect(rules(await wire.audit(NO_KEYS))).toEqual(["event_id_mismatch forge_to_scribe:1"]);
  });

  it("a line signed with another key, once any key of its author is known", async () => {
    const line = wire.sign("forge", { to: ["scribe"] }).line;
    const other = signerOf("scribe").keyId.split(":")[1] ?? "";
    const forged = line.replace(/forge:[0-9a-f]{8}/, `forge:${other}`);
    wire.replace("forge_to_scribe.jsonl", `${forged}\n`);
    expect(rules(await wire.audit())).toEqual(["untrusted_key forge_to_scribe:1"]);
    expect(await wire.audit(NO_KEYS)).toMatchObject({ violations: [], unverified: 1 });
  });

  it("a signature that was moved to another line", async () => {
    const [a, b] = [wire.sign("forge", { to: ["scribe"] }), wire.sign("forge", { to: ["scribe"] })];
    const signature = /"signature":"[^"]+"/;
    const moved = a.line.replace(signature, signature.exec(b.line)?.[0] ?? "");
    wire.replace("forge_to_scribe.jsonl", `${moved}\n${b.line}\n`);
    expect(rules(await wire.audit())).toContain("invalid_signature forge_to_scribe:1");
  });

  it("a line in the other side's log", async () => {
    const { line } = wire.sign("forge", { to: ["scribe"] });
    wire.replace("scribe_to_forge.jsonl", `${line}\n`);
    expect(rules(await wire.audit())).toEqual(["wrong_file scribe_to_forge:1"]);
  });

  it("a line of another wire", async () => {
    const { line } = wire.sign("forge", { to: ["scribe"] }, "00000000000000ff");
    wire.replace("forge_to_scribe.jsonl", `${line}\n`);
    expect(rules(await wire.audit())).toEqual(["wrong_wire forge_to_scribe:1"]);
  });

  it("a missing line, unless it comes later", async () => {
    const [a, b, c] = ["1", "2", "3"].map((subject) =>
      wire.sign("forge", { to: ["scribe"], subject }),
    );
    if (a === undefined || b === undefined || c === undefined) throw new Error("three lines");
    wire.replace("forge_to_scribe.jsonl", `${a.line}\n${c.line}\n`);
    const report = await wire.audit();
    expect(report.violations).toEqual([
      {
        rule: "log_gap",
        log: "forge_to_scribe",
        line: null,
        event_id: b.id,
        detail: "line 2 of the chain is missing",
      },
    ]);
    wire.write("forge_to_scribe.jsonl", `${b.line}\n`);
    expect(rules(await wire.audit())).toEqual([]);
  });

  it("two lines in one place, and everything after the second branch began", async () => {
    const first = wire.sign("forge", { to: ["scribe"], subject: "one" });
    const other = new WireOnDisk();
    const second = other.sign("forge", { to: ["scribe"], subject: "another" });
    other.remove();
    wire.replace("forge_to_scribe.jsonl", `${first.line}\n${second.line}\n`);
    expect(rules(await wire.audit())).toEqual(["log_forked forge_to_scribe:2"]);
  });

  it("an unsigned line where the wire wants signatures; a file by itself wants none", async () => {
    const fields = { timestamp: "2026-06-01T10:00:00Z", from: "forge", to: ["scribe"] };
    const rest = { type: "feedback", subject: "x", body: "", correlation_id: "c" };
    wire.replace("forge_to_scribe.jsonl", `${JSON.stringify({ ...fields, ...rest })}\n`);
    expect(rules(await wire.audit())).toEqual(["unsigned forge_to_scribe:1"]);
    expect(rules(await wire.auditFiles(["forge_to_scribe.jsonl"]))).toEqual([]);
    const half = { ...fields, ...rest, public_key_id: signerOf("forge").keyId };
    wire.replace("forge_to_scribe.jsonl", `${JSON.stringify(half)}\n`);
    expect(rules(await wire.auditFiles(["forge_to_scribe.jsonl"]))).toEqual([
      "unsigned forge_to_scribe:1",
    ]);
  });

  it("the same line again is none", async () => {
    wire.say("forge", {});
    wire.write("forge_to_scribe.jsonl", readFileSync(wire.path("forge_to_scribe.jsonl"), "utf8"));
    expect(await wire.audit()).toMatchObject({ messages: 1, violations: [] });
  });
});

describe("auditing decisions.jsonl", () => {
  async function derived(): Promise<UnsignedDecision> {
    wire.decide();
    const [decision] = (await wire.audit()).decisions;
    if (decision === undefined) throw new Error("no decision");
    return { ...decision, recorded_by: "forge" };
  }

  it("accepts what the logs prove, and still shows the decision", async () => {
    const decision = await derived();
    wire.record(decision);
    const report = await wire.audit();
    expect([rules(report), report.decisions]).toEqual([[], (await wire.audit(NO_KEYS)).decisions]);
    expect(report.decisions).toHaveLength(1);
  });

  it("reports a decision that both sides recorded, which is no violation", async () => {
    const decision = await derived();
    wire.record(decision, "forge");
    wire.record(decision, "scribe");
    const report = await wire.audit();
    expect([rules(report), report.twins.length, report.decisions.length]).toEqual([[], 1, 1]);
  });

  it("names an entry that the logs do not prove, and lines that cannot be read", async () => {
    const decision = await derived();
    wire.record({ ...decision, decision: "something else" });
    wire.write("decisions.jsonl", "\nnot json\n");
    const report = await wire.audit();
    expect(report.violations.map(({ rule }) => rule)).toEqual(["malformed", "decision_unproved"]);
    expect(report.decisions).toMatchObject([{ decision: "frozen" }]);
  });

  it("reports the piece of an entry whose recorder died, and calls it no violation", async () => {
    const decision = await derived();
    wire.write("decisions.jsonl", `{"decision_id":"fre\n\0\0\0\n`);
    wire.record(decision, "forge");
    const report = await wire.audit();
    expect([rules(report), report.torn.map(({ line }) => line)]).toEqual([[], [1, 2]]);
    expect(report.decisions).toMatchObject([{ decision: "frozen" }]);
  });

  it("passes over entries that a person has written", async () => {
    await derived();
    wire.write("decisions.jsonl", `${JSON.stringify({ decision: "lunch at noon" })}\n`);
    expect(rules(await wire.audit())).toEqual([]);
  });
});
