import { describe, expect, it } from "vitest";
import { DeaddropError } from "../../src/api/errors.ts";
import type { Views } from "../../src/api/views.ts";
import { run } from "./fake-cli.ts";

const NOTHING: Views["news"] = {
  ready: false,
  unread: 0,
  notices: 0,
  urgent: 0,
  owed: 0,
  from: [],
};
const NEWS: Views["news"] = {
  ready: true,
  unread: 3,
  notices: 0,
  urgent: 1,
  owed: 2,
  from: ["mason", "scribe"],
};

/** Answers one after the other, the last one again and again. */
function answers(...all: readonly (Views["news"] | Error)[]): () => Views["news"] {
  let at = 0;
  return () => {
    const answer = all[Math.min(at++, all.length - 1)] ?? NOTHING;
    if (answer instanceof Error) throw answer;
    return answer;
  };
}

describe("wait", () => {
  it("returns at once when something is there, and says what and how to read it", async () => {
    const { stdout, exitCode, recording } = await run(["wait"], { views: { news: NEWS } });
    expect(exitCode).toBe(0);
    expect(stdout).toBe(
      "3 unread from mason, scribe (1 urgent), 2 answers owed: deaddrop inbox --unread --mark-read\n",
    );
    expect(recording.asked).toEqual([{ name: "news", args: { for: "any" } }]);
    const json = await run(["wait", "--json"], { views: { news: NEWS } });
    expect(JSON.parse(json.stdout)).toEqual(NEWS);
  });

  it("returns for a notice, which the inbox shows", async () => {
    const news = { ...NOTHING, ready: true, notices: 1 };
    const { stdout } = await run(["wait"], { views: { news } });
    expect(stdout).toBe("1 notice: deaddrop inbox --unread --mark-read\n");
  });

  it("names what is owed, too", async () => {
    const news = { ...NOTHING, ready: true, owed: 1 };
    const { stdout, recording } = await run(["wait", "--for", "owed"], { views: { news } });
    expect(stdout).toBe("1 answer owed: deaddrop pending\n");
    expect(recording.asked).toEqual([{ name: "news", args: { for: "owed" } }]);
  });

  it.each([
    ["any", "all is read"],
    ["urgent", "nothing urgent is unread"],
    ["owed", "you owe no answer"],
  ])("exits 3 when the time is over, for %s", async (what, words) => {
    const { stdout, stderr, exitCode, recording } = await run(
      ["wait", "--timeout", "7", "--for", what],
      { views: { news: NOTHING }, viaDaemon: false },
    );
    expect([exitCode, stdout]).toEqual([3, ""]);
    expect(stderr).toContain(`nothing within 7 s: ${words}`);
    // It looks every two seconds, and no more often.
    expect(recording.ticks).toBeLessThanOrEqual(4);
  });

  it("looks by itself where no daemon runs, and says so once", async () => {
    const news = answers(NOTHING, NOTHING, NEWS);
    const { stdout, stderr, recording } = await run(["wait"], {
      views: { news },
      viaDaemon: false,
    });
    expect(stdout).toContain("3 unread");
    expect(stderr.split("No daemon runs: looking every 2 s.")).toHaveLength(2);
    expect(recording.ticks).toBe(2);
  });

  it("lives through the end of a daemon, and not through a failure that stays", async () => {
    const gone = new DeaddropError("storage", "the daemon ended before it answered");
    const passing = await run(["wait"], { views: { news: answers(gone, gone, NEWS) } });
    expect(passing.exitCode).toBe(0);
    const staying = await run(["wait"], { views: { news: answers(gone) } });
    expect(staying.exitCode).toBe(6);
    const refused = new DeaddropError("config", "no such wire");
    expect((await run(["wait"], { views: { news: answers(refused) } })).exitCode).toBe(2);
  });
});
