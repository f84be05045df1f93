import { userInfo } from "node:os";

/** The name of the user that we run as; its number where the host has no name for it (containers). */
export function userName(): string {
  try {
    return userInfo().username;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_SYSTEM_ERROR") throw error;
    return String(process.getuid?.() ?? "unknown");
  }
}
