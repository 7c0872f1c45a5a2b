"""Libraries from source archives, offline: a wrong archive is refused; with the right ones muster builds without any
library of the system. The right ones are taken from $MUSTER_ARCHIVES; without it only the refusal is tested."""
import os
import subprocess
import sys
import tempfile

SOURCE = os.environ["MUSTER_SOURCE"]
ARCHIVES = os.environ.get("MUSTER_ARCHIVES", "")


def configure(build, archives):
    command = ["cmake", "-S", SOURCE, "-B", build, "-DMUSTER_SYSTEM_LIBRARIES=OFF", "-DMUSTER_TESTS=OFF", "-DMUSTER_MPICH=OFF",
               "-DMUSTER_ARCHIVES=" + archives]
    return subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, MUSTER_ARCHIVES=""))


with tempfile.TemporaryDirectory() as folder:
    wrong = os.path.join(folder, "archives")
    os.mkdir(wrong)
    with open(os.path.join(wrong, "fmt-9.1.0.tar.gz"), "wb") as out:
        out.write(b"not what it says")
    done = configure(os.path.join(folder, "refused"), wrong)
    assert done.returncode != 0, "a wrong archive was taken"
    assert "hash" in (done.stdout + done.stderr).lower(), done.stderr[-2000:]
    print("a wrong archive is refused by its hash")

    if not ARCHIVES or not os.path.isdir(ARCHIVES):
        print("the build from archives is left out: MUSTER_ARCHIVES names no folder with them")
        sys.exit(0)
    build = os.path.join(folder, "build")
    done = configure(build, ARCHIVES)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    done = subprocess.run(["cmake", "--build", build, "--parallel", "2"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:]
    done = subprocess.run([os.path.join(build, "bin", "muster"), "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("muster "), done
    print("built from archives:", done.stdout.strip())
