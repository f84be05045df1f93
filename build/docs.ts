// `npm run docs`: writes what documents and schemas repeat of the sources. A test compares them.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { format, resolveConfig } from "prettier";
import { SETTINGS } from "../src/agent/config/settings.ts";
import { REFUSAL_REMEDIES, TROUBLES, type TroubleRow } from "../src/api/troubles.ts";
import { LIMITS } from "../src/wire/limits.ts";
import { viewsMarkdown } from "./views.ts";

const ROOT = join(import.meta.dirname, "..");
const SCHEMA = "schemas/config.json";
const SETTINGS_PAGE = "docs/settings.md";
const TROUBLES_PAGE = "docs/troubles.md";
const VIEWS_PAGE = "docs/views.md";

const ARCHITECTURE_PAGE = "docs/architecture.md";

const FILES = {
  [ARCHITECTURE_PAGE]: () => fill(read(ARCHITECTURE_PAGE), "rooms", roomsTable()),
  [SCHEMA]: () => JSON.stringify(configSchema()),
  [SETTINGS_PAGE]: () => settingsPage(configSchema()),
  [TROUBLES_PAGE]: troublesPage,
  [VIEWS_PAGE]: () => fill(read(VIEWS_PAGE), "views", viewsMarkdown()),
};

/** The text of a generated file, by its path in the repository. */
export async function generate(path: keyof typeof FILES): Promise<string> {
  const config = await resolveConfig(join(ROOT, "package.json"));
  return format(FILES[path](), { ...config, filepath: path });
}

interface Schema {
  readonly description?: string;
  readonly type?: string;
  readonly default?: unknown;
  properties?: Record<string, Schema>;
}

/** The schema of config.json, with the limits as the program has them. */
function configSchema(): Schema {
  const schema = JSON.parse(read(SCHEMA)) as Schema;
  const limits = Object.entries(LIMITS).map(([name, limit]) => {
    const { about: description, least: minimum, most: maximum, default: byDefault } = limit;
    return [name, { description, type: "integer", minimum, maximum, default: byDefault }] as const;
  });
  const section = schema.properties?.["limits"];
  if (section !== undefined) section.properties = Object.fromEntries(limits);
  return schema;
}

function settingsPage(schema: Schema): string {
  const settings = Object.entries(SETTINGS).map(([name, setting]) => [
    ...[`\`${name}\``, setting.type, `\`${JSON.stringify(setting.default)}\``],
    ...["unit" in setting ? setting.unit : "", setting.changedBy, setting.about],
  ]);
  const limits = Object.entries(LIMITS).map(([name, limit]) => [
    ...[`\`limits.${name}\``, `a whole number from ${limit.least} to ${limit.most}`],
    ...[`\`${limit.default}\``, limit.unit, limit.about],
  ]);
  const policy = policyRows(schema.properties ?? {}).filter(([name]) => !name?.includes("limits"));
  const page = fill(
    read(SETTINGS_PAGE),
    "settings",
    table([["setting", "value", "default", "unit", "changed by", "meaning"], ...settings]),
  );
  const head = ["key", "value", "default", "unit", "meaning"];
  return fill(page, "policy", table([head, ...policy, ...limits]));
}

function roomsTable(): string {
  const rows = Object.entries(JSON.parse(read("build/rooms.json")) as Record<string, Room>).map(
    ([name, { about, imports, pure }]) => {
      const folders = pure?.folders === undefined ? "" : `: ${pure.folders.join(", ")}`;
      const words = pure === undefined ? about : `${about} (pure${folders})`;
      const others = imports.includes("*") ? "every other room" : imports.join(", ");
      return [`\`${name}/\``, words, others === "" ? "nothing of ours" : others];
    },
  );
  return table([["room", "is about", "imports"], ...rows]);
}

interface Room {
  readonly about: string;
  readonly imports: readonly string[];
  readonly pure?: { readonly folders?: readonly string[] };
}

function troublesPage(): string {
  const troubles = Object.entries<TroubleRow>(TROUBLES).map(([code, row]) => {
    const { severity = "error", audience = "operator", title, detail, behind = [] } = row;
    return [
      ...[`\`${code}\``, severity, audience === "both" ? "agent, operator" : audience],
      ...[
        [title, detail],
        [row.end, row.operatorEnd],
      ].map((texts) =>
        texts.flatMap((text) => (text === undefined ? [] : [placeholders(text)])).join("; "),
      ),
      behind.map((other) => `\`${other}\``).join(", "),
    ];
  });
  const refusals = Object.entries(REFUSAL_REMEDIES).map(([reason, remedy]) => [
    ...[`\`${reason}\``, placeholders(remedy)],
  ]);
  const columns = ["code", "severity", "for", "what it says", "what ends it", "explained by"];
  const page = fill(read(TROUBLES_PAGE), "troubles", table([columns, ...troubles]));
  return fill(page, "refusals", table([["reason", "what to do"], ...refusals]));
}

/** Facts of the occasion as a reader of documents knows them. */
function placeholders(text: string): string {
  return text.replaceAll(/\{(\w+)\}/gu, "_$1_").replaceAll("|", "\\|");
}

const TYPES: Readonly<Record<string, string>> = {
  array: "a list of agents",
  boolean: "true or false",
  integer: "a whole number",
  object: "an object",
  string: "text",
};

/** A row for each key of config.json, nested ones by their path. */
function policyRows(properties: Record<string, Schema>, prefix = ""): string[][] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    if (schema.properties !== undefined) return policyRows(schema.properties, `${prefix}${name}.`);
    const byDefault = schema.default === undefined ? "" : `\`${JSON.stringify(schema.default)}\``;
    const type = TYPES[schema.type ?? ""] ?? "";
    return [[`\`${prefix}${name}\``, type, byDefault, "", schema.description ?? ""]];
  });
}

/** Replaces what is between the comments `begin NAME` and `end NAME`. */
function fill(text: string, name: string, content: string): string {
  const block = new RegExp(`(<!-- begin ${name}\\b.*-->\n)[^]*?(<!-- end ${name} -->)`);
  if (!block.test(text)) throw new Error(`there is no place for ${name}`);
  return text.replace(block, (_, begin, end) => `${begin}\n${content}\n\n${end}`);
}

function table(rows: readonly (readonly string[])[]): string {
  const [head = [], ...others] = rows;
  const all = [head, head.map(() => "-"), ...others];
  return all.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

if (process.argv[1] === import.meta.filename)
  for (const path of Object.keys(FILES) as (keyof typeof FILES)[])
    writeFileSync(join(ROOT, path), await generate(path));
