import { relative, resolve } from "node:path";
import { readdirSync } from "node:fs";
import { INSTRUMENTER_CONSTANTS } from "@stryker-mutator/api/core";
import { PluginKind, declareClassPlugin, tokens } from "@stryker-mutator/api/plugin";
import {
  DryRunStatus,
  TestStatus,
  determineHitLimitReached,
  toMutantRunResult,
} from "@stryker-mutator/api/test-runner";
import { collectTests, getFn, getHooks } from "@vitest/runner";
import { FiguresReporter } from "./figures.js";

/** Enough of a property's runs to kill what they can kill. */
process.env.DEADDROP_PROPERTY_RUNS ??= "60";
/**
 * These ask another program, look at many mutated lines, or count how many cases or how much work they
 * have seen: too slow to be shown each mutant, or lost with fewer runs or with instrumented code.
 */
const LEFT_OUT =
  /Python|fuzz|all who hold the same lines|says what the reader says|any sequence of lines is judged|whom we believe follows|threads are what their lines say|cost no more than their number|costs a look at the others|of one thread that cross|in the talks that are tried/;
const LAYERS = ["wire", "trust", "protocol"];

/**
 * Shows mutants to the tests of their own layer inside one process, for Stryker: a run costs the
 * tests themselves and no start of a test runner. A mutant in what a module does while it is loaded
 * is shown to modules that are loaded again.
 */
class InProcessRunner {
  static inject = tokens("options");
  /** Those of which something is mutated: the tests of the others would only be loaded. */
  #layers;
  /** Where instrumented code looks which mutant is active, and counts what it has covered. */
  #shared = (globalThis[INSTRUMENTER_CONSTANTS.NAMESPACE] ??= {});
  #loads = 0;
  #tests = [];
  #millis = new Map();

  constructor({ mutate }) {
    this.#layers = LAYERS.filter((layer) => mutate.some((path) => path.includes(`src/${layer}/`)));
  }

  capabilities() {
    return { reloadEnvironment: true };
  }

  async init() {
    await import("../support/typescript.js");
    globalThis.__vitest_worker__ = workerState();
  }

  async dryRun() {
    await this.#load();
    const tests = [];
    for (const test of this.#tests) {
      this.#shared.currentTestId = test.id;
      tests.push(await this.#run(test));
      this.#shared.currentTestId = undefined;
    }
    const mutantCoverage = this.#shared.mutantCoverage;
    return { status: DryRunStatus.Complete, tests, mutantCoverage };
  }

  async mutantRun({ activeMutant, hitLimit, mutantActivation, sandboxFileName, testFilter }) {
    const wanted = testFilter && new Set(testFilter);
    this.#shared.hitLimit = hitLimit;
    this.#shared.hitCount = 0;
    this.#shared.activeMutant = mutantActivation === "static" ? activeMutant.id : undefined;
    const mustReload = mutantActivation === "static";
    try {
      if (mustReload || this.#tests.length === 0) await this.#load();
    } catch (error) {
      // Not even loaded: every test of it would fail.
      const failed = { id: "load", name: "load", timeSpentMs: 0, status: TestStatus.Failed };
      this.#tests = [];
      this.#shared.activeMutant = undefined;
      const tests = [{ ...failed, failureMessage: String(error) }];
      return toMutantRunResult({ status: DryRunStatus.Complete, tests });
    }
    this.#shared.activeMutant = activeMutant.id;
    const layer = /src[/\\](\w+)[/\\]/.exec(sandboxFileName)?.[1];
    const chosen = this.#tests
      .filter((test) => test.layer === layer && (wanted?.has(test.id) ?? true))
      .toSorted((a, b) => (this.#millis.get(a.id) ?? 0) - (this.#millis.get(b.id) ?? 0));
    const tests = [];
    for (const test of chosen) {
      tests.push(await this.#run(test));
      if (tests.at(-1).status === TestStatus.Failed) break;
    }
    this.#shared.activeMutant = undefined;
    if (mustReload) this.#tests = [];
    const timeOut = determineHitLimitReached(this.#shared.hitCount, hitLimit);
    return toMutantRunResult(timeOut ?? { status: DryRunStatus.Complete, tests });
  }

  async #load() {
    this.#loads += 1;
    const paths = this.#layers.flatMap((layer) =>
      readdirSync(`test/${layer}`, { recursive: true, encoding: "utf8" })
        .filter((name) => name.endsWith(".test.ts") && !LEFT_OUT.test(name))
        .map((name) => resolve("test", layer, name)),
    );
    const files = await collectTests(
      paths.map((filepath) => ({ filepath })),
      collector((path) => import(`${path}?run=${this.#loads}`)),
    );
    const broken = files.find(({ result }) => result?.state === "fail");
    if (broken !== undefined)
      throw new Error(`${broken.filepath}: ${broken.result.errors?.[0]?.message}`);
    this.#tests = files.flatMap((file) =>
      testsIn(file, relative("test", file.filepath).split(/[/\\]/)[0]),
    );
  }

  async #run({ id, name, file, task }) {
    const started = performance.now();
    let failure;
    try {
      for (const { before } of hooksOf(task))
        for (const hook of before) await hook(task.context, task.suite);
      await getFn(task)();
      for (const { after } of hooksOf(task))
        for (const hook of after) await hook(task.context, task.suite);
    } catch (error) {
      failure = error instanceof Error ? error.message : String(error);
    }
    const timeSpentMs = performance.now() - started;
    this.#millis.set(id, timeSpentMs);
    const told = { id, name, timeSpentMs, fileName: file };
    return failure === undefined
      ? { ...told, status: TestStatus.Success }
      : { ...told, status: TestStatus.Failed, failureMessage: failure };
  }
}

function testsIn(file, layer) {
  const found = [];
  const walk = (task, names) => {
    if (task.mode === "skip" || task.mode === "todo") return;
    const here = [...names, task.name];
    if (task.type !== "test") {
      for (const each of task.tasks) walk(each, here);
      return;
    }
    const name = here.slice(1).join(" > ");
    if (LEFT_OUT.test(name)) return;
    const id = `${relative(".", file.filepath)}#${found.length}#${name}`;
    found.push({ id, name, layer, file: file.filepath, task });
  };
  walk(file, []);
  return found;
}

/** What runs before and after each test of a task's suites, from the outermost in. */
function hooksOf(task) {
  const chain = [];
  for (let suite = task.suite ?? task.file; suite !== undefined; suite = suite.suite) {
    const { beforeEach: before, afterEach: after } = getHooks(suite);
    chain.unshift({ before, after });
  }
  return chain;
}

/** What Vitest's collector wants to know of a run. */
function collector(importFile) {
  const sequence = {
    shuffle: false,
    concurrent: false,
    seed: 1,
    hooks: "stack",
    setupFiles: "list",
  };
  const config = {
    root: process.cwd(),
    setupFiles: [],
    passWithNoTests: true,
    // A test that is slow is not wrong: what loops is stopped by its count of hits.
    testTimeout: 0,
    hookTimeout: 0,
    sequence,
    maxConcurrency: 1,
    retry: 0,
    includeTaskLocation: false,
    tags: [],
  };
  return { config, importFile };
}

/** Vitest's own functions ask for the worker that they run in. */
function workerState() {
  return {
    ctx: {},
    config: {},
    environment: { name: "node" },
    rpc: {},
    metaEnv: process.env,
    onCancel() {},
    providedContext: {},
  };
}

export const strykerPlugins = [
  declareClassPlugin(PluginKind.TestRunner, "in-process", InProcessRunner),
  declareClassPlugin(PluginKind.Reporter, "figures", FiguresReporter),
];
