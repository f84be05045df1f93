/** Whether somebody may see what is shown on a desktop. */
export function hasDesktop(
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): boolean {
  if (platform === "darwin") return true;
  const { DISPLAY, WAYLAND_DISPLAY, DBUS_SESSION_BUS_ADDRESS } = env;
  return [DISPLAY, WAYLAND_DISPLAY, DBUS_SESSION_BUS_ADDRESS].some((each) => each !== undefined);
}

/** The program, with its arguments, that shows a line of ours on the desktop. Spec 8.3. */
export function desktopCommand(
  platform: NodeJS.Platform,
  text: string,
): readonly [program: string, ...args: string[]] {
  if (platform !== "darwin") return ["notify-send", "--app-name=deaddrop", "--", "deaddrop", text];
  const script = [
    "on run words",
    'display notification (item 1 of words) with title "deaddrop"',
    "end run",
  ];
  return ["osascript", ...script.flatMap((line) => ["-e", line]), text];
}
