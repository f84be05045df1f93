// An adapter without a model: it prints the answer that lies in `answers/` for the task. Another one reads the
// same JSON object on its standard input, asks its tool, and prints a plan or a report.
import { readFileSync } from "node:fs";
import { join } from "node:path";

const [, , folder = ""] = process.argv;
const { name } = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(readFileSync(join(folder, "answers", `${name}.txt`), "utf8"));
