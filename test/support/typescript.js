import { register } from "node:module";

/**
 * Lets Node run our TypeScript as it stands, for the long runs that a test runner would slow down:
 * `node --import ./test/support/typescript.js test/simulator/main.ts`.
 */
register("./typescript-hooks.js", import.meta.url);
