"""Every public header compiles alone; with MUSTER_EVERY_HEADER (./dev test --all) every other header of the house, too."""
import concurrent.futures
import os
import subprocess
import sys

SOURCE = os.environ["MUSTER_SOURCE"]
BUILD = os.environ["MUSTER_BUILD"]


def cache(name, default):
    with open(os.path.join(BUILD, "CMakeCache.txt")) as lines:
        for line in lines:
            if line.startswith(name + ":"):
                return line.split("=", 1)[1].strip() or default
    return default


def include_folders():
    """Folders of libraries that were unpacked below the build folder."""
    deps = os.path.join(BUILD, "_deps")
    if not os.path.isdir(deps):
        return []
    return [os.path.join(deps, name, "include") for name in os.listdir(deps) if name.endswith("-src")]


def compile_alone(header):
    command = [cache("CMAKE_CXX_COMPILER", "c++"), "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-x", "c++",
               "-I" + os.path.join(SOURCE, "include"), "-I" + os.path.join(SOURCE, "src"),
               "-I" + os.path.join(BUILD, "include"), '-DMUSTER_VERSION="test"', "-"]
    command[-1:-1] = [flag for folder in include_folders() for flag in ("-isystem", folder)]
    # Twice: a header without a guard shows itself.
    text = f'#include "{header}"\n#include "{header}"\n'
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    return header, done.returncode, done.stderr


headers = []
for root in ("include", "src") if os.environ.get("MUSTER_EVERY_HEADER") else ("include",):
    for folder, _, names in os.walk(os.path.join(SOURCE, root)):
        if os.path.join("src", "comm", "mpi") in folder:
            continue  # needs the flags of an MPI; compiled with the agent
        headers += [os.path.relpath(os.path.join(folder, n), os.path.join(SOURCE, root)) for n in names if n.endswith(".hpp")]

with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    results = list(pool.map(compile_alone, sorted(headers)))
failed = [r for r in results if r[1] != 0]
for header, _, stderr in failed:
    print(f"{header} does not compile alone:\n{stderr}")
print(f"{len(results) - len(failed)} of {len(results)} headers compile alone")
sys.exit(1 if failed or len(results) < 10 else 0)
