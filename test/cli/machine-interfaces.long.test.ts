import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { BIN, killChildren, start } from "../support/processes/real-processes.ts";

afterEach(killChildren);

const VECTORS = join(import.meta.dirname, "..", "vectors");

function vectors<T>(name: string): T[] {
  const lines = readFileSync(join(VECTORS, name), "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as T);
}

function run(args: readonly string[], input = "") {
  const env = { PATH: process.env["PATH"], HOME: "/nowhere" };
  return start(process.execPath, [BIN, ...args], { env, input }).ended;
}

async function deaddrop(args: readonly string[], input: string) {
  const { code, stdout, stderr } = await run(args, input);
  const answers = stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { code, stderr, answers };
}

interface CanonicalVector {
  name: string;
  text: string;
  ok: boolean;
  canonical_v30?: string;
  canonical_v31?: string;
  event_id?: string;
}

describe("deaddrop canonical", () => {
  const cases = vectors<CanonicalVector>("canonical.jsonl");
  const input = `${cases.map(({ text }) => text).join("\n")}\n`;

  it("answers every vector in the v3.1 form, with the event id", async () => {
    const { code, answers } = await deaddrop(["canonical"], input);
    expect(code).toBe(0);
    expect(answers).toHaveLength(cases.length);
    for (const [at, { name, ok, canonical_v31: canonical, event_id }] of cases.entries()) {
      const expected = ok
        ? { ok: true, canonical, event_id }
        : { ok: false, reason: "malformed", detail: expect.any(String) };
      expect(answers[at], name).toEqual(expected);
    }
  });

  it("answers every vector in the v3.0 form, without one", async () => {
    const { answers } = await deaddrop(["canonical", "--v30"], input);
    for (const [at, { name, ok, canonical_v30: canonical }] of cases.entries()) {
      const expected = ok ? { ok: true, canonical } : { ok: false, reason: "malformed" };
      expect(answers[at], name).toMatchObject(expected);
      expect(answers[at]).not.toHaveProperty("event_id");
    }
  });

  it("takes a last text without a newline, and nothing for no input", async () => {
    expect((await deaddrop(["canonical"], "{}\n{}")).answers).toHaveLength(2);
    expect((await deaddrop(["canonical"], "")).answers).toEqual([]);
  });

  it("does not keep a text that is longer than a line may be", async () => {
    const long = `{"a":"${"x".repeat(1_048_576)}"}`;
    const { answers } = await deaddrop(["canonical"], `${long}\n{}\n`);
    expect(answers).toMatchObject([{ ok: false, reason: "oversized" }, { ok: true }]);
  });
});

interface SignedVector {
  name: string;
  line: string;
  verdict: "accept" | "refuse";
  reason?: string;
}

describe("deaddrop verify", () => {
  const cases = vectors<SignedVector>("signed.jsonl");
  const trust = join(VECTORS, "trust.json");

  it("gives every vector its verdict, and exits 1 since some are refused", async () => {
    const input = `${cases.map(({ line }) => line).join("\n")}\n`;
    const { code, answers } = await deaddrop(["verify", "--trust", trust], input);
    expect(code).toBe(1);
    expect(answers).toHaveLength(cases.length);
    for (const [at, { name, line, verdict, reason }] of cases.entries()) {
      const expected =
        verdict === "accept"
          ? { ok: true, from: expect.any(String), version: versionOf(line) }
          : { ok: false, reason, detail: expect.any(String) };
      expect(answers[at], name).toEqual(expected);
    }
  });

  it("exits 0 when nothing was refused, and skips blank lines", async () => {
    const good = cases.filter(({ verdict }) => verdict === "accept").slice(0, 3);
    const input = `\n${good.map(({ line }) => `${line}\n \n`).join("")}`;
    const { code, answers } = await deaddrop(["verify", "--trust", trust], input);
    expect([code, answers.length]).toEqual([0, 3]);
  });

  it("says what is wrong with the trust file", async () => {
    const missing = await deaddrop(["verify", "--trust", "/nowhere/trust.json"], "");
    expect(missing.stderr).toBe(
      "deaddrop: /nowhere/trust.json: no such file\n  --trust takes the file with the keys to believe\n",
    );
    expect(missing.code).toBe(1);
    const none = await deaddrop(["verify"], "");
    expect(none.code).toBe(1);
    expect(none.stderr).toContain("--trust <file>");
  });
});

function versionOf(line: string): string {
  const fields = JSON.parse(line) as { event_id?: string; signature?: string };
  if (fields.signature === undefined) return "v2.0";
  return fields.event_id === undefined ? "v3.0" : "v3.1";
}

interface SasVector {
  readonly a: { readonly did: string; readonly key: string };
  readonly b: { readonly did: string; readonly key: string };
  readonly sas: string;
}

describe("deaddrop sas", () => {
  it.each(vectors<SasVector>("sas.jsonl"))(
    "prints $sas and nothing else",
    async ({ a, b, sas }) => {
      const { code, stdout } = await run(["sas", a.did, a.key, b.did, b.key]);
      expect([code, stdout]).toEqual([0, `${sas}\n`]);
    },
  );

  it.each([
    [["sas", "did:web:x", "k", "b", "k"], "names no agent"],
    [["sas", "a", "AAAA", "b", "k"], "no usable Ed25519 public key"],
    [["sas", "a", `AQ${"A".repeat(41)}=`, "b", "k"], "no usable Ed25519 public key"],
  ])("refuses %j", async (args, words) => {
    const { code, stderr } = await run(args);
    expect([code, stderr]).toEqual([1, expect.stringContaining(words)]);
  });
});

describe("deaddrop trust card verify", () => {
  it("exits 0 or 1 by every vector", async () => {
    const folder = mkdtempSync(join(tmpdir(), "deaddrop-cards-"));
    for (const [at, { card, ok }] of vectors<{ card: object; ok: boolean }>(
      "cards.jsonl",
    ).entries()) {
      const file = join(folder, `${at}.card.json`);
      writeFileSync(file, JSON.stringify(card));
      const { code, stderr } = await run(["card", "verify", file]);
      expect(code, `card ${at}: ${stderr}`).toBe(ok ? 0 : 1);
    }
    rmSync(folder, { recursive: true });
  });
});
