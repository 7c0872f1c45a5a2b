"""A root file system with a C library and a shell, and nothing else: a container's image without MPI and hwloc. Shared, not
a test."""
import os
import pathlib
import shutil
import subprocess

# What every container has; the loader under the name that programs ask for.
LIBRARIES = ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libresolv.so.2")
FOLDERS = ("bin", "dev", "proc", "sys", "tmp", "etc", "muster")


def why_not():
    """Why this machine can't have one; empty: it can."""
    if os.geteuid() != 0:
        return "chroot needs root"
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode != 0:
        return "no mount namespaces here"
    return ""


def loader():
    """`/lib64/ld-linux-x86-64.so.2`, as a program of this machine names it."""
    said = subprocess.run(["readelf", "-l", "/bin/sh"], capture_output=True, text=True, check=True).stdout
    return next(line.split(": ")[1].rstrip("]") for line in said.splitlines() if "interpreter" in line)


def make(root):
    for folder in FOLDERS:
        (root / folder).mkdir(parents=True)
    shutil.copy("/bin/sh", root / "bin/sh")
    known = subprocess.run(["ldd", "/bin/sh"], capture_output=True, text=True, check=True).stdout
    beside = pathlib.Path(next(line.split()[2] for line in known.splitlines() if "libc.so.6" in line)).parent
    places = [pathlib.Path(loader()), *(beside / name for name in LIBRARIES)]
    for path in places:
        if path.exists():
            (root / path.relative_to("/")).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, root / path.relative_to("/"))
    return root


def wrapper(path, root, bound):
    """A program that runs what follows it in `root`, with the kernel's folders and /tmp of this machine, and `bound` as
    /muster."""
    path.write_text(f"""#!/bin/sh
exec unshare --mount sh -c '
for folder in dev proc sys tmp; do mount --rbind /$folder {root}/$folder || exit 1; done
mount --bind {bound} {root}/muster || exit 1
exec chroot {root} "$@"' sh "$@"
""")
    path.chmod(0o755)
    return path
