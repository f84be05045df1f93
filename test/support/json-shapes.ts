import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

const ROOT = join(import.meta.dirname, "..", "..");
/** No file: holds the types that are asked for, beside tsconfig.json. */
const ASKED = join(ROOT, "asked-shapes.ts");
const MAX_DEPTH = 32;

/** Compares JSON with types as they are declared in the sources. */
export interface Shapes<Name extends string> {
  /** What departs from the type: a line for each place. A field that is not declared departs too. */
  problems(name: Name, json: unknown): string[];
}

/**
 * `types`: a type expression for each name; relative imports in it begin at the project's folder,
 * e.g. `import("./src/api/views.ts").KeysView`.
 */
export function declaredShapes<Name extends string>(
  types: Readonly<Record<Name, string>>,
): Shapes<Name> {
  const { checker, typeOf } = declared(types);

  function compare(type: ts.Type, value: unknown, at: string, depth = 0): string[] {
    if (depth > MAX_DEPTH) return [`${at}: nested too deep`];
    if (type.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) return [];
    if (type.isUnion()) return compareUnion(type, value, at, depth);
    if (checker.isArrayType(type)) return compareList(type, value, at, depth);
    if (isPrimitive(type)) {
      return isOf(type, value) ? [] : [`${at}: ${show(value)} is no ${checker.typeToString(type)}`];
    }
    if (checker.isTupleType(type)) return compareTuple(type, value, at, depth);
    return compareObject(type, value, at, depth);
  }

  function compareUnion(type: ts.UnionType, value: unknown, at: string, depth: number): string[] {
    const answers = type.types.map((each) => compare(each, value, at, depth));
    if (answers.some((problems) => problems.length === 0)) return [];
    const others = type.types.filter((each) => !isPrimitive(each));
    const [only] = others;
    // The one that can be meant says more than "none of them".
    if (others.length === 1 && only !== undefined && typeof value === "object" && value !== null) {
      return compare(only, value, at, depth);
    }
    return [`${at}: ${show(value)} is none of ${checker.typeToString(type)}`];
  }

  function compareList(type: ts.Type, value: unknown, at: string, depth: number): string[] {
    if (!Array.isArray(value)) return [`${at}: ${show(value)} is no list`];
    const [element] = checker.getTypeArguments(type as ts.TypeReference);
    if (element === undefined) throw new Error(`${at}: a list of what?`);
    return value.flatMap((item) => compare(element, item, `${at}[]`, depth + 1));
  }

  function compareTuple(type: ts.Type, value: unknown, at: string, depth: number): string[] {
    const parts = checker.getTypeArguments(type as ts.TypeReference);
    if (!Array.isArray(value) || value.length !== parts.length)
      return [`${at}: ${show(value)} is no list of ${parts.length}`];
    return parts.flatMap((part, n) => compare(part, value[n], `${at}.${n}`, depth + 1));
  }

  function compareObject(type: ts.Type, value: unknown, at: string, depth: number): string[] {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      return [`${at}: ${show(value)} is no object`];
    }
    const index = checker.getIndexInfoOfType(type, ts.IndexKind.String)?.type;
    const fields = new Map(
      checker.getPropertiesOfType(type).map((field) => [field.name, field] as const),
    );
    const missing = [...fields.values()].flatMap(({ name, flags }) =>
      Object.hasOwn(value, name) || flags & ts.SymbolFlags.Optional
        ? []
        : [`${at}.${name}: missing`],
    );
    const wrong = Object.entries(value).flatMap(([name, item]) => {
      const field = fields.get(name);
      const expected = field === undefined ? index : checker.getTypeOfSymbol(field);
      if (expected === undefined) return [`${at}.${name}: not declared`];
      return compare(expected, item, `${at}.${field === undefined ? "*" : name}`, depth + 1);
    });
    return [...missing, ...wrong];
  }

  return { problems: (name, json) => compare(typeOf(name), json, name) };
}

function isPrimitive({ flags }: ts.Type): boolean {
  const { Null, Undefined, StringLike, NumberLike, BooleanLike } = ts.TypeFlags;
  return (flags & (Null | Undefined | StringLike | NumberLike | BooleanLike)) !== 0;
}

function isOf(type: ts.Type, value: unknown): boolean {
  const { Null, String, Number, Boolean, BooleanLiteral } = ts.TypeFlags;
  if (type.isStringLiteral() || type.isNumberLiteral()) return value === type.value;
  if (type.flags & BooleanLiteral) {
    return value === ((type as ts.Type & { intrinsicName: string }).intrinsicName === "true");
  }
  if (type.flags & Null) return value === null;
  if (type.flags & String) return typeof value === "string";
  if (type.flags & Number) return typeof value === "number";
  // JSON has nothing that is undefined.
  return (type.flags & Boolean) !== 0 && typeof value === "boolean";
}

function show(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 60) ?? "undefined";
}

function declared<Name extends string>(types: Readonly<Record<Name, string>>) {
  const rows = Object.entries<string>(types).map(([name, type]) => `"${name}": ${type};`);
  const text = `export interface Asked {\n${rows.join("\n")}\n}\n`;
  const path = join(ROOT, "tsconfig.json");
  const { config, error } = ts.readConfigFile(path, (file) => readFileSync(file, "utf8"));
  if (error !== undefined) throw new Error(`${path} cannot be read`);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (file) => file === ASKED || fileExists(file);
  host.getSourceFile = (file, ...rest) =>
    file === ASKED
      ? ts.createSourceFile(file, text, ts.ScriptTarget.ESNext)
      : getSourceFile(file, ...rest);
  const program = ts.createProgram([ASKED], options, host);
  const source = program.getSourceFile(ASKED);
  const checker = program.getTypeChecker();
  const wrong = program.getSemanticDiagnostics(source);
  if (wrong[0] !== undefined)
    throw new Error(ts.flattenDiagnosticMessageText(wrong[0].messageText, "\n"));
  const [asked] = source === undefined ? [] : checker.getExportsOfModule(moduleOf(checker, source));
  if (asked === undefined) throw new Error("no type was asked for");
  const byName = new Map(
    checker
      .getPropertiesOfType(checker.getDeclaredTypeOfSymbol(asked))
      .map((field) => [field.name, checker.getTypeOfSymbol(field)] as const),
  );
  const typeOf = (name: Name): ts.Type => {
    const type = byName.get(name);
    if (type === undefined) throw new Error(`no type was asked for ${name}`);
    return type;
  };
  return { checker, typeOf };
}

function moduleOf(checker: ts.TypeChecker, source: ts.SourceFile): ts.Symbol {
  const symbol = checker.getSymbolAtLocation(source);
  if (symbol === undefined) throw new Error(`${source.fileName} is no module`);
  return symbol;
}
