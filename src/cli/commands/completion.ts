import { oneWordAliases } from "../aliases.ts";
import { COMMANDS } from "../command-table.ts";
import { define } from "../command.ts";
import { writeExact } from "../output/output.ts";

/** A script that completes command names and the global flags. */
export const completion = define({
  about: "Prints a completion script for your shell.",
  args: { "<shell>": { about: "your shell", choices: ["bash", "zsh", "fish"] } },
  examples: [
    "deaddrop completion bash > ~/.local/share/bash-completion/completions/deaddrop",
    "deaddrop completion fish > ~/.config/fish/completions/deaddrop.fish",
  ],
  run(cli, _flags, { shell }) {
    writeExact(cli.stdout, SCRIPTS[shell]());
  },
});

const FLAGS = "--wire --as --json --peer --help";

const SCRIPTS: Record<"bash" | "zsh" | "fish", () => string> = {
  bash: () => `_deaddrop() {
  local word="\${COMP_WORDS[COMP_CWORD]}"
  if [[ $word == -* ]]; then COMPREPLY=($(compgen -W "${FLAGS}" -- "$word"))
  elif ((COMP_CWORD == 1)); then COMPREPLY=($(compgen -W "${names()}" -- "$word"))
  else COMPREPLY=($(compgen -f -- "$word")); fi
}
complete -F _deaddrop deaddrop
`,
  zsh: () => `#compdef deaddrop
_deaddrop() {
  local -a commands=(
${described((name, summary) => `    '${name}:${summary}'`)}
  )
  if ((CURRENT == 2)); then _describe command commands
  else _arguments '--wire[the wire]:folder:_files -/' '--as[who you are]:handle:' '--json[print JSON]' '*:file:_files'; fi
}
compdef _deaddrop deaddrop
`,
  fish: () => `complete -c deaddrop -l wire -r -d 'the wire'
complete -c deaddrop -l as -x -d 'who you are'
complete -c deaddrop -l json -d 'print JSON'
${described((name, summary) => `complete -c deaddrop -n __fish_use_subcommand -f -a ${name} -d '${summary}'`)}
`,
};

function names(): string {
  return [...COMMANDS.keys(), ...oneWordAliases().map(([name]) => name)].join(" ");
}

function described(line: (name: string, summary: string) => string): string {
  const quoted = (text: string) => text.replaceAll("'", "'\\''");
  const aliases = oneWordAliases().map(([name, meant]) => ({ name, summary: `is ${meant}` }));
  return [...COMMANDS.values(), ...aliases]
    .map(({ name, summary }) => line(name, quoted(summary)))
    .join("\n");
}
