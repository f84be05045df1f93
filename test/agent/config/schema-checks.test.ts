import { Buffer } from "node:buffer";
import { expect, test } from "vitest";
import { requireDocument } from "../../../src/agent/config/agent-config.ts";

const bytesOf = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value), "utf8");

test("a document of another shape than the published one is refused by its path and place", () => {
  const config = { roster: ["forge", "scribe"], limits: { max_refs: "many" } };
  expect(() => requireDocument("config", "/w/config.json", bytesOf(config))).toThrow(
    /^\/w\/config\.json: limits\.max_refs is "many"; expected an integer/,
  );
  expect(() => requireDocument("tiers", "/w/tiers.json", bytesOf({ tiers: [] }))).toThrow(
    /^\/w\/tiers\.json: /,
  );
  expect(() => requireDocument("trust", "/p/trust.json", Buffer.from("{"))).toThrow(
    /^\/p\/trust\.json: /,
  );
});

test("a document of the published shape passes", () => {
  const config = { protocol_version: "v3.1", roster: ["forge", "scribe"] };
  expect(() => requireDocument("config", "/w/config.json", bytesOf(config))).not.toThrow();
});
