import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { codeOfStorage, DeaddropError } from "../../api/errors.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import { calling } from "../../storage/disk/errno.ts";
import {
  changedOnto,
  checkSettings,
  settingNamed,
  SETTINGS,
  settingValue,
  withSetting,
} from "../../setup/settings-table.ts";
import { readSettings, saveSettings } from "../../storage/private/private-store.ts";
import { agentPlace, reloadDaemon, type AgentPlace } from "../agent-place.ts";
import { pendingPolicy } from "../../agent/config/pending-policy.ts";
import type { Cli, GlobalFlags } from "../context.ts";
import { emit, table } from "../output/output.ts";
import { PRIVATE_FILE } from "../../storage/disk/file-modes.ts";

/** `deaddrop config list`: the settings, and how the wire's policy differs from the pinned one. */
export function list(cli: Cli, flags: GlobalFlags): void {
  const at = agentPlace(cli, flags);
  const file = readSettings(at.host.disk, at.place.paths) as Record<string, unknown> | undefined;
  const settings = SETTINGS.map(({ key, byDefault, about }) => ({
    key,
    value: file?.[key] ?? byDefault,
    default: byDefault,
    about,
  }));
  const { lines } = pendingPolicy(at.host.disk, at.place);
  emit(cli, flags, { settings, file: at.place.paths.settings, wire_differs: lines }, (paint) => {
    const rows = settings.map(({ key, value, default: byDefault, about }) => [
      { text: key, style: "bold" as const },
      { text: JSON.stringify(value), style: value === byDefault ? undefined : ("cyan" as const) },
      { text: about },
    ]);
    const note =
      lines.length === 0
        ? "The wire's configuration is the one that you accepted."
        : `The wire's configuration differs from the one that you accepted in ${lines.length} points: deaddrop config accept`;
    return `${table(rows, paint, cli.stdout.columns)}\n\n${note}`;
  });
}

export function get(cli: Cli, key: string, flags: GlobalFlags): void {
  const { byDefault } = settingNamed(key);
  const { host, place } = agentPlace(cli, flags);
  const file = readSettings(host.disk, place.paths) as Record<string, unknown> | undefined;
  const value = file?.[key] ?? byDefault;
  emit(cli, flags, { key, value }, () => JSON.stringify(value));
}

/** Sets one setting; without text it goes back to its default. */
export async function set(
  cli: Cli,
  key: string,
  text: string | undefined,
  flags: GlobalFlags,
): Promise<void> {
  const setting = settingNamed(key);
  const value = text === undefined ? undefined : settingValue(setting, text);
  const at = agentPlace(cli, flags);
  const file = readSettings(at.host.disk, at.place.paths);
  await save(at, withSetting(file, key, value));
  const now = value ?? setting.byDefault;
  emit(
    cli,
    flags,
    { key, value: now },
    (paint) => `${paint("bold", key)} is ${JSON.stringify(now)}`,
  );
}

/** Opens the settings in the operator's editor; what cannot be read is not taken. */
export async function edit(cli: Cli, flags: GlobalFlags): Promise<void> {
  const editor = cli.env["VISUAL"] ?? cli.env["EDITOR"];
  if (editor === undefined || editor.trim() === "") {
    throw new DeaddropError("usage", "no editor is named", {
      hint: "set EDITOR, or change one setting with `deaddrop config set <key> <value>`",
    });
  }
  const at = agentPlace(cli, flags);
  const before = readSettings(at.host.disk, at.place.paths) ?? {};
  const after = edited(editor, `${JSON.stringify(before, null, 2)}\n`, (typed) => {
    const settings = parsed(typed);
    checkSettings(settings, at.place.paths.settings);
    return settings;
  });
  const changed = JSON.stringify(after) !== JSON.stringify(before);
  // What was set while the editor was open stays, unless it was changed there too.
  const now = readSettings(at.host.disk, at.place.paths);
  const settings = changedOnto(now, before, after);
  if (changed) await save(at, settings);
  emit(cli, flags, { changed, settings }, () => (changed ? "saved" : "nothing was changed"));
}

/** What `take` makes of the text that the editor leaves. A text that it refuses is kept, and named. */
function edited<T>(editor: string, text: string, take: (typed: string) => T): T {
  const prefix = join(tmpdir(), "deaddrop-edit-");
  const folder = calling(prefix, "making a folder", () => mkdtempSync(prefix));
  const path = join(folder, "settings.json");
  const drop = (): void => rmSync(folder, { recursive: true, force: true });
  let typed: string;
  try {
    typed = typedInto(path, editor, text);
  } catch (error) {
    drop();
    throw error;
  }
  const taken = namingFile(path, () => take(typed));
  drop();
  return taken;
}

function typedInto(path: string, editor: string, text: string): string {
  calling(path, "writing", () => writeFileSync(path, text, { mode: PRIVATE_FILE }));
  const [program = "", ...args] = editor.trim().split(/\s+/);
  const { status, error } = spawnSync(program, [...args, path], { stdio: "inherit" });
  if (error !== undefined || status !== 0) {
    throw new DeaddropError("refused", `${program} did not end well; nothing was changed`, {
      cause: error,
    });
  }
  return calling(path, "reading", () => readFileSync(path, "utf8"));
}

function namingFile<T>(path: string, take: () => T): T {
  try {
    return take();
  } catch (cause) {
    if (!(cause instanceof DeaddropError || cause instanceof StorageError)) throw cause;
    const code = cause instanceof StorageError ? codeOfStorage(cause.code) : cause.code;
    const hints = [cause.hint, `what you typed is kept in ${path}`];
    const hint = hints.filter((each) => each !== undefined).join("\n");
    throw new DeaddropError(code, cause.message, { hint, cause });
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new DeaddropError("refused", "that is not JSON; nothing was changed", {
      hint: (cause as Error).message,
      cause,
    });
  }
}

async function save(at: AgentPlace, file: unknown): Promise<void> {
  const { paths } = at.place;
  checkSettings(file, paths.settings);
  saveSettings(at.host.disk, paths, file);
  await reloadDaemon(paths);
}
