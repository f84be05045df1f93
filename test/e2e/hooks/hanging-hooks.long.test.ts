import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import {
  CODING_TOOLS,
  toolOrSkip,
  type CodingTool,
} from "../../support/processes/coding-tool-cache.ts";
import { CALLED } from "../../support/processes/coding-tools.ts";
import { makeWire, removeWires } from "../../support/processes/live-wire.ts";
import { BIN } from "../../support/processes/real-processes.ts";
import {
  endProcesses,
  integrate,
  makeProjects,
  runAlone,
  whoWasNamed,
} from "../../support/processes/tool-terminals.ts";

// A `deaddrop` whose hooks never end, or crash: in each tool that costs the tool's own limit for a hook,
// and nothing else.

/** No person has opened the tool here before. */
const UNREVIEWED: { readonly [T in CodingTool]?: readonly string[] } = {
  codex: ["--dangerously-bypass-hook-trust"],
};

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) endProcesses(folder, /^tail /u);
  await removeWires();
});

describe.each(CODING_TOOLS)("%s", (tool) => {
  test("a turn goes on beside hooks that hang and hooks that crash", async ({ skip }) => {
    const found = await toolOrSkip(tool, skip);
    const wire = makeWire({
      ...{ cadenceSeconds: 5, deadlineSeconds: 3_600 },
      env: (home) => ({ PATH: `${join(home, "..", "bin")}:${process.env["PATH"]}` }),
    });
    folders.push(wire.folder);
    const bin = join(wire.folder, "bin");
    const [program, ran] = [join(bin, "deaddrop"), join(bin, "ran")];
    mkdirSync(bin);
    symlinkSync(BIN, program);
    await wire.daemon("forge");
    const [at] = await makeProjects(found, wire, { names: ["project"] });
    if (at === undefined) throw new Error("no project was made");
    await integrate(at, wire, "forge");

    rmSync(program);
    writeFileSync(program, faulty(ran));
    chmodSync(program, 0o755);
    at.script("who", [`@@call ${CALLED[tool]("whoami")} {}`, "@@say done"]);
    const ended = await runAlone(at, "@@script who", UNREVIEWED[tool]);
    expect(ended.code, ended.stderr).toBe(0);
    const requests = at.requests();
    expect(requests.length).toBeGreaterThanOrEqual(2);
    expect(whoWasNamed(requests)).toBe("forge");
    // They did run.
    expect(existsSync(ran)).toBe(true);
    const events = readFileSync(ran, "utf8").trim().split("\n");
    expect(events).toContain("hangs");
    expect(events).toContain("crashes");
  });
});

/** All of it works but the hooks: those before a prompt hang, the others crash. */
function faulty(ran: string): string {
  return `#!/bin/sh
case "$1 $*" in
  *--wait*) ;;
  hook*)
    if grep -q 'UserPromptSubmit\\|BeforeAgent'; then
      echo hangs >> ${ran}
      exec tail -f ${ran}
    fi
    echo crashes >> ${ran}
    echo '{"decision":"block","reason":"half an' 
    kill -SEGV $$ ;;
esac
exec ${process.execPath} ${BIN} "$@"
`;
}
