import type { Client } from "../../api/client.ts";
import type { CheckView } from "../../api/views.ts";

/** What one request asks about: below the daemon's limit on a request, for any number of usual paths. */
const MAX_ASKED_BYTES = 4 * 1_048_576;

/** The verdict on paths of the project: one request, unless they are very many. Spec 3.6. */
export async function askPaths(client: Client, paths: readonly string[]): Promise<CheckView> {
  const [first = [], ...others] = inRequests(paths);
  const answer = await client.view("check", { paths: first });
  for (const each of others) {
    const { behind, paths: more } = await client.view("check", { paths: each });
    answer.paths.push(...more);
    answer.behind = [...new Set([...answer.behind, ...behind])];
  }
  return answer;
}

function inRequests(paths: readonly string[]): string[][] {
  const requests: string[][] = [[]];
  let bytes = 0;
  for (const path of paths) {
    bytes += 4 * path.length;
    if (bytes > MAX_ASKED_BYTES) {
      requests.push([]);
      bytes = 4 * path.length;
    }
    requests.at(-1)?.push(path);
  }
  return requests;
}
