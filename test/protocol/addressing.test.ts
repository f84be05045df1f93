import { describe, expect, test } from "vitest";
import { addresseesOf, isForUs } from "../../src/protocol/addressing.ts";
import type { Env } from "../../src/protocol/env.ts";
import { proved } from "../../src/admission/rules/proved.ts";
import { makeLayout } from "../../src/wire/layout.ts";
import type { Message } from "../../src/wire/message.ts";
import { lineEvent, NOON, scriptEnv, WireScript } from "../support/scripts/wire-script.ts";

const ROSTER = ["ada", "bob", "eve"];

function message(log: string, to: readonly string[] | undefined): Message {
  const { message: said } = new WireScript(
    log.includes("_to_") ? "pairwise" : "outbox",
    ROSTER,
  ).say(log, NOON, { type: "ship", ...(to === undefined ? {} : { to }) });
  return { ...said, to };
}

function envOf(kind: "pairwise" | "outbox", self: string): Env {
  return scriptEnv(makeLayout(kind, ROSTER), self);
}

describe("a line is addressed", () => {
  test.each([
    ["ada", undefined, ["bob", "eve"]],
    ["ada", ["*"], ["bob", "eve"]],
    ["ada", ["eve", "*"], ["bob", "eve"]],
    ["ada", ["eve"], ["eve"]],
    ["ada", ["eve", "ada", "sam"], ["eve"]],
    ["ada", [], []],
    ["ada_to_bob", undefined, ["bob"]],
    ["ada_to_bob", ["*"], ["bob"]],
    ["ada_to_bob", ["eve"], []],
  ])("in the log %s to %j: %j", (name, to, expected) => {
    const env = envOf(name.includes("_to_") ? "pairwise" : "outbox", "bob");
    const log = env.layout.logs.get(name);
    if (log === undefined) throw new Error(`no log ${name}`);
    expect(addresseesOf(message(name, to), log, env)).toEqual(expected);
  });

  test.each([
    ["ada", "bob", undefined, true],
    ["ada", "bob", ["*"], true],
    ["ada", "bob", ["eve", "bob"], true],
    ["ada", "bob", ["eve"], false],
    ["ada", "ada", ["*"], false],
    ["ada", "auditor", ["*"], false],
    ["ada_to_bob", "bob", undefined, true],
    ["ada_to_bob", "bob", ["bob"], true],
    ["ada_to_bob", "bob", ["eve"], false],
    ["ada_to_bob", "eve", ["*"], false],
    ["ada_to_bob", "ada", ["*"], false],
  ])("in the log %s, read by %s, to %j, for us: %s", (name, self, to, expected) => {
    const env = envOf(name.includes("_to_") ? "pairwise" : "outbox", self);
    const said = proved(message(name, to), 1);
    const event = lineEvent({ log: name, line: 1, at: NOON, message: said, raw: "" }, self);
    expect(isForUs(event, env)).toBe(expected);
  });

  test("for nobody when the wire has no such log", () => {
    const said = proved(message("ada", ["*"]), 1);
    const event = lineEvent({ log: "sam", line: 1, at: NOON, message: said, raw: "" }, "bob");
    expect(isForUs(event, envOf("outbox", "bob"))).toBe(false);
  });
});
