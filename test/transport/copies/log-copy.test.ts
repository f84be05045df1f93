import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { LogComparison } from "../../../src/transport/copies/log-copy.ts";
import { MemoryDisk } from "../../support/disk/memory-disk.ts";

const PATH = "/wire/log.jsonl";

/** The copy after what the remote has was brought, in chunks of that size. */
function bring(local: string | undefined, remote: string, chunk = 7) {
  const disk = new MemoryDisk().process();
  disk.makeFolder("/wire", 0o700);
  const copy = disk.open(PATH, "append", 0o600);
  copy.append(Buffer.from(local ?? "", "latin1"));
  const source = local === undefined ? undefined : disk.open(PATH, "read");
  const comparison = new LogComparison(source, (bytes) => copy.append(bytes));
  const bytes = Buffer.from(remote, "latin1");
  for (let at = 0; at < bytes.length; at += chunk) comparison.feed(bytes.subarray(at, at + chunk));
  const lacking = comparison.end();
  const after = Buffer.from(copy.read(copy.stat().size, 0)).toString("latin1");
  return { after, lacking };
}

describe("a copy of a log", () => {
  it.each([
    ["is made where there is none", undefined, "a\nb\n", "a\nb\n"],
    ["gets what follows", "a\n", "a\nb\nc\n", "a\nb\nc\n"],
    ["waits for the end of a line", "a\n", "a\nb\nc", "a\nb\n"],
    ["stays as it is when the remote is older", "a\nb\n", "a\n", "a\nb\n"],
    ["stays as it is when it is the same", "a\nb\n", "a\nb\n", "a\nb\n"],
    ["stays as it is when the remote is empty", "a\n", "", "a\n"],
    ["gets the end of a line that a crash has cut", "a\nbb", "a\nbbb\nc\n", "a\nbbb\nc\n"],
    ["ends a torn line that is none of the remote's", "a\nxx", "a\nbb\n", "a\nxx\nbb\n"],
    ["gets both sides of a fork", "a\nb\nc\n", "a\nX\nc\nd\n", "a\nb\nc\nX\nd\n"],
    [
      "gets no line twice where a merge has changed the order",
      "a\nb\nc\n",
      "b\na\nc\nd\n",
      "a\nb\nc\nd\n",
    ],
    ["takes lines without a CR that git has added", "a\nb\n", "a\r\nb\r\nc\r\n", "a\nb\nc\n"],
    ["keeps what a fork of one letter has", "aa\n", "ab\n", "aa\nab\n"],
  ])("%s", (_what, local, remote, after) => {
    for (const chunk of [1, 2, 3, 64]) expect(bring(local, remote, chunk).after).toBe(after);
  });

  it("says when line ends were converted, and when the two are no beginning of each other", () => {
    expect(bring("a\n", "a\r\nb\r\n").lacking).toEqual({
      ...{ isConverted: true, isCut: false, isSuffix: false, lines: 1 },
    });
    expect(bring("a\n", "a\nb\n").lacking).toEqual({
      ...{ isConverted: false, isCut: false, isSuffix: true, lines: 1 },
    });
  });

  it("passes over a line that is too long, and takes what follows it", () => {
    const long = "x".repeat(2_200_000);
    expect(bring("a\n", `a\n${long}\nb\n`, 65_536).after).toBe("a\nb\n");
    const again = bring("a\nb\n", `a\n${long}\nb\nc\n`, 65_536);
    expect(again.after).toBe("a\nb\nc\n");
  });
});

test("a copy only grows, by whole lines that it lacked, and a second look finds nothing", () => {
  const line = fc.constantFrom("a", "b", "cc", "dd", "eee", "a\r", "", "ff");
  const text = fc
    .tuple(fc.array(line, { maxLength: 8 }), fc.constantFrom("", "a", "e", "zz"))
    .map(([lines, tail]) => lines.map((each) => `${each}\n`).join("") + tail);
  fc.assert(
    fc.property(
      text,
      text,
      fc.boolean(),
      fc.integer({ min: 1, max: 9 }),
      (one, two, joins, chunk) => {
        const remote = joins ? one + two : two;
        const { after } = bring(one, remote, chunk);
        expect(after.startsWith(one)).toBe(true);
        const added = after.slice(one.length);
        if (added !== "") expect(after.endsWith("\n")).toBe(true);
        const theirs = new Set(wholeLines(remote));
        const known = new Set(wholeLines(after));
        for (const each of theirs) expect(known.has(each) || each === "").toBe(true);
        expect(bring(after, remote, chunk).after).toBe(after);
      },
    ),
    { numRuns: 2_000 },
  );
});

function wholeLines(text: string): string[] {
  return text
    .split("\n")
    .slice(0, -1)
    .map((each) => each.replace(/\r$/, ""));
}
