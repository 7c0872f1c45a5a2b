#!/usr/bin/env python3
"""old_kernel.py COMMAND...: runs it with the system calls of Linux 4.18 (EL8): newer ones, such as pidfd_open, pidfd_send_signal and
close_range, are answered as that kernel does, with ENOSYS."""
import ctypes
import errno
import os
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, AT_LEAST, RETURN = 0x20, 0x35, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000
FIRST_NEWER = 424  # pidfd_send_signal; the same on all architectures
PIDFD_OPEN = 434


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def forget_newer_calls():
    """For this process and all that it starts. Raises OSError where the kernel has no filters of system calls."""
    steps = [(LOAD, 0, 0, 0), (AT_LEAST, 0, 1, FIRST_NEWER), (RETURN, 0, 0, FAIL | errno.ENOSYS), (RETURN, 0, 0, ALLOW)]
    program = Program(len(steps), b"".join(struct.pack("HBBI", *step) for step in steps))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no filter of system calls")
    if libc.syscall(PIDFD_OPEN, os.getpid(), 0) >= 0 or ctypes.get_errno() != errno.ENOSYS:
        raise OSError(0, "the filter has no effect")


if __name__ == "__main__":
    forget_newer_calls()
    os.execvp(sys.argv[1], sys.argv[1:])
