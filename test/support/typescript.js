import * as nodeModule from "node:module";
import { loadTypeScript, resolveWithRun } from "./typescript-hooks.js";

/**
 * Lets Node run our TypeScript as it stands, for the long runs that a test runner would slow down:
 * `node --import ./test/support/typescript.js test/simulator/main.ts`. Node.js 20 has no `registerHooks`,
 * and Node.js 26 warns about `register`.
 */
if (nodeModule.registerHooks !== undefined && process.features.typescript) {
  nodeModule.registerHooks({ resolve: resolveWithRun, load: loadTypeScript });
} else {
  nodeModule.register("./typescript-hooks.js", import.meta.url);
}
