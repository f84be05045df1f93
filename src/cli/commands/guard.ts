import { DeaddropError } from "../../api/errors.ts";
import type { CheckView } from "../../api/views.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { absentNote, projectFiles } from "../../setup/guard/project-files.ts";
import { absolutePath, projectFrom, type Project } from "../../setup/guard/project-paths.ts";
import { define } from "../command.ts";
import { findWire, withClient, type Cli } from "../context.ts";
import { askPaths } from "../guard/ask-paths.ts";
import { behindLine, blockedLines } from "../guard/block-text.ts";
import { readText } from "../guard/read-text.ts";
import { emit, type Paint } from "../output/output.ts";

// `check` runs before each edit, and needs none of this.
const loadHooks = () => import("../guard/manage-hooks.ts");
const loadCheck = () => import("../guard/run-check.ts");

/** May we edit these files now? Spec 3.6, 3.7. */
export const check = define({
  about:
    "Says which paths are in another agent's domain without a decision that covers them, or are " +
    "claimed by another agent. Exits 1 when one is blocked. Needs no git.",
  args: {
    "<path...>": "files, or folders with all files in them; - reads them from standard input",
  },
  examples: [
    "deaddrop check src/api/client.ts src/web",
    "git diff --name-only -z --relative | deaddrop check -",
  ],
  async run(cli, flags, { path: given }) {
    const isPiped = given.length === 1 && given[0] === "-";
    const named = isPiped ? listed(await readText(cli.stdin)) : given;
    const project = projectFrom(findWire(cli, flags), cli.cwd);
    const paths = named.flatMap((path) => pathsInProject(cli, project, path));
    const { view, isRead } = await withClient(cli, flags, async (client) => ({
      view: await askPaths(client, paths),
      isRead: !client.viaDaemon && client.readOnly === undefined,
    }));
    if (isRead) cli.stderr.write("No daemon runs: the logs were read for this.\n");
    // What git lists may be deleted files.
    const absent = isPiped ? undefined : absentNote(project, paths);
    if (absent !== undefined) cli.stderr.write(`${absent}\n`);
    emit(cli, flags, view, (paint) => checkText(view, paint));
    if (view.paths.some(({ verdict }) => verdict === "blocked")) cli.exitCode = 1;
  },
});

/** Hooks of git that ask what `deaddrop check` asks. Spec 3.6. */
export const guard = define({
  about:
    "Guards a git repository: a commit or push that changes another agent's files without a decision, " +
    "or lines of the wire's logs, is blocked. ALLOW_HOTPATH=1 lets it through (ALLOW_HOTPATH_REASON " +
    "says why); that is recorded, and the agents that it concerns are told.",
  examples: ["deaddrop guard install", "deaddrop guard status"],
  bare: "status",
  commands: {
    install: define({
      about: "write the hooks pre-commit and pre-push; hooks that are there run first",
      options: { "--shared": "also in a folder of hooks that several repositories use" },
      run: async (cli, flags) => (await loadHooks()).install(cli, flags),
    }),
    uninstall: define({
      about: "remove them, and put back what was there before",
      run: async (cli, flags) => (await loadHooks()).uninstall(cli, flags),
    }),
    status: define({
      about: "say whether it is installed, who is asked, and the last overrides",
      run: async (cli, flags) => (await loadHooks()).status(cli, flags),
    }),
    check: define({
      about: "what the hooks run: judge what is staged, or with --pre-push what is pushed",
      args: {
        "[remote]": "with --pre-push: its name, as git gives it to the hook",
        "[url]": "its address",
      },
      options: {
        "--pre-push": "read the hook's lines about refs from standard input",
        "--settings <file>": { about: "settings to ask when the wire is gone", isHidden: true },
      },
      run: async (cli, flags) => (await loadCheck()).runCheck(cli, flags),
    }),
  },
});

/** With NUL between them (`-z` of git), else one a line. */
function listed(text: string): string[] {
  return text.split(text.includes("\0") ? "\0" : "\n").filter((path) => path !== "");
}

/** The path, or those of all files in it. Throws DeaddropError ("usage") for what is outside. */
function pathsInProject(cli: Cli, project: Project, given: string): string[] {
  const paths = given === "" ? undefined : projectFiles(project, absolutePath(cli.cwd, given));
  if (paths !== undefined) return paths;
  const { holder, workTree } = project;
  const also = workTree === undefined ? "" : `, nor below ${workTree.top}`;
  throw new DeaddropError("usage", `"${given}" is not in the project`, {
    hint: `give files below ${holder}, which holds the wire${also}`,
  });
}

function checkText(view: CheckView, paint: Paint): string {
  const blocked = view.paths.filter(({ verdict }) => verdict === "blocked");
  const free = view.paths.length - blocked.length;
  const lines = blocked.length > 0 ? blockedLines(blocked, paint) : [];
  const covered = [...new Set(view.paths.flatMap(({ decisions }) => decisions))];
  if (free > 0) lines.push(`${paint("green", "free to edit")}: ${free} of ${view.paths.length}`);
  if (covered.length > 0) {
    lines.push(`by decision: ${covered.map((id) => sanitise(id)).join(", ")}`);
  }
  return [...lines, ...behindLine(view)].join("\n");
}
