"""What a peer in Python does with each line: json.loads, canonical bytes, hash, signature.

Usage: python-peer.py KEY=LOG [KEY=LOG ...], KEY in hex. Prints the time that it took, as JSON.
Exits 3 where libsodium cannot be loaded.
"""

import base64
import ctypes
import ctypes.util
import hashlib
import json
import sys
import time

NAMES = [ctypes.util.find_library("sodium"), "libsodium.so.23", "libsodium.so.26"]
OMITTED = ("event_id", "public_key_id", "signature")


def load():
    for name in NAMES:
        try:
            library = ctypes.CDLL(name) if name else None
        except OSError:
            continue
        if library is not None and library.sodium_init() >= 0:
            return library
    print("libsodium cannot be loaded", file=sys.stderr)
    sys.exit(3)


def main():
    verify = load().crypto_sign_verify_detached
    verify.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulonglong, ctypes.c_char_p]
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode
    logs = [argument.split("=", 1) for argument in sys.argv[1:]]
    cpu, wall, valid = time.process_time(), time.perf_counter(), 0
    for key_hex, path in logs:
        key = bytes.fromhex(key_hex)
        with open(path, "rb") as log:
            for line in log:
                message = json.loads(line)
                event_id = message["event_id"]
                signature = base64.b64decode(message["signature"])
                for name in OMITTED:
                    del message[name]
                digest = hashlib.sha256(encode(message).encode()).digest()
                if digest.hex() == event_id and verify(signature, digest, 32, key) == 0:
                    valid += 1
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(json.dumps({"valid": valid, "wallMs": wall * 1000, "cpuMs": cpu * 1000}))


main()
