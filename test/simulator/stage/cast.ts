/** The handle of the member who means harm, in plays that have one. */
export const HOSTILE = "vane";

/** The handle of the member that is honest and does not chain, as the Python reference is. */
export const PLAIN = "python";
