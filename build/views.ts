import { readdirSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { COMMANDS } from "../src/cli/command-table.ts";
import { VERBS, type VerbEntry } from "../src/verbs/table.ts";

const ROOT = join(import.meta.dirname, "..");
const SOURCES = join(ROOT, "src/");
const COMMAND_FILES = join(ROOT, "src/cli/commands");
/** What a command prints is described beside its name up to this length. */
const MAX_INLINE = 160;
const VERB_COMMAND = join(SOURCES, "cli/sending/verb-command.ts");
/** What prints data, and which argument is the data. */
const PRINTERS: Readonly<Record<string, number>> = { emit: 2, emitTable: 2, emitRows: 2 };

/**
 * Markdown about what each command prints with `--json`: the types of the data that it hands to a printer,
 * with the comments of their declarations.
 */
export function viewsMarkdown(): string {
  const files = [
    VERB_COMMAND,
    ...readdirSync(COMMAND_FILES).map((name) => join(COMMAND_FILES, name)),
  ];
  const parsed = ts.getParsedCommandLineOfConfigFile(
    join(ROOT, "tsconfig.json"),
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: ({ messageText }) => {
        throw new Error(ts.flattenDiagnosticMessageText(messageText, "\n"));
      },
    },
  );
  const program = ts.createProgram(files, parsed?.options ?? {});
  const checker = program.getTypeChecker();
  const types = new TypeSections(checker);
  const ofVerbs = Object.entries<VerbEntry>(VERBS).flatMap(([name, { command = name }]) => {
    const run = program.getSourceFile(VERB_COMMAND);
    return run === undefined ? [] : [{ name: command, run }];
  });
  const named = files.flatMap((file) => exportsOf(program.getSourceFile(file), checker));
  const byText = new Map<string, string[]>();
  for (const { name, run } of [...named, ...ofVerbs].toSorted((a, b) =>
    a.name < b.name ? -1 : 1,
  )) {
    const text = types.ofCommand(name, printedBy(run, checker));
    if (text !== "") byText.set(text, [...(byText.get(text) ?? []), `\`${name}\``]);
  }
  const commands = [...byText].map(([text, names]) => `- ${names.join(", ")}: ${text}`);
  return ["## Commands", "", ...commands, "", "## Types", "", types.markdown()].join("\n");
}

/** What the files of commands export, by the name of the command. */
function exportsOf(file: ts.SourceFile | undefined, checker: ts.TypeChecker): Found[] {
  const module = file === undefined ? undefined : checker.getSymbolAtLocation(file);
  return (module === undefined ? [] : checker.getExportsOfModule(module)).flatMap((symbol) => {
    const name = symbol.name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    const definition = COMMANDS.has(name) ? valueOf(symbol, checker) : undefined;
    return definition === undefined ? [] : commandsIn(name, definition, checker);
  });
}

/** The expression that a constant was made with, wherever it is declared. */
function valueOf(named: ts.Symbol | undefined, checker: ts.TypeChecker): ts.Node | undefined {
  if (named === undefined) return undefined;
  const isImport = named.flags & ts.SymbolFlags.Alias;
  const { valueDeclaration } = isImport ? checker.getAliasedSymbol(named) : named;
  const isConstant = valueDeclaration !== undefined && ts.isVariableDeclaration(valueDeclaration);
  return isConstant ? valueDeclaration.initializer : undefined;
}

interface Found {
  readonly name: string;
  readonly run: ts.Node;
}

/** The command that an expression defines, and those below it. */
function commandsIn(name: string, expression: ts.Node, checker: ts.TypeChecker): Found[] {
  if (ts.isIdentifier(expression)) {
    const value = valueOf(checker.getSymbolAtLocation(expression), checker);
    return value === undefined ? [] : commandsIn(name, value, checker);
  }
  if (!ts.isCallExpression(expression)) return [];
  const [argument] = expression.arguments;
  if (expression.expression.getText() !== "define") {
    const made = checker.getResolvedSignature(expression)?.declaration;
    const calls = made === undefined ? [] : descendants(made).filter(ts.isCallExpression);
    const define = calls.find((call) => call.expression.getText() === "define");
    return define === undefined ? [] : commandsIn(name, define, checker);
  }
  if (argument === undefined || !ts.isObjectLiteralExpression(argument)) return [];
  return argument.properties.flatMap((property): Found[] => {
    const key = property.name?.getText();
    if (key === "run") return [{ name, run: property }];
    if (key !== "commands" || !ts.isPropertyAssignment(property)) return [];
    const { initializer } = property;
    if (!ts.isObjectLiteralExpression(initializer)) return [];
    return initializer.properties.flatMap((sub) => {
      const definition = ts.isPropertyAssignment(sub)
        ? sub.initializer
        : valueOf(checker.getShorthandAssignmentValueSymbol(sub), checker);
      if (definition === undefined || sub.name === undefined) return [];
      return commandsIn(`${name} ${sub.name.getText().replaceAll('"', "")}`, definition, checker);
    });
  });
}

/** The types of what a function, or one that it calls or names, hands to a printer. */
function printedBy(start: ts.Node, checker: ts.TypeChecker): ts.Type[] {
  const [seen, found]: [Set<ts.Node>, ts.Type[]] = [new Set(), []];
  const visit = (node: ts.Node): void => {
    if (seen.has(node)) return;
    seen.add(node);
    for (const each of [node, ...descendants(node)]) {
      if (ts.isCallExpression(each)) {
        const printed = PRINTERS[each.expression.getText()];
        const data = printed === undefined ? undefined : each.arguments[printed];
        if (data !== undefined) found.push(checker.getTypeAtLocation(data));
        else enter(checker.getResolvedSignature(each)?.declaration);
      } else if (ts.isShorthandPropertyAssignment(each)) {
        follow(checker.getShorthandAssignmentValueSymbol(each));
      } else if (ts.isIdentifier(each)) follow(checker.getSymbolAtLocation(each));
    }
  };
  const enter = (declaration: ts.Node | undefined): void => {
    if (declaration?.getSourceFile().fileName.startsWith(join(SOURCES, "cli/")) === true)
      visit(declaration);
  };
  const follow = (named: ts.Symbol | undefined): void => {
    if (named === undefined || Object.hasOwn(PRINTERS, named.name)) return;
    const isImport = named.flags & ts.SymbolFlags.Alias;
    const symbol = isImport ? checker.getAliasedSymbol(named) : named;
    if (symbol.flags & ts.SymbolFlags.Function) enter(symbol.valueDeclaration);
  };
  visit(start);
  return found;
}

function descendants(node: ts.Node): ts.Node[] {
  const children: ts.Node[] = [];
  ts.forEachChild(node, (child) => void children.push(child, ...descendants(child)));
  return children;
}

/** Types in the notation of TypeScript; each of ours that has a name has a section. */
class TypeSections {
  readonly #checker: ts.TypeChecker;
  readonly #named = new Map<string, { type: ts.Type; symbol: ts.Symbol | undefined }>();

  constructor(checker: ts.TypeChecker) {
    this.#checker = checker;
  }

  /** What a command prints; it has a section where it is long and has no name. */
  ofCommand(command: string, printed: readonly ts.Type[]): string {
    const shapes = new Map<string, string>();
    for (const type of printed) {
      const shape = this.#fieldsOf(type).toSorted().join();
      const text = this.#shapeText(command, type, printed);
      // Where a command prints the same fields twice, the wider types say more.
      if (text.length >= (shapes.get(shape)?.length ?? 0)) shapes.set(shape, text);
    }
    return [...shapes.values()].join(" or ");
  }

  #shapeText(command: string, type: ts.Type, printed: readonly ts.Type[]): string {
    const text = this.text(type);
    if (text.length <= MAX_INLINE || !text.startsWith("{")) return text;
    const names = this.#fieldsOf(type);
    const base = printed.find(
      (each) =>
        this.#nameOf(each) !== undefined &&
        this.#fieldsOf(each).every((name) => names.includes(name)),
    );
    if (base !== undefined)
      return `${this.text(base)} with ${this.#object(type, this.#fieldsOf(base))}`;
    this.#named.set(`deaddrop ${command}`, { type, symbol: undefined });
    return linkTo(`deaddrop ${command}`);
  }

  text(type: ts.Type): string {
    const checker = this.#checker;
    const { Any, Unknown, Boolean, Object } = ts.TypeFlags;
    if (type.flags & (Any | Unknown)) return "JSON";
    if (type.flags & Boolean) return "boolean";
    const symbol = this.#nameOf(type);
    if (symbol !== undefined) {
      const known = this.#named.get(symbol.name)?.symbol ?? symbol;
      if (known !== symbol) throw new Error(`two types are named ${symbol.name}`);
      this.#named.set(symbol.name, { type, symbol });
      return linkTo(symbol.name);
    }
    if (type.isUnion()) return this.#union(type);
    const [element] = checker.isArrayType(type)
      ? checker.getTypeArguments(type as ts.TypeReference)
      : [];
    if (element !== undefined) {
      const text = this.text(element);
      return text.includes(" | ") && !text.startsWith("{") ? `(${text})[]` : `${text}[]`;
    }
    if (checker.isTupleType(type)) {
      return this.#tuple(type as ts.TupleTypeReference);
    }
    return type.isIntersection() || type.flags & Object
      ? this.#object(type)
      : checker.typeToString(type);
  }

  /** A section for each type with a name that was met, and for those that it names. */
  markdown(): string {
    const sections = new Map<string, string>();
    // A Map hands out what is added to it meanwhile.
    for (const [name, { type, symbol }] of this.#named) {
      const rows = this.#rows(type, "").map((row) => `- ${row}`);
      const about = docOf(symbol, this.#checker);
      sections.set(
        name,
        [`### ${name}`, about, rows.join("\n")].filter((part) => part !== "").join("\n\n"),
      );
    }
    const names = [...sections.keys()].toSorted((a, b) =>
      a.toLowerCase() < b.toLowerCase() ? -1 : 1,
    );
    return names.map((name) => sections.get(name)).join("\n\n");
  }

  #rows(type: ts.Type, prefix: string): string[] {
    const checker = this.#checker;
    if (checker.isTupleType(type)) return [this.#tuple(type as ts.TupleTypeReference)];
    return checker.getPropertiesOfType(type).flatMap((field) => {
      const declared = checker.getTypeOfSymbol(field);
      const isOptional = field.flags & ts.SymbolFlags.Optional;
      const path = `${prefix}${field.name}`;
      const { object, suffix } = this.#unnamedObject(declared);
      const text = object === undefined ? this.text(declared) : `object${suffix}`;
      const about = docOf(field, checker);
      const row = `\`${path}${isOptional ? "?" : ""}\`: ${text}${about === "" ? "" : `. ${about}`}`;
      if (object === undefined) return [row];
      return [row, ...this.#rows(object, `${path}${suffix.startsWith("[]") ? "[]" : ""}.`)];
    });
  }

  /** The object without a name that a field, or each item of its list, is; its fields get rows of their own. */
  #unnamedObject(type: ts.Type): { object?: ts.Type; suffix: string } {
    const checker = this.#checker;
    const { Undefined, Null, Object } = ts.TypeFlags;
    const all = type.isUnion() ? type.types : [type];
    const [only, ...others] = all.filter(({ flags }) => !(flags & (Undefined | Null)));
    if (only === undefined || others.length > 0) return { suffix: "" };
    const isList = checker.isArrayType(only);
    const object = isList ? checker.getTypeArguments(only as ts.TypeReference)[0] : only;
    const isObject =
      object !== undefined &&
      (object.isIntersection() || (object.flags & Object) !== 0) &&
      this.#nameOf(object) === undefined &&
      !checker.isArrayType(object) &&
      !checker.isTupleType(object) &&
      checker.getPropertiesOfType(object).length > 0;
    if (!isObject) return { suffix: "" };
    const isNull = all.some(({ flags }) => flags & Null);
    return { object, suffix: `${isList ? "[]" : ""}${isNull ? " | null" : ""}` };
  }

  #union({ types }: ts.UnionType): string {
    // The compiler's order depends on what it has met before.
    const texts = types
      .filter(({ flags }) => !(flags & ts.TypeFlags.Undefined))
      .map((each) => this.text(each))
      .toSorted();
    const isBoolean = texts.includes("true") && texts.includes("false");
    const others = texts.filter(
      (each) => each !== "null" && !(isBoolean && /^(true|false)$/.test(each)),
    );
    return [
      ...(isBoolean ? ["boolean"] : []),
      ...others,
      ...texts.filter((each) => each === "null"),
    ].join(" | ");
  }

  #object(type: ts.Type, known: readonly string[] = []): string {
    const checker = this.#checker;
    const fields = checker
      .getPropertiesOfType(type)
      .filter(({ name }) => !known.includes(name))
      .map((field) => {
        const optional = field.flags & ts.SymbolFlags.Optional ? "?" : "";
        return `${field.name}${optional}: ${this.text(checker.getTypeOfSymbol(field))}`;
      });
    const index = checker.getIndexInfoOfType(type, ts.IndexKind.String)?.type;
    if (index !== undefined) fields.push(`[name]: ${this.text(index)}`);
    return `{ ${fields.join(", ")} }`;
  }

  #tuple(type: ts.TupleTypeReference): string {
    const labels = type.target.labeledElementDeclarations ?? [];
    const parts = this.#checker.getTypeArguments(type).map((part, at) => {
      const label = labels[at]?.name.getText();
      return label === undefined ? this.text(part) : `${label}: ${this.text(part)}`;
    });
    return `[${parts.join(", ")}]`;
  }

  #fieldsOf(type: ts.Type): string[] {
    return this.#checker.getPropertiesOfType(type).map(({ name }) => name);
  }

  /** The symbol of an interface or an alias of ours that is not only a choice of texts. */
  #nameOf(type: ts.Type): ts.Symbol | undefined {
    const symbol = type.aliasSymbol ?? type.symbol;
    const declaration = symbol?.declarations?.[0];
    if (declaration === undefined || type.isUnion() || type.aliasTypeArguments !== undefined)
      return undefined;
    const isNamed =
      ts.isInterfaceDeclaration(declaration) || ts.isTypeAliasDeclaration(declaration);
    return isNamed && declaration.getSourceFile().fileName.startsWith(SOURCES) ? symbol : undefined;
  }
}

function linkTo(section: string): string {
  return `[${section}](#${section.toLowerCase().replaceAll(" ", "-")})`;
}

function docOf(symbol: ts.Symbol | undefined, checker: ts.TypeChecker): string {
  const text = ts.displayPartsToString(symbol?.getDocumentationComment(checker));
  return text.replaceAll(/\s*\n\s*/g, " ");
}
