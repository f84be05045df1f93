import { expect, test } from "vitest";
import { headingProblems } from "../../../src/collab/documents/review.ts";

/** As the specification has it, at once. Spec 6.2. */
const PATTERN = /^##\s+.+?\s+-\s+(.+?)\s+-\s+seq\s+(\d+)\s*$/u;

const HEADINGS = [
  "## 2026-11-21T12:00:00Z - bob - seq 3",
  "##  now  -  bob  -  seq  3  ",
  "## a - b - c - seq 3",
  "## now - bob - seq 3 - seq 4",
  "## now - - - seq 3",
  "## - bob - seq 3",
  "## now - seq 3",
  "## now- bob - seq 3",
  "## now -bob - seq 3",
  "## now - bob - seq x",
  "## now - bob - seq3",
  "# now - bob - seq 3",
  "### now - bob - seq 3",
  "##now - bob - seq 3",
  "## now - bob seq 3",
  "## x\t-\tbob\t-\tseq\t3",
  "",
];

test.each(HEADINGS)("%j is a heading where the pattern takes it", (line) => {
  const found = PATTERN.exec(line);
  const said = headingProblems(line, new Map());
  const expected =
    found === null
      ? []
      : [`review.md heading seq ${found[2]} of '${found[1]}' has no review_submitted event`];
  expect(said).toEqual(expected);
});
