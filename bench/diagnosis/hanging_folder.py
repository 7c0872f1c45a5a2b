"""Mounts a file system at a folder and never answers, as a server that has gone: hanging_folder.py FOLDER. Prints `mounted`, then waits
to be ended; the mount goes with it."""
import ctypes
import os
import signal
import sys

NO_DEVICES = 2 | 4  # MS_NOSUID, MS_NODEV


def main():
    libc = ctypes.CDLL(None, use_errno=True)
    server = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={server},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
    if libc.mount(b"hanging", sys.argv[1].encode(), b"fuse", NO_DEVICES, options) != 0:
        sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
    print("mounted", flush=True)
    while True:
        signal.pause()


main()
