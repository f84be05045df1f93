import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, type TestContext } from "vitest";
import { brokenPlaces } from "../support/chain-check.ts";
import { until } from "../support/processes/real-processes.ts";
import {
  makeWire,
  removeWires,
  type Daemon,
  type LiveWire,
} from "../support/processes/live-wire.ts";

afterEach(removeWires);

const inboxSubjects = (wire: LiveWire, handle: string) =>
  wire.privateLines(handle, "inbox").map(({ subject }) => subject);

const says = (daemon: Daemon, words: string) =>
  until(`the daemon says: ${words}`, () => daemon.stdout().includes(words));

interface BadPlace {
  readonly what: string;
  readonly spoil: (wire: LiveWire) => void;
  readonly says: readonly string[];
  readonly as?: string;
}

/** Each: the daemon does not start, says what to do, and ends with 2 (configuration). */
const BAD_PLACES: readonly BadPlace[] = [
  {
    what: "a handle outside the roster",
    as: "stranger",
    spoil: (wire) => {
      const { key } = wire.paths("forge").identity;
      copyFileSync(key, key.replace("forge", "stranger"));
    },
    says: ["is not in the wire's roster", "the roster is forge, scribe"],
  },
  {
    what: "no key",
    spoil: (wire) => rmSync(wire.paths("forge").identity.key),
    says: ["forge.key", "deaddrop backup restore <backup>"],
  },
  {
    what: "a key cut short",
    spoil: (wire) => truncateSync(wire.paths("forge").identity.key, 31),
    says: ["holds 31 bytes, not 32", "restore it from a backup"],
  },
  {
    what: "a key that others can read",
    spoil: (wire) => chmodSync(wire.paths("forge").identity.key, 0o644),
    says: ["other users can read it", "chmod 600"],
  },
  {
    what: "a trust store that others can write",
    spoil: (wire) => chmodSync(wire.paths("forge").trust, 0o666),
    says: ["trust.json", "other users can write it", "chmod 600"],
  },
  {
    what: "a trust store put back to an older one",
    spoil: (wire) => {
      const { trust } = wire.paths("forge");
      writeFileSync(trust, readFileSync(trust, "utf8").replace(/"version": \d+/, '"version": 1'));
    },
    says: ["has version 1", "was seen before"],
  },
  {
    what: "pinned tiers that are no tiers",
    spoil: (wire) => writeFileSync(wire.paths("forge").pinnedTiers, '{"tiers":{"T0":7}}'),
    says: ["tiers"],
  },
  {
    what: "a protocol version that we do not speak",
    spoil: (wire) => {
      const { pinnedConfig } = wire.paths("forge");
      writeFileSync(pinnedConfig, wire.text("config.json").replace("v3.1", "v9.0"));
    },
    says: ["v9.0", "upgrade deaddrop"],
  },
  {
    what: "a folder that is no wire",
    spoil: (wire) => {
      rmSync(wire.dir, { recursive: true });
      mkdirSync(wire.dir);
    },
    says: ["a folder that is not a wire", "deaddrop init"],
  },
];

describe("a daemon that cannot start says why and ends with 2", () => {
  for (const place of BAD_PLACES) {
    it(place.what, async () => {
      const wire = makeWire();
      place.spoil(wire);
      const { code, stdout, stderr } = await wire.run(place.as ?? "forge", "daemon");
      for (const words of place.says) expect(stdout + stderr).toContain(words);
      expect(stdout + stderr).not.toContain("this is a bug");
      expect(code).toBe(2);
      const sent = await wire.run(place.as ?? "forge", "send", "hello");
      expect([1, 2, 6]).toContain(sent.code);
    });
  }

  it("a second daemon names the first and ends with 5; the first goes on", async () => {
    const wire = makeWire();
    const first = await wire.daemon("forge");
    const { code, stdout } = await wire.run("forge", "daemon");
    expect(code).toBe(5);
    expect(stdout).toContain(`the daemon with process id ${first.pid}`);
    expect((await wire.run("forge", "send", "hello")).code).toBe(0);
  });
});

describe("what is in the place of a log", () => {
  type Put = (path: string, kept: string, context: TestContext) => void;
  const STANDINS: readonly [string, Put][] = [
    ["a FIFO", (path) => expect(spawnSync("mkfifo", [path]).status).toBe(0)],
    ["a symlink", (path, kept) => symlinkSync(kept, path)],
    ["a file with a second name", (path, kept) => linkSync(kept, path)],
    ["a folder", (path) => mkdirSync(path)],
    [
      "a device that never ends",
      (path, _kept, { skip }) => {
        const { status, stderr } = spawnSync("mknod", [path, "c", "1", "5"], { encoding: "utf8" });
        if (status !== 0) skip(`mknod is not permitted here: ${(stderr ?? "no mknod").trim()}`);
      },
    ],
  ];
  for (const [what, put] of STANDINS) {
    it(`${what}, of a peer: not read, told; the log put back is read on`, async (context) => {
      const wire = makeWire();
      const daemon = await wire.daemon("forge");
      await wire.json("scribe", "send", "before");
      await until("it is there", () => inboxSubjects(wire, "forge").length === 1);
      const log = join(wire.dir, "scribe_to_forge.jsonl");
      const kept = join(wire.folder, "kept.jsonl");
      copyFileSync(log, kept);
      rmSync(log);
      put(log, kept, context);
      await says(daemon, "scribe_to_forge.jsonl");
      rmSync(log, { recursive: true });
      copyFileSync(kept, log);
      await wire.json("scribe", "send", "after");
      await until("it goes on", () => inboxSubjects(wire, "forge").length === 2);
      expect(inboxSubjects(wire, "forge")).toEqual(["before", "after"]);
      expect(daemon.child.exitCode).toBeNull();
    });
  }
});

it("a parent symlink: no log is read or begun through it, it is told; put back, all goes on", async () => {
  const wire = makeWire({ handles: ["forge", "mason", "scribe"] });
  const daemon = await wire.daemon("forge");
  await wire.json("scribe", "send", "--to", "forge", "before");
  await until("it is there", () => inboxSubjects(wire, "forge").length === 1);
  const [outbox, elsewhere] = [join(wire.dir, "outbox"), join(wire.folder, "elsewhere")];
  renameSync(outbox, elsewhere);
  symlinkSync(elsewhere, outbox);
  const there = join(elsewhere, "scribe.jsonl");
  const sound = readFileSync(there);
  const sent = await wire.run("scribe", "send", "--to", "forge", "through the link");
  // It is committed, and published later.
  expect(sent.code).toBe(0);
  expect(readFileSync(there).equals(sound)).toBe(true);
  appendFileSync(there, "not read\n");
  daemon.child.kill("SIGUSR1");
  await says(daemon, "it is passed over: it is no folder");
  expect(wire.privateLines("forge", "quarantine")).toEqual([]);
  rmSync(outbox);
  renameSync(elsewhere, outbox);
  await wire.json("scribe", "send", "--to", "forge", "after");
  daemon.child.kill("SIGUSR1");
  await until("it goes on", () => inboxSubjects(wire, "forge").length === 3);
  expect(inboxSubjects(wire, "forge")).toEqual(["before", "through the link", "after"]);
  const quarantine = () => wire.privateLines("forge", "quarantine");
  await until("the line is in quarantine", () => quarantine().length > 0);
  expect(quarantine()).toMatchObject([{ reason: "malformed" }]);
});

describe("torn ends", () => {
  it("of our own log: what is missing is appended, nothing is cut", async () => {
    const wire = makeWire();
    for (const subject of ["one", "two"]) await wire.json("forge", "send", subject);
    const log = join(wire.dir, "forge_to_scribe.jsonl");
    const whole = readFileSync(log);
    truncateSync(log, whole.length - 100);
    const torn = readFileSync(log, "utf8");
    await wire.json("forge", "send", "three");
    expect(readFileSync(log, "utf8").startsWith(`${torn}\n`)).toBe(true);
    expect(brokenPlaces(wire, "forge", "forge_to_scribe.jsonl")).toEqual([
      expect.stringMatching(/^line 2: malformed/),
    ]);
    expect(wire.privateLines("forge", "quarantine")).toMatchObject([{ reason: "malformed" }]);
  });

  it("of a peer's log: left alone until its newline comes", async () => {
    const wire = makeWire();
    await wire.daemon("forge");
    await wire.json("scribe", "send", "one");
    const log = join(wire.dir, "scribe_to_forge.jsonl");
    await wire.json("scribe", "send", "two");
    await until("both are there", () => inboxSubjects(wire, "forge").length === 2);
    appendFileSync(log, '{"timestamp":"half a li');
    await wire.json("forge", "send", "meanwhile");
    expect(wire.privateLines("forge", "quarantine")).toEqual([]);
    await wire.json("scribe", "send", "three");
    await until("the next one is there", () => inboxSubjects(wire, "forge").length === 3);
    expect(inboxSubjects(wire, "forge")).toEqual(["one", "two", "three"]);
    const quarantine = () => wire.privateLines("forge", "quarantine");
    await until("the half line is in quarantine", () => quarantine().length > 0);
    expect(quarantine()).toMatchObject([{ reason: "malformed" }]);
  });
});
