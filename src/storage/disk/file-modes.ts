/** Of a file that only its owner reads and writes. */
export const PRIVATE_FILE = 0o600;
/** Of a folder that only its owner enters. */
export const PRIVATE_FOLDER = 0o700;
