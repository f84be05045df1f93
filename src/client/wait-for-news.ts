import type { Client } from "../api/client.ts";
import { DeaddropError } from "../api/errors.ts";
import { MAX_WAIT_MS } from "../api/service.ts";
import type { NewsView, WaitedFor } from "../api/views.ts";

/** How often it looks where no daemon takes in what peers write. */
export const WITHOUT_DAEMON_MS = 2_000;
/** A daemon that ends, or starts again, meanwhile: so many failures in a row are none of that. */
const MAX_FAILURES = 5;
const AFTER_FAILURE_MS = 500;

/** How long, and by whose clock. */
export interface Waiting {
  nowMs(): number;
  sleep(durationMs: number): Promise<void>;
  readonly endMs: number;
  /** The caller waits no longer. */
  hasGone?(): boolean;
  /** No daemon runs: told once. */
  onNoDaemon?(): void;
}

/**
 * Waits until there is something for the agent, and says what; or that there is nothing, when the
 * time is over. Spec 8.6. Throws DeaddropError.
 */
export async function waitForNews(
  client: Client,
  awaited: WaitedFor,
  { nowMs, sleep, endMs, hasGone = () => false, onNoDaemon }: Waiting,
): Promise<NewsView> {
  let saidSo = false;
  for (let failures = 0; ;) {
    const leftMs = Math.max(1, endMs - nowMs());
    try {
      const limitMs = Math.ceil(Math.min(leftMs, MAX_WAIT_MS));
      const news = await client.ask("wait", { for: awaited, limitMs });
      failures = 0;
      if (news.ready || hasGone() || nowMs() >= endMs) return news;
    } catch (error) {
      failures += 1;
      const mayPass = error instanceof DeaddropError && error.code === "storage";
      if (!mayPass || failures === MAX_FAILURES) throw error;
      await sleep(AFTER_FAILURE_MS);
    }
    if (client.viaDaemon) continue;
    if (!saidSo && client.readOnly === undefined) onNoDaemon?.();
    saidSo = true;
    await sleep(Math.min(WITHOUT_DAEMON_MS, Math.max(1, endMs - nowMs())));
    // Nobody but us takes in what peers write.
    await client.ask("tick");
  }
}
