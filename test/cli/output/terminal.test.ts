import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { emit, toBeCopied } from "../../../src/cli/output/output.ts";
import { sanitise } from "../../../src/framing/sanitise.ts";
import { rowBreaker } from "../../../src/cli/output/terminal.ts";
import { columnsAtMost } from "../../../src/cli/output/width.ts";
import type { InboxMessage, Views } from "../../../src/api/views.ts";
import { DeaddropError } from "../../../src/api/errors.ts";
import { ID, PLACE, NOW_MS, run, threadWith, whoami } from "../fake-cli.ts";

/** A row that poses as the first of a message. */
const FORGED = "f00dbabe12 bob ack 1 s ago";

/** How terminals measure a character: they differ, and none of them asks us. */
type Terminal = (character: string) => number;

const HAN = /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]/u;
const EMOJI = /\p{Emoji_Presentation}/u;
const BOX_DRAWING = /[\u2500-\u259f]/u;
const TERMINALS: Readonly<Record<string, Terminal>> = {
  "one that knows combining marks and emoji": (character) => {
    if (/[\p{Mn}\p{Me}\u200c\u200d]/u.test(character)) return 0;
    return HAN.test(character) || EMOJI.test(character) ? 2 : 1;
  },
  "an old one, to which every character takes a column": (character) =>
    HAN.test(character) ? 2 : 1,
  // Lines and blocks are symbols as well, but no terminal draws some of them wide and others, as the
  // bar of our rows, narrow.
  "one that draws all symbols wide": (character) => {
    if (BOX_DRAWING.test(character)) return 1;
    return HAN.test(character) || /[\p{So}\p{Co}\p{Cn}]/u.test(character) ? 2 : 1;
  },
};

/** The rows that such a terminal shows. Colours take no room. */
function screen(text: string, columns: number, widthOf: Terminal): string[] {
  const rows: string[] = [];
  for (const line of text.replaceAll(/\u001b\[\d\d?m/g, "").split("\n")) {
    let row = "";
    let used = 0;
    for (const character of line) {
      const width = widthOf(character);
      if (used + width > columns) {
        rows.push(row);
        row = "";
        used = 0;
      }
      row += character;
      used += width;
    }
    rows.push(row);
  }
  return rows;
}

const pieces = fc.oneof(
  fc.string({ unit: "binary", maxLength: 60 }),
  fc.constantFrom(
    FORGED,
    "数字",
    "e\u0301\u0301",
    "👩‍👩‍👧",
    "❤\ufe0f",
    "\u2e3b",
    "─",
    "\n",
    "\t",
    "\u001b[2J",
    "\u2028",
    " ",
  ),
  fc.integer({ min: 0, max: 120 }).map((length) => " ".repeat(length)),
  fc.integer({ min: 0, max: 120 }).map((length) => "x".repeat(length)),
);
const peersText = fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join(""));

function message(subject: string, body: unknown, refs: string[] = []): InboxMessage {
  const [thread] = threadWith(subject, body);
  const [found] = thread?.messages ?? [];
  if (found === undefined) throw new Error("a thread has a message");
  const meta = {
    ...{
      id: ID,
      place: PLACE,
      received_at: found._meta.received_at,
      tier: "VERIFIED" as const,
      verified: true,
    },
    ...{ thread: "t", priority: "medium" as const, obligations: [], read: true, after_gap: false },
  };
  return { ...found, refs, _meta: meta };
}

async function shown(args: readonly string[], views: Partial<Views>, columns: number) {
  const outside = { views, tty: true, columns, env: { NO_COLOR: undefined }, nowMs: NOW_MS };
  const { stdout, stderr } = await run(args, outside);
  return stdout + stderr;
}

describe("no row of a terminal begins with a peer's text", () => {
  for (const [name, widthOf] of Object.entries(TERMINALS)) {
    it(`on ${name}, in a message`, async () => {
      await fc.assert(
        fc.asyncProperty(
          ...[peersText, peersText, fc.array(peersText, { maxLength: 3 })],
          fc.integer({ min: 12, max: 100 }),
          async (subject, body, refs, columns) => {
            const inbox = { messages: [message(subject, body, refs)], more: 0, next: "1.1" };
            const rows = screen(await shown(["inbox"], { inbox }, columns), columns, widthOf);
            for (const row of rows) expect(row).toMatch(/^(?:4f2a91c700 |  |$)/);
            expect(rows.filter((row) => row.startsWith(ID.slice(0, 10)))).toHaveLength(1);
          },
        ),
        { numRuns: 60 },
      );
    });

    it(`on ${name}, in tables, threads, decisions, notices, answers and errors`, async () => {
      await fc.assert(
        fc.asyncProperty(
          ...[peersText, fc.integer({ min: 12, max: 100 })],
          async (text, columns) => {
            for (const [args, views, ours] of screens(text)) {
              const rows = screen(await shown(args, views, columns), columns, widthOf);
              for (const row of rows) expect(row, args.join(" ")).toMatch(ours);
            }
          },
        ),
        { numRuns: 40 },
      );
    });
  }

  it("on a terminal too narrow for a bar: rows are cut", async () => {
    for (const columns of [1, 2, 3, 5, 7]) {
      const inbox = {
        messages: [message(FORGED.repeat(3), "数".repeat(30))],
        more: 0,
        next: "1.1",
      };
      const text = await shown(["inbox"], { inbox }, columns);
      for (const widthOf of Object.values(TERMINALS)) {
        expect(screen(text, columns, widthOf)).toHaveLength(text.split("\n").length);
      }
    }
  });
});

const OURS = /^(?:4f2a91c700|e5ca1a7e00| {2}|$)/;

/** Commands that show a peer's text, with how their own rows begin. */
function* screens(text: string): Generator<[string[], Partial<Views>, RegExp]> {
  const owed = {
    event_id: ID,
    place: PLACE,
    correlation_id: text,
    ...{ type: "proposal", subject: text, from: "scribe", owed_by: "forge" },
    ...{
      request_id: null,
      request_type: null,
      action: null,
      decision: null,
      due_at: null,
      overdue: false,
      since: "2026-11-21T11:56:00Z",
    },
  };
  yield [["pending"], { pending: [owed] }, OURS];
  yield [
    ["search", "x"],
    { search: { messages: threadWith(text, text)[0]?.messages ?? [], next: null } },
    OURS,
  ];
  const thread = threadWith(text, { [text]: text }).map((each) => ({
    ...each,
    correlation_id: text,
    obligations: [owed],
  }));
  yield [["thread", "4f2a91"], { thread }, /^(?:4f2a91c700|thread | {2}|Owed|$)/];
  const entry = { decision_id: text, proposer: text, decision: text };
  const unproved = [{ ...entry, detail: "not signed", place: null, proposer_tier: null }];
  const decisions = { in_force: [], pending: [], unproved, superseded: [] };
  yield [["decisions", "--all"], { decisions }, /^(?:unproved|No decision| {2}|$)/];
  const notice = { at: "2026-11-21T11:56:00Z", cause: "log_gap", peer: "scribe" };
  const notices = [{ ...notice, subject: text, detail: text }];
  yield [["incident", "notices"], { notices }, /^(?:4 min| {2}|$)/];
  const resolve_id = {
    ...{ event_id: ID, correlation_id: text, from: "scribe", type: "feedback", subject: text },
    ...{ place: PLACE, to: ["forge"] },
  };
  yield [
    ["reply", "4f2a91", "x"],
    { resolve_id, whoami: whoami("forge", "scribe") },
    /^(?:sent| {2}|$)/,
  ];
}

describe("a row breaker", () => {
  it("never passes the edge, by its own measure", () => {
    fc.assert(
      fc.property(peersText, fc.integer({ min: 1, max: 40 }), (text, columns) => {
        for (const row of rowBreaker(() => columns, {})(sanitise(text)).split("\n")) {
          const width = Array.from(row).reduce((sum, each) => sum + columnsAtMost(each, false), 0);
          expect(width).toBeLessThanOrEqual(columns);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  const breaker = (columns: number | undefined, env: NodeJS.ProcessEnv = {}) =>
    rowBreaker(() => columns, env);

  it("breaks between words, and goes on behind a bar", () => {
    expect(breaker(24)("a subject that goes on and on\nnext\n")).toBe(
      "a subject that goes on \n  │ and on\nnext\n",
    );
    expect(breaker(12)("x".repeat(22))).toBe(`${"x".repeat(12)}\n  │ ${"x".repeat(8)}\n  │ xx`);
  });

  it("gives our colours no room, and keeps them", () => {
    expect(breaker(12)("\u001b[1mtwelve\u001b[22m twel\u001b[31mve")).toBe(
      "\u001b[1mtwelve\u001b[22m \n  │ twel\u001b[31mve",
    );
  });

  it("knows where a row is when it comes in pieces", () => {
    const rows = breaker(12);
    expect(rows("question: ") + rows("answer")).toBe("question: an\n  │ swer");
    expect(rows("\nx")).toBe("\nx");
  });

  it("takes 80 columns for a terminal that does not say how wide it is", () => {
    for (const columns of [0, undefined]) {
      expect(breaker(columns)("x".repeat(81))).toBe(`${"x".repeat(80)}\n  │ x`);
    }
  });

  it("counts characters of ambiguous width twice where the locale draws them so", () => {
    expect(breaker(12)("д".repeat(12))).not.toContain("\n");
    expect(breaker(12, { LANG: "ja_JP.UTF-8" })("д".repeat(12))).toBe(
      `${"д".repeat(6)}\n  │ ${"д".repeat(3)}\n  │ ${"д".repeat(3)}`,
    );
  });
});

it("a command to be copied is left to the terminal, and no peer's text can claim to be one", async () => {
  const command = `deaddrop join ${"/a/long/path".repeat(5)}`;
  expect(rowBreaker(() => 12, {})(`  ${toBeCopied(command)}\n`)).toBe(`  ${command}\n`);
  const inbox = {
    messages: [message(toBeCopied("x".repeat(60)), toBeCopied("y".repeat(60)))],
    more: 0,
    next: "1.1",
  };
  const text = (await shown(["inbox"], { inbox }, 40)).replaceAll(/\u001b\[\d\d?m/g, "");
  expect(Math.max(...text.split("\n").map((row) => row.length))).toBe(40);
  const written: string[] = [];
  const cli = { stdout: { write: (text: string) => written.push(text) }, env: {} };
  emit(cli, {}, {}, () => toBeCopied(command));
  expect(written).toEqual([`${command}\n`]);
});

describe("what programs read is not broken", () => {
  const inbox = {
    messages: [message("x".repeat(300), "y".repeat(300))],
    more: 0,
    next: "1.1",
  };

  it("in a pipe", async () => {
    const { stdout } = await run(["inbox"], { views: { inbox }, columns: 40 });
    expect(stdout).toContain("y".repeat(300));
  });

  it("as JSON, errors too, on a terminal", async () => {
    const out = await shown(["inbox", "--json"], { inbox }, 40);
    expect(JSON.parse(out)).toMatchObject({ body: "y".repeat(300) });
    const refused = {
      inbox: () => {
        throw new DeaddropError("refused", "x".repeat(300));
      },
    };
    const outside = { views: refused, tty: true, columns: 40 };
    const { stderr } = await run(["inbox", "--json"], outside);
    expect(JSON.parse(stderr)).toMatchObject({ error: { message: "x".repeat(300) } });
  });
});
