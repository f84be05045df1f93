import { describe, expect, it } from "vitest";
import { DeaddropError } from "../../src/api/errors.ts";
import type { MailView } from "../../src/api/views.ts";
import { run } from "./fake-cli.ts";

const NOTHING: MailView = {
  ...{ unread: 0, notices: 0, urgent: 0, owed: 0, overdue: 0, from: [] },
  fresh: { count: 0, urgent: 0, lines: [] },
  marks: {},
};
const MASON = { handle: "mason", count: 1 };
const NEWS: MailView = {
  ...NOTHING,
  ...{ unread: 3, urgent: 1, owed: 2, from: [MASON, { handle: "scribe", count: 2 }] },
};

/** Answers one after the other, the last one again and again. */
function answers(...all: readonly (MailView | Error)[]): () => MailView {
  let at = 0;
  return () => {
    const answer = all[Math.min(at++, all.length - 1)] ?? NOTHING;
    if (answer instanceof Error) throw answer;
    return answer;
  };
}

describe("wait", () => {
  it("returns at once when something is there, and says what and how to read it", async () => {
    const { stdout, exitCode, recording } = await run(["wait"], { views: { mail: NEWS } });
    expect(exitCode).toBe(0);
    expect(stdout).toBe(
      "3 unread from mason, scribe (1 urgent), 2 answers owed: deaddrop inbox --unread --mark-read\n",
    );
    expect(recording.asked).toEqual([{ name: "mail", args: {} }]);
    const json = await run(["wait", "--json"], { views: { mail: NEWS } });
    const { fresh: _fresh, marks: _marks, ...waiting } = NEWS;
    expect(JSON.parse(json.stdout)).toEqual({ ready: true, ...waiting });
  });

  it("returns for a notice, which the inbox shows", async () => {
    const mail = { ...NOTHING, notices: 1 };
    const { stdout } = await run(["wait"], { views: { mail } });
    expect(stdout).toBe("1 notice: deaddrop inbox --unread --mark-read\n");
  });

  it("names what is owed, too", async () => {
    const mail = { ...NOTHING, owed: 1 };
    const { stdout, recording } = await run(["wait", "--for", "owed"], { views: { mail } });
    expect(stdout).toBe("1 answer owed: deaddrop pending\n");
    expect(recording.asked).toEqual([{ name: "mail", args: {} }]);
  });

  it.each([
    ["any", "all is read"],
    ["urgent", "nothing urgent is unread"],
    ["owed", "you owe no answer"],
  ])("exits 3 when the time is over, for %s", async (what, words) => {
    const { stdout, stderr, exitCode, recording } = await run(
      ["wait", "--timeout", "7", "--for", what],
      { views: { mail: NOTHING }, viaDaemon: false },
    );
    expect([exitCode, stdout]).toEqual([3, ""]);
    expect(stderr).toContain(`nothing within 7 s: ${words}`);
    // It looks every two seconds, and no more often.
    expect(recording.ticks).toBeLessThanOrEqual(4);
  });

  it("looks by itself where no daemon runs, and says so once", async () => {
    const mail = answers(NOTHING, NOTHING, NEWS);
    const { stdout, stderr, recording } = await run(["wait"], {
      views: { mail },
      viaDaemon: false,
    });
    expect(stdout).toContain("3 unread");
    expect(stderr.split("No daemon runs: looking every 2 s.")).toHaveLength(2);
    expect(recording.ticks).toBe(2);
  });

  it("lives through the end of a daemon, and not through a failure that stays", async () => {
    const gone = new DeaddropError("storage", "the daemon ended before it answered");
    const passing = await run(["wait"], { views: { mail: answers(gone, gone, NEWS) } });
    expect(passing.exitCode).toBe(0);
    const staying = await run(["wait"], { views: { mail: answers(gone) } });
    expect(staying.exitCode).toBe(6);
    const refused = new DeaddropError("config", "no such wire");
    expect((await run(["wait"], { views: { mail: answers(refused) } })).exitCode).toBe(2);
  });
});
