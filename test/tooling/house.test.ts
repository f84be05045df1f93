import { readdirSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import ts from "typescript";
import { beforeAll, describe, expect, test } from "vitest";

/** A folder with more files than this has several ideas in it. */
const MAX_FILES = 16;
/** An object that is passed around with more members than this is a second set of globals. */
const MAX_MEMBERS = 8;

const checkout = resolve(import.meta.dirname, "../..");

let program: ts.Program;
let checker: ts.TypeChecker;
let files: readonly ts.SourceFile[];
beforeAll(() => {
  const config = ts.readConfigFile(join(checkout, "tsconfig.json"), (path) =>
    ts.sys.readFile(path),
  );
  const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, checkout);
  const names = readdirSync(join(checkout, "src"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(checkout, "src", name));
  program = ts.createProgram(names, options);
  checker = program.getTypeChecker();
  files = names.flatMap((name) => program.getSourceFile(name) ?? []);
});

const nameOf = (file: ts.SourceFile): string => relative(checkout, file.fileName);

function* nodesOf(node: ts.Node): Generator<ts.Node> {
  yield node;
  const children: ts.Node[] = [];
  ts.forEachChild(node, (child) => void children.push(child));
  for (const child of children) yield* nodesOf(child);
}

test("no folder of src has more files than one can take in", () => {
  const folders = new Map<string, number>();
  for (const file of files) {
    const folder = dirname(nameOf(file));
    folders.set(folder, (folders.get(folder) ?? 0) + 1);
  }
  expect(folders.size).toBeGreaterThan(30);
  expect([...folders].filter(([, count]) => count > MAX_FILES)).toEqual([]);
});

test("a limit is declared in one place", () => {
  const places = new Map<string, string[]>();
  for (const file of files) {
    for (const statement of file.statements.filter((each) => ts.isVariableStatement(each))) {
      for (const { name, initializer } of statement.declarationList.declarations) {
        if (!ts.isIdentifier(name) || !/^[A-Z][A-Z0-9_]*$/.test(name.text)) continue;
        if (initializer === undefined || !isNumber(initializer)) continue;
        places.set(name.text, [...(places.get(name.text) ?? []), nameOf(file)]);
      }
    }
  }
  const twice = [...places].filter(([, names]) => names.length > 1);
  expect(places.size).toBeGreaterThan(100);
  expect(twice.map(([name, names]) => `${name}: ${names.join(", ")}`)).toEqual([]);
});

function isNumber(node: ts.Expression): boolean {
  return (checker.getTypeAtLocation(node).flags & ts.TypeFlags.NumberLike) !== 0;
}

/**
 * A context is an object type of ours, by `interface` or as a type literal, that carries data and
 * means to act together: a member of it is a function, or an object of ours that has one, and
 * another is an object without. So these are none, however many members they have: a record of plain
 * data (a message, a saved state), a port (functions, and texts and numbers that say what it is: an
 * open file, a client), and a class, which keeps its data to itself.
 */
describe("an object that is passed to functions", () => {
  test("has few members when it is a context", () => {
    const contexts = new Map<string, number>();
    for (const file of files) {
      for (const node of nodesOf(file)) {
        if (!ts.isParameter(node)) continue;
        for (const [name, type] of shapesIn(checker.getTypeAtLocation(node))) {
          const members = ownMembers(type);
          if (members.length <= MAX_MEMBERS || contexts.has(name)) continue;
          const isActing = members.some((member) => isCallable(member) || hasMethods(member));
          const isPort = members.every((member) => isCallable(member) || isPrimitive(member));
          if (isActing && !isPort) contexts.set(name, members.length);
        }
      }
    }
    expect(Object.fromEntries(contexts)).toEqual({});
  });
});

/** The interfaces and type literals of ours in a type, by `file: name`. */
function shapesIn(type: ts.Type): [string, ts.Type][] {
  if (type.isUnion()) return type.types.flatMap((each) => shapesIn(each));
  const declared = type.getSymbol()?.declarations?.[0];
  if (declared === undefined || !isOurs(declared)) return [];
  if (!ts.isInterfaceDeclaration(declared) && !ts.isTypeLiteralNode(declared)) return [];
  const name = (type.aliasSymbol ?? type.symbol).name;
  return [[`${nameOf(declared.getSourceFile())}: ${name}`, type]];
}

function ownMembers(type: ts.Type): ts.Symbol[] {
  return checker.getPropertiesOfType(type).filter((each) => isOurs(each.declarations?.[0]));
}

function isOurs(node: ts.Node | undefined): boolean {
  return node !== undefined && nameOf(node.getSourceFile()).startsWith("src/");
}

function typeOf(member: ts.Symbol): ts.Type {
  return checker.getNonNullableType(checker.getTypeOfSymbol(member));
}

function isCallable(member: ts.Symbol): boolean {
  return typeOf(member).getCallSignatures().length > 0;
}

function isPrimitive(member: ts.Symbol): boolean {
  const type = typeOf(member);
  const parts = type.isUnion() ? type.types : [type];
  return parts.every((part) => (part.flags & ts.TypeFlags.Object) === 0);
}

function hasMethods(member: ts.Symbol): boolean {
  return ownMembers(typeOf(member)).some((inner) => isCallable(inner));
}
