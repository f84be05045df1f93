import { readFileSync, readdirSync } from "node:fs";

/**
 * By the name of each room of src, from the bottom up: `about`; `lines` at most; `imports`, the rooms that
 * it may import ("*": all). What is `pure` has no files, clock, randomness or processes, and imports only
 * these `packages`: the whole room, or `folders` of it, which may have `imports` of their own.
 */
const ROOMS = JSON.parse(readFileSync(new URL("build/rooms.json", import.meta.url), "utf8"));

/** Names of the world outside, which what is pure does not have. */
const OUTSIDE = [
  ...["process", "console", "fetch", "performance", "queueMicrotask"],
  ...["setTimeout", "setInterval", "setImmediate"],
];
const PURE_RULES = {
  "no-restricted-globals": [
    "error",
    ...OUTSIDE.map((name) => ({
      name,
      message: "The core has no process, timers, console or network.",
    })),
  ],
  "no-restricted-properties": [
    "error",
    { object: "Date", property: "now", message: "Time comes in as a value." },
    { object: "Math", property: "random", message: "The core has no randomness." },
  ],
  "import/no-cycle": ["error", { ignoreTypes: false }],
};

/** Of our own files a room imports itself, what is below it in the table, and nothing else. */
const roomOverrides = Object.entries(ROOMS).flatMap(([room, { imports, pure }]) => {
  const folders = pure?.folders;
  const whole = limited(
    `src/${room}/**/*.ts`,
    forbidden(room, imports),
    folders ? undefined : pure,
  );
  if (folders === undefined) return [whole];
  const others = foldersOf(room).filter((name) => !folders.includes(name));
  const names = [...forbidden(room, pure.imports), ...others];
  return [whole, ...folders.map((name) => limited(`src/${room}/${name}/**/*.ts`, names, pure))];
});

function foldersOf(room) {
  const names = readdirSync(new URL(`src/${room}`, import.meta.url));
  return names.filter((name) => !name.includes("."));
}

/** A folder of the room may have the name of another room. */
function forbidden(room, imports) {
  if (imports.includes("*")) return [];
  const allowed = [room, ...imports, ...foldersOf(room)];
  return Object.keys(ROOMS).filter((name) => !allowed.includes(name));
}

function limited(files, names, pure) {
  const ours = {
    regex: `^(\\.\\./)+((${names.join("|") || "-"})/|index\\.ts$)`,
    message: "build/rooms.json says what this room may import.",
  };
  const packages = pure?.packages.flatMap((name) => [`!${name}`, `!${name}/**`]) ?? [];
  const foreign = {
    group: ["*", "!.", "!..", "!./**", "!../**", ...packages],
    message: "This is pure: build/rooms.json lists the packages that it may import.",
  };
  const patterns = pure === undefined ? [ours] : [ours, foreign];
  return {
    files: [files],
    rules: {
      "no-restricted-imports": ["error", { patterns }],
      ...(pure === undefined ? {} : PURE_RULES),
    },
  };
}

export default {
  plugins: ["eslint", "typescript", "unicorn", "oxc", "import", "promise", "node", "vitest"],
  categories: {
    correctness: "error",
  },
  options: {
    typeAware: true,
    reportUnusedDisableDirectives: "error",
  },
  env: {
    builtin: true,
    node: true,
    es2024: true,
  },
  ignorePatterns: ["dist", "coverage", "node_modules", "test/vectors", "test/data", "reports"],
  rules: {
    eqeqeq: ["error", "always"],
    "prefer-const": "error",
    "no-var": "error",
    "no-empty": [
      "error",
      {
        allowEmptyCatch: false,
      },
    ],
    "no-fallthrough": "error",
    "no-eval": "error",
    "no-implied-eval": "error",
    "no-unused-vars": [
      "error",
      {
        argsIgnorePattern: "^_",
        varsIgnorePattern: "^_",
      },
    ],
    "no-warning-comments": [
      "error",
      {
        terms: ["todo", "fixme", "xxx"],
        location: "start",
      },
    ],
    "typescript/no-explicit-any": "error",
    "typescript/no-floating-promises": [
      "error",
      {
        ignoreVoid: false,
      },
    ],
    "typescript/no-misused-promises": "error",
    "typescript/await-thenable": "error",
    "typescript/return-await": ["error", "error-handling-correctness-only"],
    "typescript/prefer-promise-reject-errors": "error",
    "typescript/only-throw-error": [
      "error",
      {
        allowThrowingUnknown: true,
        allowRethrowing: true,
      },
    ],
    "typescript/switch-exhaustiveness-check": [
      "error",
      {
        considerDefaultExhaustiveForUnions: true,
        requireDefaultForNonUnion: false,
      },
    ],
    "typescript/consistent-type-imports": "error",
    "typescript/no-non-null-assertion": "error",
    "typescript/no-unnecessary-type-assertion": "error",
    "typescript/no-require-imports": "error",
    "typescript/ban-ts-comment": "error",
    "typescript/no-unsafe-assignment": "error",
    "typescript/no-unsafe-call": "error",
    "typescript/no-unsafe-member-access": "error",
    "typescript/no-unsafe-return": "error",
    "typescript/no-unsafe-argument": "error",
    "import/no-cycle": "error",
    "import/no-self-import": "error",
    "import/no-default-export": "error",
    "import/no-mutable-exports": "error",
    "import/no-duplicates": "error",
    "promise/no-multiple-resolved": "error",
    "promise/catch-or-return": "off",
    "promise/always-return": "off",
    "unicorn/prefer-node-protocol": "error",
    "unicorn/error-message": "error",
    "unicorn/no-instanceof-builtins": "error",
    "vitest/valid-expect": [
      "error",
      {
        maxArgs: 2,
      },
    ],
    "vitest/no-focused-tests": "error",
    "vitest/no-identical-title": "error",
    "vitest/no-commented-out-tests": "error",
    "vitest/require-mock-type-parameters": "off",
    "vitest/no-conditional-expect": "off",
    "vitest/no-conditional-tests": "off",
    "vitest/no-standalone-expect": "off",
    "vitest/valid-title": "off",
    "vitest/expect-expect": "off",
    "typescript/no-misused-spread": [
      "error",
      {
        allow: ["string"],
      },
    ],
    "unicorn/no-useless-spread": "off",
    "typescript/unbound-method": "off",
  },
  overrides: [
    ...roomOverrides,
    {
      files: ["src/wire/signatures/sodium.ts"],
      rules: {
        "no-restricted-imports": [
          "error",
          {
            patterns: [
              {
                group: ["*", "!.", "!./**", "!node:module", "!node:process"],
                message:
                  "This file loads one native module that computes signatures, and nothing else.",
              },
            ],
          },
        ],
      },
    },
    {
      files: ["test/**/*.ts", "bench/**/*.ts"],
      rules: {
        "typescript/no-non-null-assertion": "off",
        "typescript/no-unsafe-assignment": "off",
        "typescript/no-unsafe-member-access": "off",
        "typescript/no-unsafe-argument": "off",
        "no-control-regex": "off",
      },
    },
    {
      files: ["*.config.{ts,js}"],
      rules: {
        "import/no-default-export": "off",
      },
    },
    {
      files: ["bin/*.js"],
      rules: {
        "typescript/no-require-imports": "off",
      },
    },
    {
      files: [
        "*.config.js",
        "bin/*.js",
        "build/*.js",
        "plugins/*.js",
        "agent/benchmarks/*.js",
        "examples/**/*.js",
        "test/**/*.js",
      ],
      rules: {
        "typescript/no-unsafe-assignment": "off",
        "typescript/no-unsafe-call": "off",
        "typescript/no-unsafe-member-access": "off",
        "typescript/no-unsafe-return": "off",
        "typescript/no-unsafe-argument": "off",
        "typescript/restrict-template-expressions": "off",
      },
    },
  ],
};
