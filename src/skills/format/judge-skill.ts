import { isError, type Problem } from "../../plans/plan/problem.ts";
import { quote, UNSAFE } from "../../wire/quote.ts";
import { readFrontMatter, type Field, type FrontMatter } from "./front-matter.ts";
import { referenceProblems } from "./references.ts";
import { nameProblem, type JudgedSkill, type Skill, type SkillFolder } from "./skill.ts";
import { isVersion } from "./write-skill.ts";

const MAX_SKILL_DESCRIPTION = 1_024;
const MAX_COMPATIBILITY = 500;
/** An agent reads all of it each time. */
const MANY_BODY_LINES = 500;

/** Whether a folder is a skill of the open Agent Skills format, and what is odd in it. Spec 7.1. */
export function judgeSkill(folder: SkillFolder): JudgedSkill {
  const refused = folder.refused.map((text) => problem("error", undefined, text));
  const badFolder = nameProblem(folder.name);
  if (badFolder !== undefined) {
    const text = `the folder ${quote(folder.name)}: ${badFolder}`;
    return { folder, skill: undefined, problems: [problem("error", undefined, text), ...refused] };
  }
  if (folder.markdown === undefined) {
    const problems = [...refused, problem("error", undefined, "there is no SKILL.md")];
    return { folder, skill: undefined, problems };
  }
  const front = readFrontMatter(folder.markdown);
  const skill = skillOf(front);
  const problems = [
    ...refused,
    ...front.problems,
    ...(front.problems.some(isError) && front.fields.size === 0
      ? []
      : fieldProblems(folder, front)),
    ...bodyProblems(folder, front),
  ];
  return { folder, skill: problems.some(isError) ? undefined : skill, problems };
}

function skillOf({ fields, body }: FrontMatter): Skill {
  const text = (name: string): string | undefined => {
    const value = fields.get(name)?.value;
    return typeof value === "string" ? value : undefined;
  };
  const metadata = fields.get("metadata")?.value;
  const texts = typeof metadata === "object" ? metadata : new Map<string, string>();
  return {
    name: text("name") ?? "",
    description: text("description")?.trim() ?? "",
    license: text("license"),
    compatibility: text("compatibility"),
    metadata: texts,
    version: texts.get("version"),
    allowedTools: (text("allowed-tools") ?? "").split(/\s+/u).filter((each) => each !== ""),
    body,
  };
}

function fieldProblems({ name: folderName }: SkillFolder, { fields, problems }: FrontMatter) {
  const found: Problem[] = [];
  const error = (field: Field | undefined, text: string): number =>
    found.push(problem("error", field?.line, text));
  // A field that could not be read was told of already.
  const isTold = (name: string): boolean =>
    problems.some(({ text }) => text.startsWith(`"${name}`));
  for (const name of ["name", "description"]) {
    if (!fields.has(name) && !isTold(name)) error(undefined, `the field ${name} is missing`);
  }
  for (const [name, field] of fields) {
    if (field.value === undefined) {
      found.push(problem("warning", field.line, `${quote(name)} is no field of the open format`));
    } else if ((typeof field.value === "string") === (name === "metadata")) {
      error(field, `${name} is to be ${name === "metadata" ? "texts by their names" : "a text"}`);
    } else if (typeof field.value === "string") {
      const wrong = textProblem(name, field.value, folderName);
      if (wrong !== undefined) error(field, wrong);
    } else {
      for (const [key, value] of field.value) {
        const name = `metadata.${quote(key)}`;
        if (unsafeIn(key) || unsafeIn(value)) {
          error(field, `${name} has control characters or signs that nobody sees`);
        } else if (key === "version" && !isVersion(value)) {
          const text = `metadata.version ${quote(value)} is no semantic version such as 1.0.0`;
          found.push(problem("warning", field.line, text));
        }
      }
    }
  }
  const granted = fields.get("allowed-tools");
  if (granted !== undefined) {
    const text = "allowed-tools: in a project's skill it grants permissions without asking";
    found.push(problem("warning", granted.line, text));
  }
  return found;
}

function textProblem(name: string, value: string, folderName: string): string | undefined {
  if (name === "name") {
    if (value !== folderName && nameProblem(value) === undefined) {
      return `the name ${quote(value)} is not that of its folder, ${quote(folderName)}`;
    }
    return nameProblem(value);
  }
  const length = [...value.trim()].length;
  if (unsafeIn(value)) return `${name} has control characters or signs that nobody sees`;
  if (name === "description" && length === 0) return "the description is empty";
  if (name === "description" && length > MAX_SKILL_DESCRIPTION) {
    return `the description has ${length} characters; at most ${MAX_SKILL_DESCRIPTION}`;
  }
  if (name === "compatibility" && (length === 0 || length > MAX_COMPATIBILITY)) {
    return `compatibility has ${length} characters; 1 to ${MAX_COMPATIBILITY} are allowed`;
  }
  return undefined;
}

/** A text may have several lines, and letters that need joiners. */
function unsafeIn(text: string): boolean {
  return text.replaceAll(/[\r\n\t\u200c\u200d]/gu, "").search(UNSAFE) !== -1;
}

function bodyProblems(folder: SkillFolder, { body, linesBefore }: FrontMatter): Problem[] {
  const found: Problem[] = referenceProblems(body, folder.files).map((each) => ({
    ...each,
    line: (each.line ?? 0) + linesBefore,
  }));
  const lines = body.trimEnd().split("\n").length;
  if (body.trim() === "") found.push(problem("warning", linesBefore + 1, "there is no text"));
  if (lines >= MANY_BODY_LINES) {
    const text = `${lines} lines; keep it under ${MANY_BODY_LINES}, and move the rest to references/`;
    found.push(problem("warning", linesBefore + 1, text));
  }
  return found;
}

function problem(level: Problem["level"], line: number | undefined, text: string): Problem {
  return { level, line, column: line === undefined ? undefined : 1, text };
}
