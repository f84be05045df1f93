import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { initWire } from "../../../src/setup/wire/init-wire.ts";
import { joinWire } from "../../../src/setup/wire/join-wire.ts";
import { applyMembership } from "../../../src/agent/config/change-members.ts";
import { loadPlace, type AgentConfig } from "../../../src/agent/config/agent-config.ts";
import { newMachine, type Machine } from "../machine.ts";

let machine: Machine;
beforeEach(() => {
  machine = newMachine();
  const handles = ["forge", "scribe"];
  initWire(machine.host, { wireDir: machine.wireDir, handles, peers: [], track: true }, () => true);
});
afterEach(() => {
  machine.remove();
});

const AWAY = { logs: {}, at: "2026-05-01T12:00:00.000Z", back: null };
const BACK = { ...AWAY, back: { logs: {}, at: "2026-05-02T12:00:00.000Z" } };

function say(left: object): void {
  const path = join(machine.wireDir, "config.json");
  const config = JSON.parse(readFileSync(path, "utf8")) as object;
  writeFileSync(path, JSON.stringify({ ...config, left }));
}

const joins = () =>
  joinWire(machine.host, { wireDir: machine.wireDir, handle: "scribe", peers: [] });

function place(handle: string): AgentConfig {
  const { disk, places } = machine.host;
  return loadPlace(disk, places, { wireDir: machine.wireDir, handle });
}

it("who has left does not join before a member lets it", () => {
  say({ scribe: [AWAY] });
  expect(() => joins()).toThrow("scribe has left this wire");
});

it("one that left comes back where its key is, and takes the configuration that says so", () => {
  const left = { handle: "scribe", becomes: "left", atMs: Date.parse(AWAY.at) } as const;
  const { disk } = machine.host;
  const change = { ...left, logs: new Map(), changedBy: undefined };
  applyMembership(disk, place("scribe"), change, "private");
  expect(place("scribe").layout.members).toEqual(["forge"]);
  say({ scribe: [BACK] });
  joins();
  expect(place("scribe").layout.members).toEqual(["forge", "scribe"]);
  const again = machine.picture();
  joins();
  expect(machine.picture()).toEqual(again);
});

it("nobody else takes a handle that left: without its key it takes --new-key", () => {
  say({ scribe: [BACK] });
  const elsewhere = newMachine();
  try {
    const { host } = elsewhere;
    const request = { wireDir: machine.wireDir, handle: "scribe", peers: [] };
    expect(() => joinWire(host, request)).toThrow(
      "scribe was on this wire before, and its key is not here",
    );
    expect(() => joinWire(host, { ...request, newKey: true })).not.toThrow();
  } finally {
    elsewhere.remove();
  }
});

it("a newcomer has not left before", () => {
  say({ scribe: [{ ...BACK, at: null }] });
  const elsewhere = newMachine();
  try {
    const request = { wireDir: machine.wireDir, handle: "scribe", peers: [] };
    expect(() => joinWire(elsewhere.host, request)).not.toThrow();
  } finally {
    elsewhere.remove();
  }
});
