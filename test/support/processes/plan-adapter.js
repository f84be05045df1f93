// Works at a step of a plan as a test says it: `behaviour.json` in the working folder has a word for
// each step, `worked.log` gets a line for each time that a step was worked at.
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

let input = "";
for await (const chunk of process.stdin) input += chunk;
const { step, attempt, plan_id: planId } = JSON.parse(input);
const behaviours = existsSync("behaviour.json")
  ? JSON.parse(readFileSync("behaviour.json", "utf8"))
  : {};
// From now on a test may write another one.
appendFileSync("worked.log", `${planId} ${step.id} ${attempt}\n`);
const [word, ...others] = (behaviours[step.id] ?? "success").split(" ");
const artifacts = step.files.slice(0, 1).map((file) => ({ file, status: "changed" }));
const report = { outcome: "success", details: `did ${step.id}`, artifacts };

switch (word) {
  case "meet":
    // Ends when the others have begun, too.
    writeFileSync(`begun-${step.id}`, "");
    while (!others.every((other) => existsSync(`begun-${other}`))) await pause(20);
    break;
  case "alone":
    // Fails when another one is there.
    mkdirSync("alone");
    await pause(300);
    rmdirSync("alone");
    break;
  case "fail-once":
    if (attempt === 1) Object.assign(report, { outcome: "failure", error: "one test fails" });
    break;
  case "fail":
    Object.assign(report, { outcome: "failure", error: "all tests fail" });
    break;
  case "hang":
    while (!existsSync("go-on")) await pause(20);
    break;
  case "outside":
    artifacts.push({ file: "package.json", status: "changed" });
    break;
}
console.log(JSON.stringify(report));
