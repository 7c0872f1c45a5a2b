"""An installed tree of the build under test, for the tests of this folder. Not a test."""
import atexit
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
BUILD = pathlib.Path(os.environ.get("MUSTER_BUILD", "build/dev")).resolve()
SOURCE = pathlib.Path(os.environ.get("MUSTER_SOURCE", ".")).resolve()
SLOWNESS = float(os.environ.get("MUSTER_TEST_SLOWNESS", "1"))


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def cache(name):
    for line in (BUILD / "CMakeCache.txt").read_text().splitlines():
        if line.startswith(name + ":"):
            return line.split("=", 1)[1]
    return ""


def temporary(name):
    """In a folder that only we may write: plug-ins below others are refused."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"muster-{name}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def environment(**more):
    """Without the settings of whoever runs the tests."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("MUSTER_")}
    return {**kept, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "NO_COLOR": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "LC_ALL": "C.UTF-8", **more}


def run(*words, status=0, env=None, cwd=None, limit=120):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, env=env or environment(),
                          cwd=cwd, timeout=limit * SLOWNESS, check=False)
    if status is not None and done.returncode != status:
        raise AssertionError(f"{' '.join(map(str, words))}: {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done


def configured_anew(folder, *settings):
    """The build under test, configured once more with `settings` in a folder of its own. What was built is copied: nothing is compiled."""
    folder.mkdir()
    cached = (BUILD / "CMakeCache.txt").read_text().replace(str(BUILD), str(folder))
    (folder / "CMakeCache.txt").write_text(cached)
    for found in BUILD.glob("CMakeFiles/*/CMakeCXXCompiler.cmake"):  # what configuration learned of the compiler
        shutil.copytree(found.parent, folder / "CMakeFiles" / found.parent.name, ignore=shutil.ignore_patterns("*.dir"))
    run("cmake", *(f"-D{setting}" for setting in settings), folder)
    for script in folder.rglob("cmake_install.cmake"):
        for name in re.findall(rf'"{re.escape(str(folder))}/([^"]+)"', script.read_text()):
            built, copy = BUILD / name, folder / name
            if built.is_dir() and not copy.exists():
                shutil.copytree(built, copy)
            elif built.is_file() and not copy.exists():
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(built, copy)
    return folder


def install(prefix):
    """What `cmake --install` copies; programs are stripped, which makes them small."""
    run("cmake", "--install", BUILD, "--prefix", prefix, "--strip")
    return prefix
