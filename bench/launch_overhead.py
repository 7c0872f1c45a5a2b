"""100 cases of `hello` on 2 ranks against one bare `mpirun -n 2` of an MPI hello program, side by side.

usage: launch_overhead.py FOLDER-WITH-MUSTER [ROUNDS]
"""
import os
import statistics
import subprocess
import sys
import tempfile

from measure import interleaved, line

PROGRAM = r"""
#include <mpi.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}
"""

muster = os.path.join(os.path.abspath(sys.argv[1]), "muster")
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
with tempfile.TemporaryDirectory() as folder:
    source = os.path.join(folder, "hello.cpp")
    with open(source, "w") as out:
        out.write(PROGRAM)
    bare = os.path.join(folder, "hello")
    subprocess.run(["mpicxx", "-O2", "-DOMPI_SKIP_MPICXX", source, "-o", bare], check=True)
    commands = {
        "mpirun -n 2, MPI_Init + barrier + finalize": ["mpirun", "-n", "2", bare],
        "muster run -n hello --repeat 100, 2 ranks": [muster, "run", "-n", "hello", "--repeat", "100", "--ranks-per-node", "2"],
    }
    times = interleaved(commands, rounds, cwd=folder)
    for name, values in times.items():
        print(line(name, values))
    one, many = (statistics.median(values) for values in times.values())
    print(f"100 cases take {many / one:.2f} times one bare launch (budget: 1.2)")
