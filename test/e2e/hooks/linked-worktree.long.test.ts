import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import { toolOrSkip } from "../../support/processes/coding-tool-cache.ts";
import { CALLED } from "../../support/processes/coding-tools.ts";
import { makeWire, removeWires } from "../../support/processes/live-wire.ts";
import { BIN, start, until } from "../../support/processes/real-processes.ts";
import {
  endBackground,
  HABITS,
  makeProjects,
  openTool,
  whoWasNamed,
  type ToolProject,
} from "../../support/processes/tool-terminals.ts";

// Codex takes the hooks of a linked work tree from the main one. One agent in each: the main one with
// files of its own, the linked one with those of the person for all folders.

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) endBackground(folder);
  await removeWires();
});

describe.each([
  ["without its background process", HABITS.codex.args],
  ["with its background process, which the other session has started", []],
])("codex %s", (_name, args) => {
  test("in a linked work tree is the agent of that folder", async ({ skip }) => {
    const found = await toolOrSkip("codex", skip);
    const handles = ["forge", "scribe", "mason"];
    const wire = makeWire({ handles, cadenceSeconds: 5, deadlineSeconds: 3_600 });
    folders.push(wire.folder);
    for (const agent of ["forge", "scribe"]) {
      await wire.daemon(agent);
      const sent = await wire.run("mason", "send", "a note", "of mine", "--to", agent);
      expect(sent, sent.stderr).toMatchObject({ code: 0 });
      await until("it was delivered", () => wire.privateLines(agent, "inbox").length > 0);
    }
    const projects = await makeProjects(found, wire, { names: ["main", "linked"] });
    const [main, linked] = projects as [ToolProject, ToolProject];
    rmSync(linked.folder, { recursive: true });
    execFileSync("git", ["-C", main.folder, "worktree", "add", "--quiet", linked.folder]);
    const deaddrop = async (at: ToolProject, ...words: readonly string[]): Promise<void> => {
      const call = [BIN, ...words, "--wire", wire.dir];
      const ended = await start(process.execPath, call, { env: at.env, cwd: at.folder }).ended;
      expect(ended.code, ended.stderr).toBe(0);
    };
    await deaddrop(main, "integrate", "codex", "--yes", "--as", "forge");
    await deaddrop(linked, "integrate", "codex", "--yes", "--as", "scribe", "--scope", "user");

    for (const [at, agent] of [
      [main, "forge"],
      [linked, "scribe"],
    ] as const) {
      at.script("who", [`@@call ${CALLED.codex("whoami")} {}`, "@@say done"]);
      // In the main one all hooks were reviewed, those of the person too.
      const terminal = await openTool(at, { args: [...args], isApproved: at === linked });
      const before = at.requests().length;
      await terminal.type("@@script who");
      terminal.key("Enter");
      const isTold = () => whoWasNamed(at.requests().slice(before)) !== undefined;
      await until(`${agent} was told who it is`, isTold);
      const requests = at.requests().slice(before);
      expect(whoWasNamed(requests)).toBe(agent);
      const named = requests.flatMap(({ news }) => news.match(/[\w-]+(?= has \d+ unread)/gu) ?? []);
      expect([...new Set(named)]).toEqual([agent]);
      await terminal.quit();
    }
  });
});
