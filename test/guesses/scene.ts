import type { Client } from "../../src/api/client.ts";
import { openClient } from "../../src/client/open-client.ts";
import { toPlain } from "../../src/wire/json/json.ts";
import type { Draft } from "../../src/wire/compose.ts";
import { run } from "../cli/fake-cli.ts";
import { newMachine } from "../setup/machine.ts";

/** What a command line did: what it printed, and what it would have signed, marked and set. */
export interface Done {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly acts: readonly unknown[];
}

/** Two agents with real files, on which nothing is changed any more: ann's commands are only recorded. */
export interface Scene {
  /** By the names that guesses use for them, without the `$`. */
  readonly ids: Readonly<Record<string, string>>;
  done(line: string): Promise<Done>;
  /** Ann's agent, whose sends, marks and settings are recorded. */
  readonly client: Client;
  readonly nowMs: number;
  /** What was recorded since this was asked last. */
  takeActs(): readonly unknown[];
  close(): void;
}

type Look = (name: string, args?: unknown) => Promise<unknown>;

/** What a call changes; every other one only looks. */
const ACTS = new Set(["send", "read", "status", "wake", "change_members"]);

/** They speak to the system, which no test may: their help shows that they are understood. */
const OF_THE_SYSTEM = /^(service|daemon)\b/;

export async function makeScene(): Promise<Scene> {
  const machine = newMachine();
  const env = { ...machine.env, DEADDROP_WIRE: undefined, DEADDROP_AS: undefined };
  const nowMs = Date.now();
  const outside = { env, cwd: machine.root, nowMs, openClient };
  const say = async (line: string): Promise<string> => {
    const { stdout, stderr, exitCode } = await run([...words(line), "--json"], outside);
    if (exitCode !== 0) throw new Error(`${line}: ${stderr}`);
    return /"event_id":"([0-9a-f]{64})"/.exec(stdout)?.[1] ?? "";
  };
  await say("init --me ann --peer bob --local-pair");
  const ids: Record<string, string> = {};
  const said = {
    claim: "claim src/api --as ann",
    asked: 'request review bob --subject "the lexer" --as ann',
    own: 'propose "The docs move to site/." --as ann',
    raised: 'incident raise "the disk is full" --severity low --as ann',
    proposal: 'propose "We use npm." --as bob',
    request: 'request review ann --subject "the parser" --as bob',
    incident: 'incident raise "main is red" --severity low --as bob',
    message: 'send ann "which port?" "I have forgotten." --as bob',
  };
  for (const [name, line] of Object.entries(said)) ids[name] = await say(line);
  await say("inbox --as bob");
  const real = await openClient({ wireDir: machine.wireDir, handle: "ann", env });
  await real.view("status");
  let acts: unknown[] = [];
  const answers = new Map<string, Promise<unknown>>();
  // Nothing changes here, so each thing is asked once.
  const known = (name: string, args?: unknown): Promise<unknown> => {
    const key = JSON.stringify([name, args]);
    const answer = answers.get(key) ?? (real.ask as Look)(name, args);
    answers.set(key, answer);
    return answer;
  };
  const ask = async (name: string, args: unknown): Promise<unknown> => {
    if (!ACTS.has(name)) return known(name, args);
    const drafts = (args as { drafts?: readonly Draft[] }).drafts;
    acts.push(drafts === undefined ? { name, args } : drafts.map(plain));
    const messages = (drafts ?? []).map(({ to }) => ({ ...SENT, to }));
    return name === "send" ? { outcome: "sent", messages } : { read: 0 };
  };
  const view: Look = (name, args) => known("view", { name, args });
  const client = { ...real, ask, view, close: () => undefined } as unknown as Client;
  const takeActs = (): readonly unknown[] => {
    const taken = acts;
    acts = [];
    return taken;
  };
  return {
    ids,
    client,
    nowMs,
    takeActs,
    async done(line) {
      const [, stdin, typed = line] = /^echo ("[^"]*") \| (.*)$/.exec(line) ?? [];
      const args = words(named(ids, typed));
      takeActs();
      const isOfSystem = OF_THE_SYSTEM.test(typed) && !args.includes("--help");
      const { exitCode, stdout, stderr } = await run(isOfSystem ? [...args, "--help"] : args, {
        env: { ...env, DEADDROP_AS: "ann" },
        ...{ cwd: machine.root, nowMs, stdin: stdin === undefined ? "" : `${words(stdin)[0]}\n` },
        openClient: async () => client,
      });
      return { exitCode, stdout, stderr, acts: takeActs() };
    },
    close() {
      real.close();
      machine.remove();
    },
  };
}

const SENT = {
  event_id: "5e".repeat(32),
  place: ["ann", 99, "5e".repeat(32)],
  timestamp: "2026-06-01T10:00:00.000000Z",
  correlation_id: "2026-06-01T10:00:00.000000Z",
};

/** A request is named at random, and due a while after it is made. */
function plain(draft: Draft): unknown {
  const body = toPlain(draft.body);
  const isObject = typeof body === "object" && body !== null;
  return { ...draft, body: isObject && "request_id" in body ? { ...body, request_id: "…" } : body };
}

/** With the ids in the place of their names. */
export function named(ids: Readonly<Record<string, string>>, line: string): string {
  return line.replaceAll(/\$([a-z]+)/g, (whole, name: string) => ids[name]?.slice(0, 10) ?? whole);
}

/** A command line as a shell splits it. */
export function words(line: string): string[] {
  const found = line.matchAll(/(?:[^\s"']|"(?:[^"\\]|\\.)*"|'[^']*')+/g);
  return [...found].map(([word]) =>
    word.replaceAll(
      /"((?:[^"\\]|\\.)*)"|'([^']*)'/g,
      (_, double?: string, single?: string) => double?.replaceAll(/\\(.)/g, "$1") ?? single ?? "",
    ),
  );
}
