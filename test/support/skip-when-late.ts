import { beforeEach } from "vitest";
import { isTimeUp, TIME_IS_UP } from "./time-limit.ts";

/** For `setupFiles`: a test that would begin too late is skipped, and counted as that. */
beforeEach(({ skip }) => skip(isTimeUp(), TIME_IS_UP));
