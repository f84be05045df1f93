import { fileURLToPath } from "node:url";

/** bin/deaddrop.js of this very program. */
export function programPath(): string {
  return fileURLToPath(new URL("../../bin/deaddrop.js", import.meta.url));
}
