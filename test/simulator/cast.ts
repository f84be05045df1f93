/** The handle of the member who means harm, in plays that have one. */
export const HOSTILE = "vane";
