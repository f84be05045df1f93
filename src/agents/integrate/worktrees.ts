import { mainCheckoutOf, projectOf } from "../../setup/here/project.ts";
import type { ToolTrouble } from "./integration.ts";
import type { Written } from "./record.ts";

/** A worktree has no copy of files that git ignores, and Codex takes those of the main checkout. Spec 8.3. */
export function unjoinedWorktree(written: Written, cwd: string): ToolTrouble[] {
  const root = projectOf(cwd);
  const main = mainCheckoutOf(root);
  if (main === undefined) return [];
  const files = Object.entries(written.files).map(([path, { users }]) => ({
    path,
    tools: users.map((user) => user.split(" ")[0] ?? ""),
    isUser: users.some((user) => user.endsWith(" user")),
  }));
  const isIn = (folder: string) => (path: string) => path.startsWith(`${folder}/`);
  const toolsOf = (keeps: (path: string) => boolean) =>
    new Set(files.filter(({ path }) => keeps(path)).flatMap(({ tools }) => tools));
  const here = toolsOf(isIn(root));
  const always = new Set(files.filter(({ isUser }) => isUser).flatMap(({ tools }) => tools));
  const inMain = toolsOf((path) => isIn(main)(path) && !isIn(root)(path));
  return [...inMain]
    .filter((tool) => !here.has(tool) && !always.has(tool))
    .map((tool) => ({
      problem: `${root} is a worktree of ${main}: ${tool} is joined there and not here, so its sessions here get no mail`,
      fix:
        tool === "codex"
          ? `codex takes the hooks of a project from its main checkout: deaddrop integrate codex --scope user, and deaddrop as <you> in ${root}; or work in a clone`
          : `join it here: cd ${root} && deaddrop integrate ${tool}`,
    }));
}
