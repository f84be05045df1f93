import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** The version of a program of PATH: undefined, there is none; "", it was not asked. Nothing is run. */
export function programsHere(env: NodeJS.ProcessEnv): (program: string) => string | undefined {
  const folders = (env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return (program) => {
    if (program === "node") return process.versions.node;
    return folders.some((folder) => isExecutable(join(folder, program))) ? "" : undefined;
  };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false; // whatever the reason is, it cannot be run from here
  }
}
