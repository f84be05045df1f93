import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { COMMANDS } from "../../src/cli/command-table.ts";
import type { Cli } from "../../src/cli/context.ts";
import { main } from "../../src/cli/main.ts";
import { openClient } from "../../src/client/open-client.ts";
import { DeaddropError } from "../../src/api/errors.ts";
import { buildCard } from "../../src/trust/cards/card-build.ts";
import { makeSigner, publicKeyOf } from "../../src/wire/signature.ts";
import {
  EVIL,
  hostileWire,
  STEERS,
  takeIn,
  type HostileLine,
} from "../support/scenes/hostile-wire.ts";
import { removeWires, type LiveWire } from "../support/processes/live-wire.ts";

// Everything that a trusted peer can say, and everything that anybody can put into the folder,
// through every command that shows something.

let wire: LiveWire;
let lines: readonly HostileLine[];

beforeAll(async () => {
  ({ wire, lines } = await hostileWire());
  await takeIn(wire);
  writeFileSync(join(wire.dir, "evil.card.json"), evilCard());
});

/** Signed by its own key, so that it is shown. */
function evilCard(): Uint8Array {
  const secret = new Uint8Array(32).fill(66);
  const { keyId } = makeSigner("mallory", secret);
  const key = { keyId, key: publicKeyOf(secret), validFrom: undefined, validUntil: undefined };
  return buildCard(
    {
      ...{ handle: "mallory", name: EVIL, host: EVIL, url: EVIL, capabilities: [EVIL] },
      keys: [key],
      tierOffered: "TRUSTED",
      tierRequired: "TRUSTED",
      policies: { max_message_body_kb: 1, max_clock_skew_seconds: 1, rate_limit_msg_per_min: 1 },
      issuedAt: "2026-05-05T15:00:00Z",
    },
    makeSigner("mallory", secret),
  );
}
afterAll(removeWires);

interface Shown {
  readonly out: string;
  readonly err: string;
}

async function show(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Shown> {
  const [out, err]: [string[], string[]] = [[], []];
  const cli: Cli = {
    env: { ...wire.env, DEADDROP_WIRE: wire.dir, DEADDROP_AS: "forge", ...env },
    cwd: wire.folder,
    stdin: Object.assign(Readable.from([Buffer.from("")]), { isTTY: true }),
    stdout: { write: (text) => out.push(text), isTTY: true, columns: 100 },
    stderr: { write: (text) => err.push(text), isTTY: true, columns: 100 },
    exitCode: 0,
    clock: {
      nowMs: () => Date.now(),
      sleep: () => Promise.reject(new DeaddropError("usage", "enough was followed")),
    },
    openClient,
  };
  await main(args, cli);
  return { out: out.join(""), err: err.join("") };
}

/** What each command is asked; `null` for those that show nothing of a peer's. */
const ASKED: Readonly<Record<string, readonly string[][] | null>> = {
  inbox: [
    ["inbox"],
    ["inbox", "--unread"],
    ["inbox", "--follow"],
    ["inbox", "--thread", `thread ${EVIL}`],
  ],
  wait: [["wait"]],
  "catch-up": [["catch-up"]],
  guide: null,
  as: [["as", EVIL]],
  notices: [["notices"], ["notices", "--unread"]],
  pending: [["pending"]],
  sent: [["sent"]],
  thread: [
    ["thread", "{each}"],
    ["thread", EVIL],
  ],
  search: [
    ["search", "FORGED"],
    ["search", EVIL],
  ],
  decisions: [["decisions"], ["decisions", "--all"]],
  proposals: [["proposals"]],
  claim: [
    ["claim", EVIL],
    ["claim", "a/**"],
  ],
  release: [["release"], ["release", EVIL]],
  claims: [["claims"], ["claims", "--all"]],
  wake: [["wake"], ["wake", EVIL]],
  check: [
    ["check", "src/a.ts"],
    ["check", EVIL],
    ["check", "../outside"],
  ],
  archive: [["archive"], ["archive", "--year", EVIL], ["archive", "--compress"]],
  member: [
    ["member", "list"],
    ["member", "add", EVIL],
    ["member", "remove", EVIL],
    ["member", "accept", EVIL, "--yes", "--reason", EVIL],
  ],
  leave: null,
  guard: [
    ["guard", "check"],
    ["guard", "status"],
    ["guard", "install", "--as", EVIL],
  ],
  requests: [["requests"], ["requests", "--all"], ["requests", "cancel", EVIL]],
  status: [["status"], ["status", "set", "--state", EVIL]],
  whoami: [["whoami"]],
  peers: [["peers"]],
  team: [["team"]],
  peer: [
    ["peer", "show", "scribe"],
    ["peer", "reset", "scribe", "--yes", "--reason", EVIL],
    ["peer", "show", EVIL],
  ],
  reclaim: [["reclaim", "--yes", "--reason", EVIL]],
  stats: [["stats"]],
  incident: [
    ["incident", "list", "--all"],
    ["incident", "list", "--follow"],
    ["incident", "notices"],
    ["incident", "ack", EVIL],
  ],
  doctor: [["doctor"]],
  config: [
    ["config", "list"],
    ["config", "accept", "--yes", "--reason", "x"],
    ["config", "get", EVIL],
  ],
  trust: [
    ["trust", "list"],
    ["trust", "import", "{wire}/trust.json", "--yes", "--reason", "x"],
    ["trust", "pin", EVIL],
    ["trust", "pin", "scribe", "{wire}/evil.card.json", "--yes", "--reason", "x"],
    ["trust", "pin", "scribe", `ftp://${EVIL}`],
  ],
  audit: [
    ["audit"],
    ["audit", "{wire}/scribe_to_forge.jsonl"],
    ["audit", EVIL],
    ["audit", "--key", "{key}", "--since", "2h"],
    ["audit", "--key", EVIL],
    ["audit", "--key", "{key}", "--since", EVIL],
  ],
  verify: [["verify", "--trust", "{wire}/trust.json"]],
  reply: [
    ["reply", "{first}", "hello", "--subject", "x"],
    ["reply", EVIL, "hello"],
  ],
  ack: [
    ["ack", "{first}"],
    ["ack", EVIL],
  ],
  accept: [
    ["accept", "{proposal}"],
    ["accept", "{first}"],
    ["accept", EVIL],
  ],
  reject: [
    ["reject", "{proposal}", "--reason", EVIL],
    ["reject", EVIL],
  ],
  counter: [
    ["counter", "{proposal}", "other"],
    ["counter", EVIL, "x"],
  ],
  correct: [["correct", EVIL, "x"]],
  withdraw: [["withdraw", EVIL, "x"]],
  send: [["send", "--to", EVIL, "x"]],
  ship: [["ship", "--ref", EVIL, "x"]],
  propose: [["propose", "--required", EVIL, "x"]],
  request: [["request", EVIL, EVIL]],
  respond: [
    ["respond", "0badcafe01", "--approve"],
    ["respond", "{request}", "--reject"],
    ["respond", EVIL, "--approve"],
  ],
  join: [["join", "{wire}", "--my-handle", "forge", "--peer-handle", "scribe", "--dry-run"]],
  init: [["init", "--wire", "{wire}", "--my-handle", EVIL, "--peer-handle", "x", "--dry-run"]],
  keygen: [["keygen", EVIL]],
  key: [
    ["key", "show"],
    ["key", "rotate", "--without", EVIL, "--yes", "--reason", EVIL],
  ],
  sas: [["sas", EVIL, EVIL, "forge", "x"]],
  card: [
    ["card", "show", "{wire}/evil.card.json"],
    ["card", "verify", "{wire}/evil.card.json"],
    ["card", "show", EVIL],
    ["card", "build"],
    ["card", "export"],
    ["card", "export", "--a2a"],
  ],
  backup: [["backup", EVIL]],
  restore: [["restore", EVIL]],
  collab: [
    ["collab", "next", "--folder", EVIL, "--participant", EVIL],
    ["collab", "init", "--folder", EVIL, "--objective", EVIL, "--schema", EVIL],
    ["collab", "validate", "--folder", EVIL],
  ],
  plan: [
    ["plan", "status", EVIL],
    ["plan", "validate", EVIL],
    ["plan", "init", EVIL, "--id", EVIL],
    ["plan", "set", EVIL, EVIL, "--plan", EVIL],
    ["plan", "run", EVIL, "--local", "--exec", EVIL, "--yes"],
  ],
  report: [
    ["report", "validate", EVIL],
    ["report", "add", EVIL, "--plan", EVIL],
  ],
  skills: [
    ["skills", "list", "--format", EVIL],
    ["skills", "show", EVIL],
    ["skills", "new", EVIL, "--description", EVIL],
    ["skills", "bump", EVIL, EVIL, "--note", EVIL],
    ["skills", "prompt", EVIL],
    ["skills", "import", EVIL],
    ["skills", "hooks", "install", EVIL],
    ["skills", "validate", EVIL],
  ],
  bench: [["bench", "skills", "--exec", EVIL, "--tasks", EVIL]],
  transport: [
    ["transport", "status"],
    ["transport", "switch", EVIL, "--yes", "--reason", EVIL],
    ["transport", "switch", "git", "--remote", EVIL, "--yes", "--reason", EVIL],
  ],
  resume: [["resume", "--reason", EVIL, "--yes"]],
  // These show nothing but our own words: who runs them gives them no peer's text.
  ...{
    broadcast: null,
    demo: null,
    daemon: null,
    service: null,
    completion: null,
    mcp: null,
    integrate: null,
    run: null,
    hook: null,
    canonical: null,
  },
};

/** The command lines, with what stands for things of this wire put in. */
function* asked(): Generator<readonly string[]> {
  for (const variants of Object.values(ASKED)) {
    for (const args of variants ?? []) {
      const each = args.includes("{each}") ? lines : lines.slice(0, 1);
      for (const { id } of each) {
        yield args.map((arg) =>
          arg
            .replace("{each}", id)
            .replace("{first}", lines[0]?.id ?? "")
            .replace("{proposal}", lines[3]?.id ?? "")
            .replace("{request}", lines[9]?.id ?? "")
            .replace("{key}", keyOfScribe())
            .replace("{wire}", wire.dir),
        );
      }
    }
  }
}

function keyOfScribe(): string {
  const text = readFileSync(wire.paths("scribe").identity.publicKey, "utf8");
  return (JSON.parse(text) as { key_id: string }).key_id;
}

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

test("every command there is has been thought of", () => {
  const forgotten = [...COMMANDS.keys()].filter((name) => !Object.hasOwn(ASKED, name));
  expect(forgotten).toEqual([]);
});

describe("a terminal", () => {
  test("gets no character that steers it from any command, nor a line that a peer has begun", async () => {
    let all = "";
    for (const args of asked()) {
      const { out, err } = await show(args, { NO_COLOR: "1" });
      expect(out + err, args.join(" ")).not.toMatch(STEERS);
      // A body may have lines of its own: behind a bar. A caller's own argument is no peer's word.
      if (!args.some((arg) => arg.includes(EVIL))) {
        expect(out + err, args.join(" ")).not.toMatch(/^\s*FORGED/m);
      }
      expect(err, args.join(" ")).not.toContain("this is a bug");
      all += out;
    }
    // It was there to be shown: else nothing has been proved.
    expect(all.split("FORGED").length).toBeGreaterThan(60);
  });

  test("in colours gets ours alone", async () => {
    for (const args of asked()) {
      const { out, err } = await show(args, { FORCE_COLOR: "1", NO_COLOR: undefined });
      // styleText's own sequences: one or two digits. EVIL has "[2J" and, behind a C1, "31m".
      const bare = (out + err).replaceAll(/\u001b\[\d\d?m/g, "");
      expect(bare, args.join(" ")).not.toMatch(STEERS);
    }
  });
});

test("what the daemon noticed of it has been told, and is among what was shown", async () => {
  const { out } = await show(["incident", "notices"], { NO_COLOR: "1" });
  for (const cause of ["too_many_refs", "config_drift", "trust_drift", "safe_mode_sign"]) {
    expect(out).toContain(cause);
  }
});

test("--json is one safe line a value, and holds the peer's words to the letter", async () => {
  let holds = false;
  for (const args of asked()) {
    if (args.includes("--follow")) continue;
    const { out, err } = await show([...args, "--json"], { NO_COLOR: "1" });
    expect(out + err, args.join(" ")).not.toMatch(STEERS);
    for (const line of out.split("\n").filter((each) => each !== "")) {
      expect(isJson(line), `${args.join(" ")}: ${line.slice(0, 200)}`).toBe(true);
      holds ||= JSON.stringify(JSON.parse(line)).includes(JSON.stringify(EVIL).slice(1, -1));
    }
  }
  expect(holds).toBe(true);
});

test("a file that is to be audited and is not there is named safely, whatever its name", async () => {
  const name = join(wire.folder, `${EVIL.replaceAll("/", "")}.jsonl`);
  const { out, err } = await show(["audit", name], { NO_COLOR: "1" });
  expect(out + err).toContain("FORGED");
  expect(out + err).not.toMatch(STEERS);
});
