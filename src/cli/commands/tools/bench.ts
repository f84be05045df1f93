import { Command } from "commander";
import { collect, count, type Cli } from "../../context.ts";
import { example } from "../../output/example.ts";
import { benchSkills, type BenchFlags } from "../../skills/bench.ts";

/** `deaddrop bench`: how alike plans and reports of tools are. Spec 7.6. */
export function command(cli: Cli): Command {
  const bench = new Command("bench").description("Measure what tools make of the skills.");
  bench
    .command("skills")
    .description(
      "give the tasks of agent/benchmarks to tools, and score the shape of their answers",
    )
    .option(
      "--exec <program>",
      "a tool, as name=program; none: recorded answers (repeatable)",
      collect,
    )
    .option("--runs <number>", "of each task (default 3)", count)
    .option("--timeout <seconds>", "of each run (default 600)", count)
    .option("--tasks <folder>", "other tasks")
    .action((_own: unknown, self: Command) => benchSkills(cli, self.optsWithGlobals<BenchFlags>()));
  return bench.addHelpText(
    "after",
    example("deaddrop bench skills", 'deaddrop bench skills --exec "claude=claude -p"'),
  );
}
