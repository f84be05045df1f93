import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SendAnswer } from "../../src/api/client.ts";
import type {
  CheckView,
  DecisionsView,
  HoldsView,
  InboxMessage,
  IncidentView,
  RequestView,
  TeamMemberView,
  Views,
} from "../../src/api/views.ts";
import { openClient } from "../../src/client/open-client.ts";
import type { Cli } from "../../src/cli/context.ts";
import { main } from "../../src/cli/main.ts";
import { composeLine } from "../../src/wire/compose.ts";
import { makeSigner } from "../../src/wire/signature.ts";
import { declaredShapes, type Shapes } from "../support/json-shapes.ts";
import { jsonLines, makeWire, removeWires, WIRE_ID } from "../support/processes/live-wire.ts";
import type { Daemon, LiveWire } from "../support/processes/live-wire.ts";
import { until } from "../support/processes/real-processes.ts";

const API = 'import("./src/api/views.ts")';
const SENT = 'import("./src/api/client.ts").SendAnswer';
const view = (name: keyof Views) => `${API}.Views["${name}"]`;
const answer = `${SENT} & { answers: ${API}.ResolvedId }`;
const noted = `${SENT} & { answers: ${API}.ResolvedId; note: string }`;

/** What each command prints with `--json`; `inbox` prints one object a line. */
const TYPES = {
  accept: `${answer} & { agrees_to?: string }`,
  ack: `${noted} & { agrees_to?: string }`,
  broadcast: SENT,
  check: view("check"),
  correct: answer,
  counter: `${answer} & { decides: string }`,
  decisions: view("decisions"),
  inbox: `${view("inbox")}["messages"][number]`,
  "inbox --path": "{ inbox_path: string }",
  claim: `${SENT} & { note?: string }`,
  claims: view("claims"),
  "incident ack": answer,
  "incident list": view("incidents"),
  "incident notices": view("notices"),
  "incident raise": SENT,
  "incident resolve": answer,
  "key show": view("keys"),
  "member list": view("members"),
  notices: view("agent_notices"),
  "peer show": view("holds"),
  peers: view("peers"),
  pending: view("pending"),
  proposals: view("proposals"),
  propose: `${SENT} & { decides: string; note?: string }`,
  release: SENT,
  request: SENT,
  requests: view("requests"),
  respond: answer,
  reject: answer,
  reply: answer,
  search: `${view("search")}["messages"]`,
  send: `${SENT} & { note?: string }`,
  "send --wait": `${SENT} & { receipts: (${API}.ReceiptView & { event_id: string })[] }`,
  sent: view("sent"),
  ship: SENT,
  stats: view("stats"),
  status: view("status"),
  team: view("team"),
  thread: view("thread"),
  "trust list": 'NonNullable<ReturnType<typeof import("./src/cli/trust/list.ts").trustRow>>[]',
  audit: 'import("./src/agent/answers/audit.ts").AuditReport',
  wait: `${API}.NewsView`,
  wake: "{ woken: boolean }",
  whoami: view("whoami"),
} as const;

type Printed = keyof typeof TYPES;

let shapes: Shapes<Printed>;
let scene: Scene;

/** A wire, the agents' commands run in this process, and each JSON that they print compared. */
class Scene {
  readonly problems: string[] = [];
  readonly printed = new Map<Printed, unknown>();
  readonly wire: LiveWire;

  constructor(wire: LiveWire) {
    this.wire = wire;
  }

  async run(handle: string, ...args: readonly string[]): Promise<string> {
    const { env, dir, folder } = this.wire;
    const [out, err]: [string[], string[]] = [[], []];
    const cli: Cli = {
      env,
      cwd: folder,
      stdin: Readable.from([]),
      stdout: { write: (text: string) => out.push(text) },
      stderr: { write: (text: string) => err.push(text) },
      exitCode: 0,
      clock: {
        nowMs: () => Date.now(),
        sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      },
      openClient,
    };
    const [command = "", ...rest] = args;
    const code = await main([command, "--wire", dir, "--as", handle, ...rest, "--json"], cli);
    // An audit that found something says so with its exit code, and prints all the same.
    if (code !== 0 && out.length === 0) throw new Error(`${args.join(" ")}: ${err.join("")}`);
    return out.join("");
  }

  /** Compares what the command prints with its declared type, and gives it. */
  async asks<T>(name: Printed, handle: string, ...args: readonly string[]): Promise<T> {
    const text = await this.run(handle, ...name.split(" "), ...args);
    for (const json of name === "inbox" ? jsonLines(text) : [JSON.parse(text) as unknown]) {
      this.problems.push(...shapes.problems(name, json));
      this.printed.set(name, json);
    }
    return this.printed.get(name) as T;
  }

  async says(name: Printed, handle: string, ...args: readonly string[]): Promise<string> {
    const { messages } = await this.asks<SendAnswer>(name, handle, ...args);
    return messages[0]?.event_id ?? "";
  }

  /** Until that peer's command knows the message. */
  async reaches(handle: string, id: string): Promise<void> {
    const named = () =>
      this.run(handle, "thread", id, "--event").then(
        () => true,
        () => false,
      );
    await until(`${id} reaches ${handle}`, named);
  }
}

/** Messages of each kind, with receipts, answers and corrections. */
async function talk(scene: Scene): Promise<void> {
  const plan = await scene.says(
    "send",
    "forge",
    "the plan",
    "steps",
    "--ack-required",
    "--ref",
    "a",
  );
  await scene.reaches("scribe", plan);
  await scene.asks("wait", "scribe");
  await scene.says("reply", "scribe", plan, "--type", "feedback", "fine");
  const fixed = await scene.says("correct", "forge", plan, "better steps");
  await scene.says("broadcast", "forge", "hello all", "x");
  await scene.says(
    "ship",
    "forge",
    "parser v2",
    "--state",
    "tests green",
    "--digest",
    "ab".repeat(32),
  );
  await scene.asks("send --wait", "forge", "delivered", "and read", "read");
  await scene.reaches("scribe", fixed);
  await scene.asks("pending", "scribe");
}

/** Ratified, superseded, rejected and open proposals, and an entry that nobody signed. */
async function decide(scene: Scene): Promise<void> {
  const inForce = () => scene.asks<DecisionsView>("decisions", "forge", "--all");
  const touches = ["--domain", "api", "--ref", "src/api/client.ts"];
  const first = await scene.says("propose", "forge", "freeze the api", ...touches);
  await scene.reaches("scribe", first);
  await scene.says("ack", "scribe", first);
  await until("it is in force", async () => (await inForce()).in_force.length === 1);
  const args = ["freeze it later", "--supersedes", first, ...touches];
  const second = await scene.says("propose", "forge", ...args);
  await scene.reaches("scribe", second);
  await scene.says("accept", "scribe", second);
  await until("it is superseded", async () => (await inForce()).superseded.length === 1);
  const third = await scene.says("propose", "forge", "use tabs");
  await scene.reaches("scribe", third);
  await scene.says("counter", "scribe", third, "use spaces");
  const fourth = await scene.says("propose", "forge", "use dots");
  await scene.reaches("scribe", fourth);
  await scene.says("reject", "scribe", fourth);
  appendFileSync(join(scene.wire.dir, "decisions.jsonl"), '{"decision":"by hand"}\n');
  await until("it is seen", async () => (await inForce()).unproved.length === 1);
}

async function alarm(scene: Scene): Promise<void> {
  const listed = () => scene.asks<IncidentView[]>("incident list", "forge", "--all");
  const first = await scene.says("incident raise", "forge", "main is broken", "--severity", "low");
  await scene.reaches("scribe", first);
  await scene.asks("status", "scribe");
  await scene.says("incident ack", "scribe", first);
  await until("it is acked", async () => (await listed()).some(({ status }) => status === "acked"));
  await scene.says("incident resolve", "forge", first);
  const second = await scene.says("incident raise", "scribe", "the docs", "--severity", "high");
  await scene.reaches("forge", second);
  await scene.run("forge", "inbox", "--unread", "--mark-read");
  // A message brings the beat forward that shows it read.
  await scene.says("send", "scribe", "have you seen it?", "x");
  await until("it has a deadline", async () =>
    (await listed()).some(({ addressees }) => typeof addressees[0]?.escalates_at === "string"),
  );
  await scene.says("incident ack", "forge", second);
}

/** Scribe's key writes two lines in one place, a stranger's log is there, and the policy changes. */
async function harm(scene: Scene, scribes: Daemon): Promise<void> {
  const { wire } = scene;
  await scribes.stop();
  const signer = makeSigner("scribe", readFileSync(wire.paths("scribe").identity.key));
  // Its last beat may be in no chain.
  const { seq = 0, event_id: id } =
    wire.lines("scribe_to_forge.jsonl").findLast((line) => line.seq !== undefined) ?? {};
  const lines = ["one", "another"].map((subject) => {
    const timestamp = new Date().toISOString();
    const said = { to: ["forge"], type: "feedback", subject, body: "x", correlationId: timestamp };
    const head = { seq, id: id ?? "" };
    const at = { timestamp, log: "scribe_to_forge", wireId: WIRE_ID, head };
    return `${Buffer.from(composeLine(said, at, signer).line).toString("utf8")}\n`;
  });
  appendFileSync(join(wire.dir, "scribe_to_forge.jsonl"), lines.join(""));
  writeFileSync(join(wire.dir, "ghost_to_forge.jsonl"), "{}\n");
  appendFileSync(join(wire.dir, "config.json"), " ");
  await until("scribe is held", async () => {
    const { holds } = await scene.asks<HoldsView>("peer show", "forge", "scribe");
    return holds.length > 0;
  });
}

/** A request that is answered, twice, and one that is open each way. */
async function request(scene: Scene): Promise<void> {
  await scene.run("scribe", "status", "set", "--last-action", "reading the plan");
  const plan = await scene.says("request", "forge", "plan_approval", "--plan", "measure first");
  await scene.reaches("scribe", plan);
  await scene.asks("pending", "scribe");
  await scene.says("respond", "scribe", plan, "--reject", "--reason", "too risky");
  const listed = () => scene.asks<RequestView[]>("requests", "forge", "--all");
  await until("it is rejected", async () => (await listed())[0]?.status === "rejected");
  await scene.run("scribe", "respond", plan, "--approve", "--anyway");
  await until("it comes late", async () => (await listed())[0]?.late_answers.length === 1);
  await scene.says("request", "forge", "review", "--due", "4h");
  await listed();
  await scene.reaches("forge", await scene.says("request", "scribe", "review"));
  const stop = await scene.says("request", "scribe", "shutdown");
  await scene.reaches("forge", stop);
  await scene.run("forge", "respond", stop, "--approve");
  await scene.asks("status", "forge");
  await scene.asks("wake", "forge");
  const doing = () => scene.asks<TeamMemberView[]>("team", "forge");
  await until("forge hears what scribe does", async () =>
    (await doing()).some(({ is_self, last_action }) => !is_self && last_action !== null),
  );
}

/** A claim that its owner has not granted yet, two that are contested, and one that is over. */
async function claim(scene: Scene): Promise<void> {
  const granted = await scene.says("claim", "forge", "src/api/x.ts");
  await scene.reaches("scribe", granted);
  await scene.asks("claims", "forge");
  await scene.run("scribe", "accept", granted);
  await until("the owner has granted it", async () => {
    const { paths } = await scene.asks<CheckView>("check", "forge", "src/api/x.ts");
    return paths.some(({ claims }) => claims.length > 0);
  });
  await scene.says("claim", "forge", "src/**", "--reason", "a new parser");
  await scene.reaches("forge", await scene.says("claim", "scribe", "src/ui/*", "--anyway"));
  await scene.asks("claims", "forge");
  await scene.says("release", "scribe");
}

beforeAll(async () => {
  shapes = declaredShapes(TYPES);
  const domains = {
    api: { owner: "scribe", paths: ["src/api/**"] },
    docs: { owner: "scribe", paths: ["docs/**"] },
  };
  const wire = makeWire({ cadenceSeconds: 1, deadlineSeconds: 120, config: { domains } });
  scene = new Scene(wire);
  await wire.daemon("forge");
  const scribes = await wire.daemon("scribe");
  await talk(scene);
  await decide(scene);
  await alarm(scene);
  await request(scene);
  await claim(scene);
  await harm(scene, scribes);
  await lookAround(scene);
});
afterAll(removeWires);

/** All views once more, when everything has happened. */
async function lookAround(scene: Scene): Promise<void> {
  await scene.run("forge", "status", "set", "--last-action", "splitting the parser");
  await scene.run("forge", "key", "rotate", "--yes", "--reason", "a test");
  const alone = ["whoami", "status", "peers", "inbox", "inbox --path", "sent", "pending"] as const;
  for (const name of alone) await scene.asks(name, "forge");
  const proofs = ["proposals", "stats", "key show", "trust list", "audit"] as const;
  for (const name of proofs) await scene.asks(name, "forge");
  await scene.asks("incident notices", "forge");
  await scene.asks("notices", "forge");
  await scene.asks("member list", "forge");
  await scene.asks("check", "forge", "src/api/client.ts", "docs/a.md");
  await scene.asks("search", "forge", "plan");
  for (const message of jsonLines(await scene.run("scribe", "inbox")) as InboxMessage[]) {
    await scene.asks("thread", "scribe", message._meta.id, "--event");
  }
}

describe("what commands print with --json", () => {
  it("has the declared fields, all of them and no others", () => {
    expect(scene.problems).toEqual([]);
  });
});

describe("a shape that departs from what is declared", () => {
  it.each([
    ["status", { unread: "3" }, 'status.unread: "3" is no number'],
    ["status", { wire_id: 7 }, "status.wire_id: 7 is none of string | null"],
    ["status", { peers: {} }, "status.peers: {} is no list"],
    ["status", { daemon: [] }, "status.daemon: [] is no object"],
    ["peer show", { blocked: null }, "peer show.blocked: null is none of boolean"],
    ["send", { outcome: "lost" }, 'send.outcome: "lost" is no "sent"'],
  ] as const)("%s with %j is noticed", (name, change, problem) => {
    const json = { ...(scene.printed.get(name) as object), ...change };
    expect(shapes.problems(name, json)).toEqual([problem]);
  });
});
