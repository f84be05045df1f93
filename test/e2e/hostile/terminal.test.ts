import { spawnSync } from "node:child_process";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { composeLine, type ChainHead } from "../../../src/wire/compose.ts";
import { makeSigner } from "../../../src/wire/signature.ts";
import {
  makeWire,
  removeWires,
  WIRE_ID,
  type LiveWire,
} from "../../support/processes/live-wire.ts";
import { BIN, until } from "../../support/processes/real-processes.ts";

const COLUMNS = 60;
const WHY_NOT = spawnSync("tmux", ["-V"]).status === 0 ? undefined : "tmux is not installed here";
/** The row that a peer would like to begin. */
const FORGED = "f00dbabe12 bob ack 1 s ago";

const servers: string[] = [];
afterEach(async () => {
  for (const name of servers.splice(0)) spawnSync("tmux", ["-L", name, "kill-server"]);
  await removeWires();
});

/** Fillers after which FORGED would be at the beginning of a row, whatever is before them. */
function fillers(): string[] {
  const marks = ["x", "数", "e\u0301", "👩‍👩‍👧", "❤\ufe0f", "\u3000", "⸻", "Ⅷ", "ｱ", "한"];
  return marks.flatMap((mark) =>
    [COLUMNS / 2 - 2, COLUMNS - 4, COLUMNS - 2, COLUMNS].map((count) => mark.repeat(count)),
  );
}

function write(wire: LiveWire, texts: readonly string[]): void {
  const signer = makeSigner("scribe", readFileSync(wire.paths("scribe").identity.key));
  let head: ChainHead | undefined;
  for (const [at, text] of texts.entries()) {
    const subject = Array.from(`${text}${FORGED}`).slice(0, 400).join("");
    const timestamp = new Date(Date.now() - 60_000 + at).toISOString();
    const draft = { to: ["forge"], type: "feedback", subject, body: `${text}${FORGED}\n${FORGED}` };
    const place = { timestamp, wireId: WIRE_ID, head };
    const { id, line } = composeLine(draft, place, signer);
    head = { seq: at + 1, id };
    const bytes = `${Buffer.from(line).toString("utf8")}\n`;
    appendFileSync(join(wire.dir, "scribe_to_forge.jsonl"), bytes);
  }
}

/** What a real terminal shows of a script, from its first row to its last. */
async function shown(wire: LiveWire, script: string): Promise<string[]> {
  const name = `deaddrop-${process.pid}-${servers.length}`;
  servers.push(name);
  const file = join(wire.folder, `${name}.sh`);
  writeFileSync(file, `${script}\necho; echo THE END; sleep 600\n`);
  const size = ["-x", String(COLUMNS), "-y", "50"];
  const tmux = (...args: string[]) =>
    spawnSync("tmux", ["-u", "-L", name, "-f", "/dev/null", ...args], {
      encoding: "utf8",
      env: { ...wire.env, LANG: "C.UTF-8", LC_ALL: "C.UTF-8" },
    });
  const options = ["set-option", "-g", "history-limit", "20000", ";"];
  const began = tmux(...options, "new-session", "-d", ...size, `sh ${file}`);
  expect(began).toMatchObject({ status: 0, stderr: "" });
  const pane = (): string => tmux("capture-pane", "-p", "-S", "-").stdout;
  await until("the script has ended", () => pane().includes("THE END"));
  return pane().split("\n");
}

test("in a real terminal no row begins with a peer's text", async ({ skip }) => {
  skip(WHY_NOT !== undefined, WHY_NOT);
  const wire = makeWire({ handles: ["forge", "scribe"] });
  const texts = fillers();
  write(wire, texts);
  const at = `--wire ${wire.dir} --as forge`;
  const commands = [`inbox --limit 100`, `search ${FORGED.slice(0, 10)} --limit 100`];
  const run = commands.map((each) => `'${process.execPath}' '${BIN}' ${each} ${at}`);
  const rows = await shown(wire, run.join("; "));
  const ids = rows.filter((row) => /^[0-9a-f]{10} scribe feedback /.test(row));
  expect(ids).toHaveLength(commands.length * texts.length);
  // Each row is one of ours: the first of a message, or one that two spaces or more begin.
  const others = rows.filter((row) => !ids.includes(row) && !/^(?: {2}|$|THE END)/.test(row));
  expect(others).toEqual([]);
  expect(rows.filter((row) => row.startsWith(FORGED.slice(0, 10)))).toEqual([]);
  expect(rows.filter((row) => row.includes("│")).length).toBeGreaterThan(texts.length);
});
