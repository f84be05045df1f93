import { verifyEach, type VerifyAll } from "../../src/wire/signature.ts";

/** Checks signatures at once and in this thread. */
export const verifyHere: VerifyAll = (items) => Promise.resolve(verifyEach(items));
