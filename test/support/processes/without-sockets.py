"""Runs a program that may make no UNIX socket: a seccomp filter answers EPERM, as sandboxes do."""

import ctypes
import os
import platform
import struct
import sys

AF_UNIX, EPERM = 1, 1
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
ALLOW, FAIL = 0x7FFF0000, 0x00050000 | EPERM
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
# Number of the system call `socket`.
SOCKET = {"x86_64": 41, "aarch64": 198}.get(platform.machine())

if SOCKET is None:
    sys.exit(f"no filter for {platform.machine()}")

program = [
    (LOAD, 0, 0, 0),  # the number of the call
    (EQUAL, 0, 3, SOCKET),
    (LOAD, 0, 0, 16),  # its first argument
    (EQUAL, 0, 1, AF_UNIX),
    (RETURN, 0, 0, FAIL),
    (RETURN, 0, 0, ALLOW),
]
code = b"".join(struct.pack("HBBI", *each) for each in program)
buffer = ctypes.create_string_buffer(code, len(code))


class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]


libc = ctypes.CDLL(None, use_errno=True)
filter_ = Filter(len(program), ctypes.addressof(buffer))
if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
    sys.exit("no_new_privs is refused")
if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(filter_), 0, 0) != 0:
    sys.exit(f"seccomp is refused: {os.strerror(ctypes.get_errno())}")
os.execvp(sys.argv[1], sys.argv[1:])
