"""MPIs that Debian does not have, as modules of a site: Open MPI 5, MPICH 5 and Intel MPI. Shared, not a test.

MUSTER_TEST_MPIS names the folder with them, which tests/suite/mpis.py fills; `./dev test --all` does so."""
import functools
import hashlib
import os
import pathlib
import re
import shutil
import subprocess

import support

SOURCE = pathlib.Path(os.environ.get("MUSTER_SOURCE", ".")).resolve()
MPIS = pathlib.Path(os.environ.get("MUSTER_TEST_MPIS") or "/none")
NAMES = {"openmpi": "Open MPI 5.", "mpich": "MPICH (Hydra) 5.", "intel": "Intel MPI 20"}


def built():
    """Where the agents are built: kept, so that a further run builds what has changed."""
    return support.BUILD.resolve() / "mpis" / hashlib.sha256(str(MPIS.resolve()).encode()).hexdigest()[:8]


def has(name):
    return (MPIS / name / "bin" / "mpirun").exists()


def module(name):
    """What the module of that MPI sets."""
    root = MPIS / name

    def before(variable, folder):
        rest = os.environ.get(variable)
        return f"{root / folder}:{rest}" if rest else str(root / folder)

    env = {"PATH": before("PATH", "bin"), "LD_LIBRARY_PATH": before("LD_LIBRARY_PATH", "lib"), "CPATH": before("CPATH", "include"),
           "LIBRARY_PATH": before("LIBRARY_PATH", "lib")}
    return env | ({"I_MPI_ROOT": str(root)} if name == "intel" else {})


def configure(name, *options):
    """A build folder of its own, with the libraries of the build that is tested. The lines that CMake printed."""
    folder = built() / (name + "".join(re.sub(r"\W", "_", option) for option in options))[:80]
    ninja = ["-G", "Ninja"] if shutil.which("ninja") else []
    done = subprocess.run(["cmake", "-S", SOURCE, "-B", folder, *ninja, "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG",
                           "-DMUSTER_TEST_KINDS=system", "-DMUSTER_WERROR=OFF", "-DMUSTER_UNITY=ON", "-DMUSTER_NVCC=OFF",
                           f"-DMUSTER_LIBRARIES_OF={support.BUILD.resolve()}", *options],
                          env={**os.environ, **module(name)}, capture_output=True, text=True)
    return folder, done


@functools.cache
def agents(name):
    """The folder with the agents that a user of that module builds."""
    folder = built() / name
    if not (folder / "CMakeCache.txt").exists():
        folder, done = configure(name)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    targets = ["muster-rank-test"] + (["muster-rank-test-mpich"] if name == "openmpi" and shutil.which("mpicxx.mpich") else [])
    done = subprocess.run(["cmake", "--build", folder, "--parallel", str(len(os.sched_getaffinity(0))), "--target", *targets],
                          env={**os.environ, **module(name)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return folder / "bin"
