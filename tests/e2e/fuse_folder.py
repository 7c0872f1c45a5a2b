"""As a user's FUSE server that shows files of root's: fuse_folder.py SOURCE PLACE USER [silent] mounts SOURCE, a folder or a file, at PLACE, read-only, in
the name of USER. Prints `mounted`, serves until it is ended (silent: but no open); the mount goes with it."""
import ctypes
import errno
import os
import stat
import struct
import sys

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, BATCH_FORGET = 1, 2, 3, 14, 15, 17, 18, 25, 26, 27, 28, 29, 42
LONG = 3600  # seconds for which the kernel may keep an answer


class Files:
    """Paths by the number of their node; 1 is the folder itself."""

    def __init__(self, source):
        self.paths = {1: source}

    def node_of(self, path):
        for node, known in self.paths.items():
            if known == path:
                return node
        self.paths[len(self.paths) + 1] = path
        return len(self.paths)

    def attributes(self, node):
        seen = os.lstat(self.paths[node])
        kind = stat.S_IFDIR | 0o755 if stat.S_ISDIR(seen.st_mode) else stat.S_IFREG | (seen.st_mode & 0o755)
        return struct.pack("<6Q10I", node, seen.st_size, seen.st_blocks, 0, 0, 0, 0, 0, 0, kind, 1, 0, 0, 0, 4096, 0)

    def entries(self, node, offset, size):
        text = b""
        for at, name in list(enumerate(sorted(os.listdir(self.paths[node])), 1))[offset:]:
            name = name.encode()
            one = struct.pack("<QQII", at, at, len(name), 0) + name
            one += bytes(-len(one) % 8)
            if len(text) + len(one) > size:
                break
            text += one
        return text

    def read(self, node, offset, size):
        with open(self.paths[node], "rb") as file:
            file.seek(offset)
            return file.read(size)

    def answer(self, call, node, body):
        """The answer's bytes; None: the kernel waits for none."""
        if call == INIT:
            return struct.pack("<4I2H2I2HI28x", 7, 31, 65536, 0, 12, 9, 65536, 1, 0, 0, 0)
        if call in (FORGET, BATCH_FORGET):
            return None
        if call == LOOKUP:
            path = os.path.join(self.paths[node], os.fsdecode(body[:body.index(b"\0")]))
            found = self.node_of(path) if os.path.lexists(path) else 0
            if found == 0:
                raise OSError(errno.ENOENT, path)
            return struct.pack("<4Q2I", found, 0, LONG, LONG, 0, 0) + self.attributes(found)
        if call == GETATTR:
            return struct.pack("<QII", LONG, 0, 0) + self.attributes(node)
        if call in (OPEN, OPENDIR):
            return struct.pack("<QII", 0, 0, 0)
        if call in (READ, READDIR):
            _, offset, size = struct.unpack_from("<QQI", body)
            return (self.read if call == READ else self.entries)(node, offset, size)
        if call == STATFS:
            return bytes(80)
        if call in (RELEASE, RELEASEDIR, FLUSH):
            return b""
        raise OSError(errno.ENOSYS, str(call))


def main():
    source, place, user = sys.argv[1:4]
    kind = 40000 if os.path.isdir(source) else 100000
    libc = ctypes.CDLL(None, use_errno=True)
    server = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={server},rootmode={kind},user_id={user},group_id={user},default_permissions,allow_other".encode()
    if libc.mount(b"shown", place.encode(), b"fuse", 2 | 4, options) != 0:  # nosuid, nodev
        sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
    print("mounted", flush=True)
    files = Files(source)
    while True:
        try:
            message = os.read(server, 1 << 20)
        except OSError:  # not mounted any more
            return
        _, call, unique, node = struct.unpack_from("<IIQQ", message)
        if call in (OPEN, OPENDIR) and sys.argv[4:] == ["silent"]:
            continue
        error, answer = 0, b""
        try:
            answer = files.answer(call, node, message[40:])
        except OSError as problem:
            error = problem.errno
        if answer is not None:
            os.write(server, struct.pack("<IiQ", 16 + len(answer), -error, unique) + answer)


main()
