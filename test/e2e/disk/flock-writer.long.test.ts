import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { afterEach, describe, expect, it, type TestContext } from "vitest";
import type { ArchiveAnswer } from "../../../src/api/client.ts";
import { start, until } from "../../support/processes/real-processes.ts";
import { makeWire, removeWires, type LiveWire } from "../../support/processes/live-wire.ts";

const LINES = 150;
/**
 * As the Python reference appends: under `fcntl.flock`, after healing an unterminated tail. Python
 * writes a long line in two pieces, 8 KiB and the rest; here with a pause between. Arguments: log, how many, longest line.
 */
const PYTHON_WRITER = `
import fcntl, json, os, sys, time
path, count, longest = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for n in range(1, count + 1):
    with open(path, "a+b") as log:
        fcntl.flock(log, fcntl.LOCK_EX)
        size = log.seek(0, os.SEEK_END)
        if size > 0:
            log.seek(size - 1)
            if log.read(1) != b"\\n":
                log.write(b"\\n")
        line = json.dumps({"by": "hand", "n": n, "text": "x" * ((n * 977) % longest)})
        line += "\\n"
        for piece in [line[:8192], line[8192:]]:
            if piece:
                log.write(piece.encode())
                log.flush()
                time.sleep(0.003 if len(line) > 8192 else 0)
        os.fsync(log.fileno())
`;
/** As a shell does it: flock(1), and one write a line. */
const SHELL_WRITER = `
for n in $(seq 1 "$1"); do
  flock "$0" sh -c "echo '{\\"by\\":\\"hand\\",\\"n\\":'$n'}' >> '$0'"
done`;

interface Way {
  readonly name: string;
  readonly needs: string;
  readonly command: (log: string) => [string, ...string[]];
}
const WAYS: readonly Way[] = [
  {
    name: "python3, fcntl.flock, short lines",
    needs: "python3",
    command: (log) => ["python3", "-c", PYTHON_WRITER, log, String(LINES), "2000"],
  },
  {
    name: "python3, fcntl.flock, long lines in two writes",
    needs: "python3",
    command: (log) => ["python3", "-c", PYTHON_WRITER, log, String(LINES), "60000"],
  },
  {
    name: "flock(1)",
    needs: "flock",
    command: (log) => ["sh", "-c", SHELL_WRITER, log, String(LINES)],
  },
];

function requireProgram({ skip }: TestContext, program: string): void {
  const found = spawnSync("sh", ["-c", `command -v ${program}`]).status === 0;
  if (!found) skip(`${program} is not installed`);
}

/** Sends for as long as the other program writes; the ids that were answered. */
async function sendMeanwhile(wire: LiveWire, isOver: () => boolean): Promise<string[]> {
  const { openWire } = await import("../../../src/library/open-wire.ts");
  const forge = await openWire(wire.dir, { as: "forge", env: wire.env });
  const answered: string[] = [];
  for (let at = 1; !isOver() || at <= 50; at += 1) {
    const body = { at, text: "y".repeat((at * 389) % 3_000) };
    const { messages } = await forge.send({
      to: ["scribe"],
      type: "feedback",
      subject: "us",
      body,
    });
    answered.push(...messages.map(({ event_id }) => event_id));
  }
  forge.close();
  return answered;
}

/** What begins this year is archived again and again. */
async function closeYears(wire: LiveWire, isOver: () => boolean): Promise<void> {
  const year = String(new Date().getUTCFullYear());
  let archived = 0;
  // The last time is when the other one has ended, and keeps nothing locked.
  for (let isLast = false; !isLast;) {
    isLast = isOver();
    const { code, stdout } = await wire.run("forge", "archive", "--year", year, "--json");
    // 6: the other program had it locked, which is told. 3: the daemon was too busy to answer.
    expect([0, 3, 6]).toContain(code);
    if (code === 3) continue;
    const { files } = JSON.parse(stdout) as ArchiveAnswer;
    archived += files.filter(({ outcome }) => outcome === "archived").length;
  }
  expect(archived).toBeGreaterThan(0);
}

describe("another program appends to our own log at the same time", () => {
  afterEach(removeWires);

  const ways = WAYS.flatMap((way) => [
    { ...way, isYearClosed: false },
    { ...way, name: `${way.name}, while the year is closed`, isYearClosed: true },
  ]);
  for (const { name, needs, command, isYearClosed } of ways) {
    it(`${name}: nothing torn, nothing lost on either side`, async (context) => {
      requireProgram(context, needs);
      const wire = makeWire({ cadenceSeconds: 2 });
      const daemons = [await wire.daemon("forge"), await wire.daemon("scribe")];
      const [program, ...args] = command(join(wire.dir, "forge_to_scribe.jsonl"));
      const other = start(program, args, { env: wire.env });
      const isOver = () => other.child.exitCode !== null;
      const closing = isYearClosed ? closeYears(wire, isOver) : undefined;
      const answered = await sendMeanwhile(wire, isOver);
      await closing;
      const { code, stderr } = await other.ended;
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });

      const inbox = () => wire.privateLines("scribe", "inbox").map(({ event_id }) => event_id);
      await until("all of ours is delivered", () => inbox().length >= answered.length);
      await Promise.all(daemons.map((daemon) => daemon.stop()));
      expect(inbox()).toEqual(answered);
      const lines = wire.lines("forge_to_scribe.jsonl");
      const ours = lines.filter(({ seq }) => seq !== undefined).map(({ seq }) => seq);
      expect(ours).toEqual(Array.from({ length: ours.length }, (_, index) => index + 1));
      const theirs = lines.filter((line) => line["by"] === "hand").map((line) => line["n"]);
      expect(theirs).toEqual(Array.from({ length: LINES }, (_, index) => index + 1));
    });
  }
});
