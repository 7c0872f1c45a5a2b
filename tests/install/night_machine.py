"""A Debian of its own for one night: the files of this machine with muster installed among them, in namespaces, with cron or
systemd as process 1. Shared, not a test."""
import contextlib
import ctypes
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import installed  # noqa: E402

PR_SET_PDEATHSIG = 1  # linux/prctl.h
NAMESPACES = ("--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup")
# Starts process 1: `work`, a folder; `added`, files that this machine does not have; `program`, Python and this file; then the words of
# process 1.
# The kernel's settings are this machine's, so that no service of the other one may write them.
SET_UP = r"""
set -e
work=$1 added=$2 program=$3; shift 3
mount --make-rprivate /
mount -t tmpfs tmpfs "$work"
root=$work/root
mkdir "$work/upper" "$work/work" "$root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/work" "$root"
mount -t proc proc "$root/proc"
mount --bind -o ro "$root/proc/sys" "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
for folder in run tmp dev; do mount -t tmpfs -o mode=755 tmpfs "$root/$folder"; done
for device in null zero full random urandom tty; do
  : >"$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
$program >"$work/localtime"
mkdir "$root/old"
cd "$root"
pivot_root . old
cd /
# Only from here on are files written: a link with an absolute path would have led to the file of this machine.
chmod 1777 /tmp
mkdir /dev/shm /dev/pts /run/lock
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
rm -rf /etc/systemd/system /etc/cron.d /var/log /var/mail /var/lib/muster /root /etc/localtime /etc/machine-id
mkdir /etc/systemd/system /etc/cron.d /var/log /var/mail /root
cp "/old$work/localtime" /etc/localtime
: >/etc/machine-id
echo night >/etc/hostname
hostname night
ip link set lo up
cp -R --no-preserve=ownership --remove-destination "/old$added/." /
umount -l /old
exec env -i container=muster PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@" <&-
"""


def why_not():
    """Why this machine can't have another one in it; empty: it can."""
    if os.geteuid() != 0:
        return "namespaces with a root file system of their own need root"
    done = subprocess.run(["unshare", *NAMESPACES, "--fork", "sh", "-c", "mount --make-rprivate / && mount -t tmpfs tmpfs /mnt "
                           "&& mkdir /mnt/u /mnt/w /mnt/r && mount -t overlay o -o lowerdir=/,upperdir=/mnt/u,workdir=/mnt/w /mnt/r "
                           "&& mount -t cgroup2 c /mnt/w && mount -t sysfs -o ro s /mnt/r/sys"], capture_output=True, text=True)
    return "" if done.returncode == 0 else f"no namespaces, overlay or cgroup2 here: {done.stderr.strip()[:200]}"


def unified():
    """Where this machine's cgroup2 is mounted; None: nowhere."""
    for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
        words = line.split()
        if words[2] == "cgroup2" and os.access(words[1], os.W_OK):
            return pathlib.Path(words[1])
    return None


def local_time(seconds_to_two):
    """A time zone in which it is two o'clock in so many seconds, as the text of /etc/localtime."""
    now = int(time.time()) % 86400
    offset = (2 * 3600 - seconds_to_two - now + 43200) % 86400 - 43200
    body = struct.pack(">lBB", offset, 0, 0) + b"NIG\0"
    head = b"TZif2" + bytes(15) + struct.pack(">6l", 0, 0, 0, 0, 1, 4)
    sign, rest = ("-" if offset >= 0 else "+"), abs(offset)
    footer = f"\nNIG{sign}{rest // 3600}:{rest // 60 % 60:02}:{rest % 60:02}\n"
    return head + body + head + body + footer.encode()


class NotUp(Exception):
    """What ended before it was process 1, and its last words."""


class Machine:
    """With `with`: it and all of its processes are gone afterwards."""

    seconds_to_two = 5

    def __init__(self, muster, words, **files):
        """`muster`: folder with the package's files; `files`: text by path, in whose names `__` is a slash and `DOT` a dot."""
        self.folder = installed.temporary("night")
        self.added = self.folder / "added"
        shutil.copytree(muster, self.added, symlinks=True)
        self.words = words
        for path, text in files.items():
            self.put(path.replace("__", "/").replace("DOT", "."), text)
        self.cgroup = None

    def put(self, path, text, mode=0o644):
        target = self.added / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text if isinstance(text, bytes) else text.encode())
        target.chmod(mode)

    def enter_cgroup(self):
        """In the child: it also ends with the test, however that ends."""
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if self.cgroup:
            self.cgroup.mkdir()
            (self.cgroup / "cgroup.procs").write_text(str(os.getpid()))

    def __enter__(self):
        place = unified()
        self.cgroup = place / f"muster-{self.folder.name}" if place else None
        (self.folder / "work").mkdir()
        self.output = open(self.folder / "output", "wb")
        self.process = subprocess.Popen(
            ["unshare", *NAMESPACES, "--fork", "--kill-child", "sh", "-c", SET_UP, "sh", str(self.folder / "work"), str(self.added),
             f"{sys.executable} -ESB {__file__} {self.seconds_to_two}", *self.words], stdin=subprocess.DEVNULL, stdout=self.output, stderr=self.output,
            preexec_fn=self.enter_cgroup, start_new_session=True)
        self.first = self.find_first()
        return self

    def find_first(self):
        """Process 1 of the machine, as this one counts, once it is the program that was requested."""
        for _ in range(int(900 * installed.SLOWNESS)):
            with contextlib.suppress(OSError, ValueError, IndexError):
                children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
                if os.readlink(f"/proc/{children[0]}/exe") == os.path.realpath(self.words[0]):
                    return int(children[0])
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        said = self.said()
        self.__exit__()
        raise NotUp(f"{self.words[0]} did not come up as process 1: {said}")

    def said(self):
        return (self.folder / "output").read_text(errors="replace")

    def path(self, name):
        """A file of that machine, for this one."""
        return pathlib.Path(f"/proc/{self.first}/root/{name}")

    def inside(self, *words):
        """A command on that machine, as root with nothing in its environment."""
        return ["nsenter", "--target", str(self.first), *NAMESPACES, "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *words]

    def run(self, *words, limit=120):
        return subprocess.run(self.inside(*words), capture_output=True, text=True, timeout=limit * installed.SLOWNESS)

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.output.close()
        if self.cgroup:
            self.remove_cgroups()

    def remove_cgroups(self):
        """Its processes end with its first one, but not at once."""
        for _ in range(100):
            folders = sorted(self.cgroup.rglob("*/"), reverse=True) if self.cgroup.exists() else []
            for folder in [*folders, self.cgroup]:
                with contextlib.suppress(OSError):
                    folder.rmdir()
            if not self.cgroup.exists():
                return
            time.sleep(0.1)


if __name__ == "__main__":
    sys.stdout.buffer.write(local_time(int(sys.argv[1])))
