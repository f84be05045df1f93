import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

// The commands are bundled into dist/commands: this file has to be as deep in dist/.
const ROOT = new URL("../../", import.meta.url);

/** bin/deaddrop.js of this very program. */
export function programPath(): string {
  return fileURLToPath(new URL("bin/deaddrop.js", ROOT));
}

/** A part of the plugins that `integrate` writes: `hook`, or the adapter of a tool. */
export function pluginPath(part: string): string {
  return fileURLToPath(new URL(`plugins/${part}.js`, ROOT));
}

/** The skill that teaches agents how to use a wire. */
export function skillPath(): string {
  return fileURLToPath(new URL("skills/deaddrop/SKILL.md", ROOT));
}

/** What `skills init` writes into a project: skills, and the other parts of agent/. */
export function shippedFolders(): { readonly skills: string; readonly agent: string } {
  return {
    skills: fileURLToPath(new URL("skills", ROOT)),
    agent: fileURLToPath(new URL("agent", ROOT)),
  };
}

/** A published schema. */
export function schemaPath(name: string): string {
  return fileURLToPath(new URL(`schemas/${name}.json`, ROOT));
}

/** tiers.json as it is published with the program. Spec 4.9. */
export function shippedTiersText(): string {
  return readFileSync(new URL("tiers.json", ROOT), "utf8");
}

/** Version of this program, from its own package.json. */
export function version(): string {
  const text = readFileSync(new URL("package.json", ROOT), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

/**
 * Options of Node.js for a daemon: without this one, a SIGUSR1 that arrives while Node itself starts opens
 * the debugger. Node 22.14 and 23.7 have it; others refuse to start with it.
 */
export function daemonNodeOptions(): readonly string[] {
  const option = "--disable-sigusr1";
  return process.allowedNodeEnvironmentFlags.has(option) ? [option] : [];
}
