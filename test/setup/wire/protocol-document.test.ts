import { describe, expect, it } from "vitest";
import {
  protocolDocument,
  type ProtocolSubject,
} from "../../../src/setup/wire/protocol-document.ts";
import { EVIL, STEERS } from "../../support/scenes/hostile-wire.ts";

const PAIR: ProtocolSubject = {
  wireId: "7c3a91e2b4d05f16",
  roster: ["forge", "scribe"],
  unchained: [],
  enforceSigned: true,
  domains: [{ name: "prose", owner: "scribe", paths: ["docs/**", "*.md"] }],
  limits: { max_message_body_kb: 64, rate_limit_msg_per_min: 60 },
};

describe("PROTOCOL.md", () => {
  it("names every agent, log and owner of the configuration", () => {
    const text = protocolDocument(PAIR);
    for (const expected of [
      "`forge` and `scribe`",
      "`7c3a91e2b4d05f16`",
      "| `forge_to_scribe.jsonl` | `forge` only |",
      "| `scribe_to_forge.jsonl` | `scribe` only |",
      "| `prose` | `scribe` | `docs/**` `*.md` |",
      "at most 64 KiB",
      "at most 60 messages",
      "deaddrop guide",
      "deaddrop catch-up",
    ]) {
      expect(text).toContain(expected);
    }
  });

  it("lists outboxes for three, and says when there are no domains", () => {
    const text = protocolDocument({
      ...PAIR,
      wireId: undefined,
      roster: ["forge", "scribe", "mason"],
      domains: [],
    });
    expect(text).toContain("`forge`, `scribe` and `mason`.\n");
    expect(text).toContain("| `outbox/mason.jsonl` | `mason` only |");
    expect(text).not.toContain("_to_");
    expect(text).toContain("No domains are declared.");
  });

  it("keeps a domain's name and patterns inside their cell", () => {
    const text = protocolDocument({
      ...PAIR,
      domains: [{ name: "a|b`\n# owned", owner: "forge", paths: ["x\u2028|y`"] }],
    });
    expect(text).toContain("| `a\\|b# owned` | `forge` | `x\\|y` |");
    expect(text).not.toMatch(/^# owned/m);
  });

  it("carries nothing that steers a terminal, reorders or hides text, whatever a domain is called", () => {
    const plain = protocolDocument({
      ...PAIR,
      domains: [{ name: "x", owner: "forge", paths: [] }],
    });
    const text = protocolDocument({
      ...PAIR,
      wireId: EVIL,
      domains: [{ name: EVIL, owner: "forge", paths: [EVIL, "می\u200cخواهم"] }],
    });
    expect(text).toContain("FORGED");
    expect(text).toContain("می\u200cخواهم");
    expect(text).not.toMatch(STEERS);
    expect(text).not.toMatch(/^\W*FORGED/m);
    expect(text.split("\n")).toHaveLength(plain.split("\n").length);
  });

  it("does not promise signatures on a wire that does without", () => {
    expect(protocolDocument({ ...PAIR, enforceSigned: false })).toContain("Unsigned lines");
  });

  it("has no line beyond the width of a page, tables apart", () => {
    const long = protocolDocument(PAIR)
      .split("\n")
      .filter((line) => line.length > 100 && !line.startsWith("|"));
    expect(long).toEqual([]);
  });
});
