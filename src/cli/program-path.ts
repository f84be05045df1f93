import { fileURLToPath } from "node:url";

/** bin/deaddrop.js of this very program. */
export function programPath(): string {
  return fileURLToPath(new URL("../../bin/deaddrop.js", import.meta.url));
}

/** A part of the plugins that `integrate` writes: `hook`, or the adapter of a tool. */
export function pluginPath(part: string): string {
  return fileURLToPath(new URL(`../../plugins/${part}.js`, import.meta.url));
}

/** The skill that teaches agents how to use a wire. */
export function skillPath(): string {
  return fileURLToPath(new URL("../../skills/deaddrop/SKILL.md", import.meta.url));
}

/** What `skills init` writes into a project: skills, and the other parts of agent/. */
export function shippedFolders(): { readonly skills: string; readonly agent: string } {
  return {
    skills: fileURLToPath(new URL("../../skills", import.meta.url)),
    agent: fileURLToPath(new URL("../../agent", import.meta.url)),
  };
}

/** A published schema. */
export function schemaPath(name: string): string {
  return fileURLToPath(new URL(`../../schemas/${name}.json`, import.meta.url));
}

/**
 * Options of Node.js for a daemon: without this one, a SIGUSR1 that arrives while Node itself starts opens
 * the debugger. Node 22.14 and 23.7 have it; others refuse to start with it.
 */
export function daemonNodeOptions(): readonly string[] {
  const option = "--disable-sigusr1";
  return process.allowedNodeEnvironmentFlags.has(option) ? [option] : [];
}
