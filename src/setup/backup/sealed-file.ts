import { DeaddropError } from "../../api/errors.ts";
import { quote } from "../../wire/quote.ts";

const INTRO = "age-encryption.org/v1\n";
const SCRYPT = "-> scrypt ";
const SHOWN_ERROR = 120;

/** Encrypts with a passphrase in the age format: `age -d` opens it without us. */
export async function seal(bytes: Uint8Array, passphrase: string): Promise<Uint8Array> {
  const { Encrypter } = await age();
  const encrypter = new Encrypter();
  encrypter.setPassphrase(passphrase);
  return await encrypter.encrypt(bytes);
}

/** Decrypts what `seal` made. Throws "refused" with what is wrong; `file` is for the message. */
export async function unseal(
  bytes: Uint8Array,
  passphrase: string,
  file: string,
): Promise<Uint8Array> {
  const head = Buffer.from(bytes.subarray(0, INTRO.length + SCRYPT.length)).toString("latin1");
  if (!head.startsWith(INTRO)) {
    throw new DeaddropError("refused", `${file}: is no backup: it does not begin as an age file`, {
      hint: "give the file that `deaddrop backup` wrote, as it was",
    });
  }
  if (head !== INTRO + SCRYPT) {
    throw new DeaddropError("refused", `${file}: is encrypted to a key, not with a passphrase`, {
      hint: "`deaddrop backup` encrypts with a passphrase: this is some other age file",
    });
  }
  const { Decrypter } = await age();
  const decrypter = new Decrypter();
  decrypter.addPassphrase(passphrase);
  try {
    return await decrypter.decrypt(bytes);
  } catch (cause) {
    throw notOpened(file, cause);
  }
}

/** Half a megabyte of code that only these two commands need. */
function age() {
  return import("age-encryption");
}

function notOpened(file: string, cause: unknown): DeaddropError {
  const said = cause instanceof Error ? cause.message : String(cause);
  if (said.startsWith("no identity matched")) {
    return new DeaddropError("refused", `${file}: the passphrase is wrong; nothing was written`, {
      hint: "try again; without its passphrase nobody can open a backup",
      cause,
    });
  }
  const why = quote(said, SHOWN_ERROR);
  return new DeaddropError("refused", `${file}: is damaged (${why}); nothing was written`, {
    hint: "take another copy of it, or an older backup",
    cause,
  });
}
