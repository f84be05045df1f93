import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DEFAULT_SETTINGS, readAgentSettings } from "../../src/agent/config/settings.ts";
import {
  checkSettings,
  SETTINGS,
  settingNamed,
  settingValue,
  withSetting,
} from "../../src/setup/settings-table.ts";
import { settingsDocument } from "./settings-document.ts";

describe("the table of settings", () => {
  it("is what docs/settings.md says", () => {
    const path = join(import.meta.dirname, "..", "..", "docs", "settings.md");
    expect(readFileSync(path, "utf8")).toBe(settingsDocument());
  });

  it("has the defaults of the daemon, and each setting changes what the daemon reads", () => {
    const defaults = Object.fromEntries(SETTINGS.map(({ key, byDefault }) => [key, byDefault]));
    expect(readAgentSettings(defaults, "settings.json")).toEqual(DEFAULT_SETTINGS);
    for (const setting of SETTINGS) {
      const texts = {
        flag: String(setting.byDefault === false),
        handles: "scribe, mason",
        hours: "0.5",
        number: "7",
        command: '["true"]',
        times: "22:00-07:00",
      };
      const file = withSetting(undefined, setting.key, settingValue(setting, texts[setting.kind]));
      expect(readAgentSettings(file, "settings.json")).not.toEqual(DEFAULT_SETTINGS);
    }
  });

  it("knows every setting of the daemon", () => {
    const { hooks, wake, ...others } = DEFAULT_SETTINGS;
    const count = [others, hooks, wake].flatMap((each) => Object.keys(each)).length;
    expect(SETTINGS).toHaveLength(count);
  });

  it("refuses what is no setting, and values that are none", () => {
    expect(() => settingNamed("colour")).toThrow('there is no setting "colour"');
    expect(() => settingValue(settingNamed("guard.strict"), "yes")).toThrow(
      'guard.strict: "yes" is neither true nor false',
    );
    expect(() => settingValue(settingNamed("peers"), "a,../b")).toThrow('"../b" is not a handle');
    expect(() => {
      checkSettings({ colour: "red" }, "settings.json");
    }).toThrow("no setting");
  });

  it.each(["notify-send", '{"a":1}', '["a', "", "5"])("takes no %s for a command", (text) => {
    expect(() => settingValue(settingNamed("hooks.on_notice"), text)).toThrow("no list in JSON");
  });

  it.each([[[""]], [["a", 1]], [["a\0b"]], [["x".repeat(5_000)]], [Array(65).fill("a")], ["a"]])(
    "does not start with the command %j",
    (command) => {
      expect(() => {
        checkSettings({ "hooks.on_notice": command }, "settings.json");
      }).toThrow("hooks.on_notice must be a list of a program and its arguments");
    },
  );

  it("bounds the numbers of hooks", () => {
    for (const [key, value] of [
      ["hooks.timeout_seconds", 0],
      ["hooks.runs_per_hour", 100_000],
      ["hooks.runs_per_hour", "20"],
    ] as const) {
      expect(() => {
        checkSettings({ [key]: value }, "settings.json");
      }).toThrow(`${key} must be a number from 1 to`);
    }
  });

  it("puts a default back by leaving the setting out", () => {
    const file = { peers: ["scribe"], "guard.strict": true };
    expect(withSetting(file, "peers", undefined)).toEqual({ "guard.strict": true });
  });
});
