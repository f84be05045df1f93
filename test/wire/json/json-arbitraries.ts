import fc from "fast-check";
import { slowDouble, spell, type Tree } from "./slow-json.ts";

const nastyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.string({ maxLength: 40 }),
  fc.constantFrom(
    "__proto__",
    "constructor",
    "toString",
    "0",
    "10",
    "9",
    "4294967295",
    "",
    "\ue000",
    "\uffff",
    "😀",
    "\u{10ffff}",
    "\ud7ff",
    "a\u0000",
    "\u2028\u007f\u0080",
    'quote" back\\ slash/',
  ),
);

const integer: fc.Arbitrary<Tree> = fc
  .oneof(
    fc.maxSafeInteger().map(String),
    fc.bigInt({ min: -(2n ** 200n), max: 2n ** 200n }).map(String),
    fc.constantFrom("-0", "0", "9007199254740991", "9007199254740992", "-9007199254740993"),
  )
  .map((text) => ({ is: "integer", text }));

/** Finite doubles by their bits, each in one of several spellings that all carry a point or exponent. */
export const anyDouble: fc.Arbitrary<number> = fc.double({
  noNaN: true,
  noDefaultInfinity: true,
});

const double: fc.Arbitrary<Tree> = fc
  .tuple(
    fc.oneof(
      anyDouble,
      fc.constantFrom(-0, 1e16, 9999999999999998, 1e-4, 9.999999999999999e-5, 1e22, 5e-324, 1e21),
    ),
    fc.nat({ max: 4 }),
  )
  .map(([value, spelling]) => {
    const exponential = Object.is(value, -0) ? "-0e0" : value.toExponential(17).replace("+", "");
    const upper = Object.is(value, -0) ? "-0.000" : value.toExponential().toUpperCase();
    const spellings = [exponential, upper, slowDouble(value), longDecimal(value), shifted(value)];
    return { is: "double", value, text: spellings[spelling]! } as const;
  });

/** A hundred digits, then zeros: more than any double holds. */
function longDecimal(value: number): string {
  if (value === 0) return Object.is(value, -0) ? `-0.${"0".repeat(400)}` : "0.0E-0000";
  // oxlint-disable-next-line number-arg-out-of-range -- ECMAScript allows 100 since 2018
  return value.toExponential(100).replace("e", `${"0".repeat(300)}E`);
}

/** The point where nobody writes it, and leading zeros in the exponent. */
function shifted(value: number): string {
  if (value === 0) return Object.is(value, -0) ? "-0E+000" : "0e-0";
  const [mantissa = "", power] = value.toExponential().split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  const exponent = Number(power) - fraction.length;
  const padded = String(Math.abs(exponent)).padStart(5, "0");
  return `${whole}${fraction}e${exponent < 0 ? "-" : "+"}${padded}`;
}

const word: fc.Arbitrary<Tree> = fc
  .constantFrom("null" as const, "true" as const, "false" as const)
  .map((text) => ({ is: "word", text }));

const text: fc.Arbitrary<Tree> = nastyText.map((value) => ({ is: "string", text: value }));

const { objectTree } = fc.letrec<{ anyTree: Tree; objectTree: Tree }>((tie) => ({
  anyTree: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    word,
    integer,
    double,
    text,
    tie("objectTree"),
    fc.array(tie("anyTree"), { maxLength: 5 }).map((members): Tree => ({ is: "array", members })),
  ),
  objectTree: fc
    .uniqueArray(fc.tuple(nastyText, tie("anyTree")), {
      selector: ([key]) => key,
      maxLength: 8,
    })
    .map((members): Tree => ({ is: "object", members })),
}));

/** A tree with one spelling of it. */
export const spelledObject: fc.Arbitrary<{ tree: Tree; line: string }> = fc
  .tuple(objectTree, fc.infiniteStream(fc.nat()))
  .map(([tree, choices]) => ({
    tree,
    line: spell(tree, (limit) => (choices.next().value as number) % limit),
  }));
