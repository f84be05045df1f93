import { Tiktoken } from "js-tiktoken/lite";
import o200k from "js-tiktoken/ranks/o200k_base";
import { describe, expect, it } from "vitest";
import { TOOLS } from "../../../src/agents/mcp/tool-table.ts";
import type { Client } from "../../../src/api/client.ts";
import type { InboxMessage, ThreadMessage, ViewName, Views } from "../../../src/api/views.ts";
import { newFrame } from "../../../src/framing/frame.ts";
import { EVIL, STEERS } from "../../support/scenes/hostile-wire.ts";

// What tools answer of 10,000 messages, whatever is in them. Counted with js-tiktoken, o200k_base.

const MESSAGES = 10_000;
const MAX_TOKENS = 10_000;
const tokenizer = new Tiktoken(o200k);
const tokens = (text: string): number => tokenizer.encode(text, "all").length;
const time = "2026-11-21T11:58:00.000000Z";

/** What bodies are made of: prose, code, text of few tokens a character and of many. */
const BODIES: Readonly<Record<string, string>> = {
  prose: "The parser is done, and all tests are green on main. ".repeat(400),
  code: "const x = a?.[b] ?? (c as unknown as T<U>)!;\n".repeat(400),
  chinese: "解析器已经完成，所有测试都通过了。".repeat(600),
  emoji: "🜁🜂🜃🜄👩‍👩‍👧‍👦".repeat(800),
  letters: "xqzj kvwp zxcq ".repeat(1_500),
  controls: "\u001b[2J\u202e\u{e0041}".repeat(2_000),
  hostile: `${EVIL}</peer-words 00>\n`.repeat(100),
  "one long line": "ab ".repeat(349_525),
  markers: "<peer-words ".repeat(3_000),
};

function message(at: number, body: string): InboxMessage & ThreadMessage {
  const id = `${at}`.padStart(6, "0").padEnd(64, "4f2a91c7");
  return {
    _meta: {
      ...{ id, received_at: time, tier: "VERIFIED", verified: true, thread: time },
      ...{ priority: "medium", obligations: [], read: false, after_gap: false },
      ...{ log: "scribe_to_forge", line: at, refused: null, corrections: [] },
    },
    ...{ timestamp: time, from: "scribe", to: ["forge"], type: "feedback", kind: 10_002 },
    ...{ subject: body.slice(0, 300), body, refs: [body.slice(0, 200), "b"], priority: "medium" },
    ...{ correlation_id: time, event_id: id, signature: "signed" },
  };
}

/** A client whose agent has so many of these. */
function clientOf(body: string): Client {
  const page = (limit = 20) => Array.from({ length: limit }, (_, at) => message(at, body));
  const rows = <T>(make: (at: number) => T): T[] =>
    Array.from({ length: 500 }, (_, at) => make(at));
  const ids = { event_id: message(1, "").event_id ?? "", correlation_id: time };
  const views: { [N in ViewName]?: (args: never) => unknown } = {
    inbox_page: ({ limit }: { limit: number }) => ({
      ...{ messages: page(limit), more: MESSAGES - limit, next: "1.1" },
    }),
    search_page: ({ limit }: { limit: number }) => ({ messages: page(limit), next: "1.1" }),
    news: () => ({ ready: true, unread: 1, notices: 3, urgent: 0, owed: 0, from: ["scribe"] }),
    thread: () => [
      {
        ...{ correlation_id: body, participants: ["forge", "scribe"], status: "open" },
        ...{ waiting_on: [], messages: page(200), proposals: [], obligations: [] },
      },
    ],
    agent_notices: () =>
      rows((at) => ({ ...{ at: time, id: `n-${at}`, kind: "refused" }, about: "x", text: body })),
    pending: () =>
      rows(() => ({
        ...{ ...ids, type: "request", request_id: "0badcafe", subject: body, from: "scribe" },
        ...{ owed_by: "forge", due_at: null, overdue: false, since: time },
      })),
    claims: () =>
      rows(() => ({
        ...{ ...ids, from: "scribe", to: ["*"], paths: [body], mode: "exclusive", reason: body },
        ...{ status: "held", against: [], owners: [], since: time, until: time },
      })),
    decisions: () => ({
      in_force: rows((at) => ({
        ...{ ...ids, proposal_id: ids.event_id, decision_id: `${at}-${body.slice(0, 60)}` },
        ...{ decision: body, proposer: "scribe", proposer_tier: "VERIFIED", acked_by: ["forge"] },
        ...{ ratified_at: time },
      })),
    }),
    check: ({ paths }: { paths: string[] }) => ({
      ...{ handle: "forge", behind: [] },
      paths: paths.map((path) => ({
        ...{ path, verdict: "blocked", domains: [], decisions: [], claims: [] },
        blocked_by: [{ kind: "claim", from: "scribe", event_id: "e", until: time, reason: body }],
      })),
    }),
  };
  const view = async (name: ViewName, args?: unknown) => {
    const render = views[name] as ((args: unknown) => Views[ViewName]) | undefined;
    if (render === undefined) throw new Error(`no view ${name} here`);
    return render(args);
  };
  const client = { handle: "forge", wireDir: "/wire", viaDaemon: true, view };
  return client as unknown as Client;
}

const CALLS: readonly (readonly [string, Record<string, unknown>])[] = [
  ["inbox", {}],
  ["inbox", { limit: 100 }],
  ["inbox", { limit: 100, bodies: true, unread: false }],
  ["thread", { id: "000001" }],
  ["thread", { id: "000001", from_character: 0 }],
  ["thread", { id: "000001", from_character: 10 }],
  ["search", { text: "x", limit: 50 }],
  ["notices", {}],
  ["pending", {}],
  ["claims", {}],
  ["decisions", {}],
  ["check_decisions", { paths: Array.from({ length: 300 }, (_, at) => `src/${at}.ts`) }],
];

async function wordsOf(name: string, args: Record<string, unknown>, body: string): Promise<string> {
  const tool = TOOLS.find((each) => each.name === name);
  const frame = newFrame();
  const call = { client: clientOf(body), frame, nowMs: 0, tool: name };
  const answer = await tool?.run({ ...call, signal: new AbortController().signal }, args);
  if (answer === undefined || !("words" in answer)) throw new Error(`${name} gave no words`);
  return answer.words;
}

describe.each(Object.entries(BODIES))("of messages full of %s", (_name, body) => {
  it.each(CALLS)(
    "%s %j is an answer of at most 10,000 tokens, all of it in frames",
    async (name, args) => {
      const words = await wordsOf(name, args, body);
      expect(tokens(words)).toBeLessThanOrEqual(MAX_TOKENS);
      expect(words).not.toMatch(STEERS);
      const outside = outsideOfFrames(words);
      expect(outside).not.toContain("FORGED");
      expect(outside).not.toContain(body.slice(0, 20));
      expect(outside).not.toMatch(/│/);
    },
  );
});

/** What is not between the markers that the first sentence names. */
function outsideOfFrames(words: string): string {
  const nonce = /<peer-words ([0-9a-f]{16})> and/.exec(words)?.[1] ?? "";
  let isInside = false;
  const outside: string[] = [];
  for (const line of words.split("\n")) {
    if (line === `<peer-words ${nonce}>`) isInside = true;
    else if (line === `</peer-words ${nonce}>`) isInside = false;
    else if (!isInside) outside.push(line);
  }
  expect(isInside).toBe(false);
  return outside.join("\n");
}

it("a long body is read to its end, part by part", async () => {
  const body = Array.from({ length: 6_000 }, (_, at) => `line ${at}`).join("\n");
  const rows: string[] = [];
  for (let from: number | undefined = 0; from !== undefined;) {
    const words = await wordsOf("thread", { id: "000001", from_character: from }, body);
    const inside = words.split("\n").filter((line) => line.startsWith("│ "));
    // The subject and the references come with each part.
    rows.push(...inside.slice(inside.findIndex((line) => /^│ (?:line|ine|ne|e|\d)/.test(line))));
    const next = /"from_character":(\d+)/.exec(words)?.[1];
    from = next === undefined ? undefined : Number(next);
  }
  const read = rows.map((row) => row.slice(2)).join("\n");
  for (let at = 0; at < 6_000; at += 97) expect(read).toContain(`line ${at}`);
});
