/**
 * A second opinion on Spec 1.4: JSON as a tree of its own, one way to spell it on a line (with
 * random white space and escapes), and one slow, obvious way to print it canonically.
 */
export type Tree =
  | { readonly is: "word"; readonly text: "null" | "true" | "false" }
  | { readonly is: "integer"; readonly text: string }
  | { readonly is: "double"; readonly value: number; readonly text: string }
  | { readonly is: "string"; readonly text: string }
  | { readonly is: "array"; readonly members: readonly Tree[] }
  | { readonly is: "object"; readonly members: ReadonlyArray<readonly [string, Tree]> };

export function slowCanonical(tree: Tree): string {
  switch (tree.is) {
    case "word":
      return tree.text;
    case "integer":
      return tree.text === "-0" ? "0" : tree.text;
    case "double":
      return slowDouble(tree.value);
    case "string":
      return slowString(tree.text);
    case "array":
      return `[${tree.members.map(slowCanonical).join(",")}]`;
    case "object": {
      const sorted = [...tree.members].sort(([a], [b]) => compareCodePoints(a, b));
      return `{${sorted.map(([key, value]) => `${slowString(key)}:${slowCanonical(value)}`).join(",")}}`;
    }
  }
}

/** UTF-8 sorts as its code points do. */
export function compareCodePoints(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a, "utf8"), Buffer.from(b, "utf8"));
}

function slowString(text: string): string {
  const short: Record<string, string> = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
  };
  let printed = "";
  for (const point of text) {
    const code = point.codePointAt(0)!;
    if (short[point] !== undefined) printed += short[point];
    else if (code < 0x20) printed += `\\u00${code < 16 ? "0" : ""}${code.toString(16)}`;
    else printed += point;
  }
  return `"${printed}"`;
}

/** Python's repr, from the shortest of 1 to 17 significant digits that read back the same. */
export function slowDouble(value: number): string {
  if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
  const sign = value < 0 ? "-" : "";
  const magnitude = Math.abs(value);
  let scientific = "";
  for (let precision = 0; precision <= 16; precision++) {
    scientific = magnitude.toExponential(precision);
    if (Number(scientific) === magnitude) break;
  }
  scientific = halfToEven(magnitude, scientific);
  const [mantissa, power] = scientific.split("e") as [string, string];
  const exponent = Number(power);
  const digits = mantissa.replace(".", "");
  if (exponent < -4 || exponent >= 16) {
    const fraction = digits.length > 1 ? `.${digits.slice(1)}` : "";
    const twoDigits = String(Math.abs(exponent)).padStart(2, "0");
    return `${sign}${digits[0]}${fraction}e${exponent < 0 ? "-" : "+"}${twoDigits}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  return `${sign}${whole}.${digits.slice(exponent + 1) || "0"}`;
}

/** toExponential rounds a half up; repr takes the neighbour that ends in an even digit. */
function halfToEven(magnitude: number, rounded: string): string {
  const [mantissa, power] = rounded.split("e") as [string, string];
  // oxlint-disable-next-line number-arg-out-of-range -- ECMAScript allows 100 since 2018
  const exact = magnitude.toExponential(100).split("e")[0]!;
  const isHalf = /^50*$/.test(exact.slice(mantissa.length + (mantissa.includes(".") ? 0 : 1)));
  if (!isHalf || Number(mantissa.at(-1)) % 2 === 0) return rounded;
  const even = `${mantissa.slice(0, -1)}${Number(mantissa.at(-1)) - 1}e${power}`;
  return Number(even) === magnitude ? even : rounded;
}

/** Spells a tree as someone else might; `pick(n)` chooses from 0 to n − 1. */
export function spell(tree: Tree, pick: (choices: number) => number): string {
  const space = (): string => ["", "", " ", "\t", "\r", " \n "][pick(6)]!;
  const say = (inner: Tree): string => space() + spell(inner, pick) + space();
  switch (tree.is) {
    case "word":
    case "integer":
    case "double":
      return tree.text;
    case "string":
      return spellString(tree.text, pick);
    case "array":
      return tree.members.length === 0 ? `[${space()}]` : `[${tree.members.map(say).join(",")}]`;
    case "object":
      return `{${
        tree.members.length === 0
          ? space()
          : tree.members
              .map(([key, value]) => `${space()}${spellString(key, pick)}${space()}:${say(value)}`)
              .join(",")
      }}`;
  }
}

function spellString(text: string, pick: (choices: number) => number): string {
  let spelled = "";
  for (const point of text) {
    const code = point.codePointAt(0)!;
    const mustEscape = code < 0x20 || point === '"' || point === "\\";
    if (mustEscape) {
      spelled += pick(2) === 0 ? escaped(point, pick) : JSON.stringify(point).slice(1, -1);
    } else if (point === "/" && pick(2) === 0) {
      spelled += "\\/";
    } else {
      spelled += pick(8) === 0 ? escaped(point, pick) : point;
    }
  }
  return `"${spelled}"`;
}

function escaped(point: string, pick: (choices: number) => number): string {
  return Array.from({ length: point.length }, (_, i) => {
    const digits = point.charCodeAt(i).toString(16).padStart(4, "0");
    return `\\u${pick(2) === 0 ? digits : digits.toUpperCase()}`;
  }).join("");
}
