import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { PLANTS } from "./plants.js";

const checkout = resolve(import.meta.dirname, "../..");

it.each(PLANTS.map(({ name, file, find }) => [name, file, find] as const))(
  "there is code that the mistake can be planted in: %s",
  (_name, file, find) => {
    expect(readFileSync(join(checkout, file), "utf8").split(find)).toHaveLength(2);
  },
);
