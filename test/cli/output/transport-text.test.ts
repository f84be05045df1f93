import { expect, test } from "vitest";
import type { TransportView } from "../../../src/api/transport.ts";
import { transportText } from "../../../src/cli/output/text.ts";

const NOW_MS = Date.parse("2026-11-21T12:00:00Z");
const VIEW: TransportView = {
  ...{ kind: "git", remote: "/srv/wire.git", branch: "main", is_mover: true, waiting: 0 },
  ...{ fetched_at: "2026-11-21T11:59:55Z", pushed_at: null, problem: null },
};
const ROW = "Remote  /srv/wire.git (main), fetched 5 s ago";

test.each<[string, Partial<TransportView>, string[]]>([
  ["all is pushed", {}, [`${ROW}, all pushed`]],
  ["files wait", { waiting: 3 }, [`${ROW}, 3 files to be pushed`]],
  [
    "a file waits, and the remote is gone",
    {
      waiting: 1,
      problem: { code: "no_remote", detail: "it is gone", hint: "check the URL", since: "" },
    },
    [`${ROW}, 1 file to be pushed`, "it is gone → check the URL"],
  ],
])("status says of the remote when %s", (_name, change, rows) => {
  const text = transportText({ ...VIEW, ...change }, NOW_MS, (_style, plain) => plain);
  expect(text.split("\n")).toEqual(rows);
});
