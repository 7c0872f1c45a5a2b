"""Configures and builds one preset, and prints how far it is."""
import os
import re
import shutil
import subprocess
import sys
import time

from .names import SOURCE

OUTDATED = "has been modified since the precompiled header"
PROGRESS = re.compile(r"^\[(\d+)/(\d+)\]")


class Failed(Exception):
    """A build that failed; its output was printed."""


def say(text):
    print(text, flush=True)


def environment(preset):
    env = dict(os.environ)
    if shutil.which("ninja"):
        env.setdefault("CMAKE_GENERATOR", "Ninja")
    if shutil.which("ccache"):
        env.setdefault("CMAKE_CXX_COMPILER_LAUNCHER", "ccache")
        # Precompiled headers, times of headers and the language of messages differ where the code does not.
        env.setdefault("CCACHE_SLOPPINESS", "pch_defines,time_macros,locale")
    if preset in ("asan", "tsan") and shutil.which("ld.lld"):
        env.setdefault("LDFLAGS", "-fuse-ld=lld")
    return env


def configure(preset, with_all=False):
    """`with_all`: what only `./dev test --all` has, too: all tests of base and run under the thread sanitizer."""
    folder = SOURCE / "build" / preset
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "configure.log"
    say(f"== configuring build/{preset}")
    with open(log, "wb") as out:
        done = subprocess.run(["cmake", "--preset", preset, f"-DMUSTER_THREADS_ALL={'ON' if with_all else 'OFF'}"], cwd=SOURCE, env=environment(preset), stdout=out, stderr=out)
    if done.returncode != 0:
        sys.stderr.write("".join(log.read_text(errors="replace").splitlines(True)[-40:]))
        raise Failed(f"build/{preset} could not be configured; all that CMake said is in {log.relative_to(SOURCE)}")


def build(preset, targets, jobs, folder=None):
    """Raises Failed with the compiler's words printed. `folder`: of tests, in the place of build/PRESET."""
    folder = folder or SOURCE / "build" / preset
    log = folder / "build.log"
    say(f"== building build/{preset}: {' '.join(targets)}")
    status = build_once(preset, targets, jobs, folder, log)
    # dpkg gives a header of a new package the time at which the package was made, which may be earlier than ours: Ninja does not see it.
    if status != 0 and OUTDATED in log.read_text(errors="replace"):
        say("   headers of the system have changed: building the precompiled headers again")
        for header in folder.rglob("*.pch"):
            header.unlink()
        status = build_once(preset, targets, jobs, folder, log)
    if status != 0:
        sys.stderr.write("".join(log.read_text(errors="replace").splitlines(True)[-60:]))
        raise Failed(f"build/{preset} failed; all of it is in build/{preset}/build.log")


def build_once(preset, targets, jobs, folder, log):
    """The exit status of the build."""
    began = last = time.monotonic()
    command = ["cmake", "--build", str(folder), "--parallel", str(jobs), "--target", *targets]
    with open(log, "wb") as out, subprocess.Popen(command, cwd=SOURCE, env=environment(preset), stdout=subprocess.PIPE,
                                                  stderr=subprocess.STDOUT) as process:
        for line in process.stdout:
            out.write(line)
            found = PROGRESS.match(line.decode(errors="replace"))
            if found and time.monotonic() - last > 20:
                last = time.monotonic()
                minutes = (last - began) / 60
                left = minutes / int(found[1]) * (int(found[2]) - int(found[1]))
                say(f"   {found[1]} of {found[2]} steps in {minutes:.1f} min, about {left:.0f} min left")
    say(f"   {(time.monotonic() - began) / 60:.1f} min")
    return process.returncode
