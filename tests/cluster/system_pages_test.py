"""Each page of docs/systems, followed from login to report: its commands as they stand there, on two virtual nodes that are
those of the system, with a real Slurm. What is not here (ssh, a site's modules, building) is answered by stand-ins;
house.system_pages_test lists it. The batch scripts of the pages run in cluster.site_jobs_test."""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import page_commands  # noqa: E402
import slurm_services  # noqa: E402
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
from on_site import site  # noqa: E402

PATIENCE_S = 240 * support.SLOWNESS
# What opens a shell on the nodes of a job: the rest of the block is typed there.
ALLOCATES = re.compile(r"^(salloc|idev) ")
# Checks that say whether a launch went right; the rest is run by the page's batch script.
QUICK = ("-n", "^(hello|environment|cpu_affinity)$")
# Name of a login node, where the profile knows one.
LOGINS = {"lumi": "uan01", "frontier": "login01", "perlmutter": "login01", "vista": "login1", "zurada": "login1"}


ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "NO_COLOR": "1", "COLUMNS": "200"}


class Page(support.EndToEnd):
    SYSTEM = ""
    SITE = ""  # of on_site, where its name is another

    @classmethod
    def setUpClass(cls):
        cls.context = site(cls.SITE or cls.SYSTEM)
        cls.site = cls.context.__enter__()
        answer_stand_ins(cls.site)

    @classmethod
    def tearDownClass(cls):
        cls.context.__exit__(None, None, None)

    def setUp(self):
        self.folder = support.new_folder()
        self.checkout = self.folder / "muster"
        self.checkout.mkdir()
        self.site.tool("muster", MUSTER.format(program=support.BIN / "muster", quick=" ".join(f"'{word}'" for word in QUICK),
                                               login=LOGINS[self.SYSTEM]))

    def type_in(self, commands):
        """As lines of a terminal on a login node; those after the one that allocates, on its nodes."""
        at = next((i for i, line in enumerate(commands) if ALLOCATES.match(line)), len(commands))
        (self.folder / "inside").write_text("set -e\n" + "\n".join(commands[at + 1:]) + "\n")
        inside = [f"{commands[at]} bash {self.folder}/inside"] if at < len(commands) else []
        (self.folder / "login").write_text("\n".join(["set -e", *commands[:at], *inside]) + "\n")
        done = subprocess.run(self.site.cluster.argv_on_login(["bash", str(self.folder / "login")]), cwd=self.folder,
                              env={**os.environ, **ENVIRONMENT, **self.site.environment(), "HOME": str(self.folder)}, capture_output=True, text=True, timeout=PATIENCE_S)
        self.said = done.stdout + done.stderr
        return done.returncode

    def from_login_to_report(self):
        block = page_commands.block(self.SYSTEM, "ssh ")
        self.assertEqual(self.type_in(block.commands()), 0, self.said)
        report = json.loads((self.checkout / "muster-runs/latest/report.json").read_text())
        self.assertEqual({case["verdict"] for case in report["cases"]}, {"pass"}, self.said)
        self.assertEqual(len(report["nodes"]), 2, self.said)
        self.assertEqual(report["simulated"], self.site.system.machine)
        # What the page says of `muster doctor`.
        said = re.search(r"muster doctor.*# says(?: that|:) (.*)", block.text).group(1)
        system = re.match(r"(\w+:[\w-]+)", said)
        self.assertIn(system.group(1) if system else f"{self.SYSTEM}:", self.said)
        if "this is a login node" in said:
            self.assertIn("login node", self.said)
        # `muster show` prints the report again.
        self.assertGreaterEqual(self.said.count(report["run_id"]), 2, self.said)


MUSTER = """#!/bin/sh
# On simulated nodes: as the page has it, with fewer checks, where it names none.
command=$1; shift
case "$command $*" in
run*' -n '*) exec {program} run --simulated "$@" ;;
run*) exec {program} run --simulated "$@" {quick} ;;
doctor*) exec unshare --uts sh -c 'hostname {login}; "$@" || test $? = 2' sh {program} doctor "$@" ;;
*) exec {program} $command "$@" ;;
esac
"""


CMAKE = """#!/bin/sh
# Where `cmake --install` has the agent with its libraries, the agent of the build under test.
[ "$1" = --install ] || {{ echo "cmake $*"; exit; }}
while [ "$1" != --prefix ]; do shift; done
mkdir -p "$2/lib/muster/bundle" && ln -s {agent} "$2/lib/muster/bundle/"
"""


def answer_stand_ins(one):
    """house.system_pages_test says why each is one."""
    one.tool("ssh", "#!/bin/sh\necho \"$(basename $0) $*\"\n")
    one.tool("cmake", CMAKE.format(agent=support.BIN / "muster-rank"))
    one.tool("idev", """#!/bin/bash
# TACC's: a job of that shape, and a shell in it. The virtual cluster is asked by salloc.
while [[ $1 == -* ]]; do
  case $1 in -tpn) options+=(--ntasks-per-node=$2) ;; *) options+=($1 $2) ;; esac
  shift 2
done
exec salloc --quiet "${options[@]}" "$@"
""")


class Lumi(Page):
    SYSTEM = "lumi"

    def test_from_login_to_report(self):
        self.from_login_to_report()

    def in_a_job(self, commands):
        shape = "salloc --quiet --partition=dev-g --nodes=2 --exclusive --ntasks-per-node=8 --gpus-per-node=8 --mem=480G"
        return self.type_in([shape, *commands])

    def test_in_a_container(self):
        """In a stand-in for singularity: the image is the node itself."""
        commands = [line for line in page_commands.block("lumi", "module use").commands() if "-t pytorch" not in line]
        commands = [line if not line.startswith("SIF=") else "SIF=/appl/local/laifs/containers/image.sif" for line in commands]
        self.assertEqual(self.in_a_job(commands), 0, self.said)
        report = json.loads((self.folder / "muster-runs/latest/report.json").read_text())
        self.assertIn("singularity", report["launches"][0]["argv"])
        self.assertEqual(report["launches"][0]["argv"][-1], str(self.folder / "muster-agent/lib/muster/bundle/muster-rank"))
        self.assertEqual({case["verdict"] for case in report["cases"]}, {"pass"}, self.said)

    def test_checks_with_published_figures(self):
        """Messages from GPU memory by MPI: Cray's takes them, and Debian's does not, which is what the command says here."""
        command = page_commands.block("lumi", "MPICH_GPU_SUPPORT_ENABLED=1").commands()[0]
        self.in_a_job([f"{command} || test $? = 2"])
        report = json.loads((self.folder / "muster-runs/latest/report.json").read_text())
        (case,) = report["cases"]
        self.assertEqual(case["check"], command.split()[-1], self.said)
        self.assertEqual(case["verdict"], "error", self.said)
        self.assertIn("does not report whether it takes messages from GPU memory", case["reason"], self.said)


class Frontier(Page):
    SYSTEM = "frontier"

    def test_from_login_to_report(self):
        self.from_login_to_report()


class Perlmutter(Page):
    SYSTEM = "perlmutter"

    def test_from_login_to_report(self):
        self.from_login_to_report()


class Vista(Page):
    SYSTEM = "vista"

    def test_from_login_to_report(self):
        self.from_login_to_report()


class Zurada(Page):
    SYSTEM = "zurada"
    SITE = "zurada-gpu1h100"

    def test_from_login_to_report(self):
        self.from_login_to_report()
        report = json.loads((self.checkout / "muster-runs/latest/report.json").read_text())
        # One for the GPU that a node of this partition has, and not one for each core.
        case = next(case for case in report["cases"] if case["check"] == "cpu_affinity")
        self.assertEqual(len(case["rank_rows"]), 2, self.said)

    def test_the_address_of_bond0(self):
        command = page_commands.block("zurada", "export MASTER_ADDR").commands()[0]
        setup = "ip link add bond0 type bridge && ip addr add 10.9.8.7/24 dev bond0 && ip link set bond0 up"
        done = subprocess.run(["unshare", "--net", "bash", "-c", f"{setup} && {command} && echo $MASTER_ADDR"], capture_output=True, text=True)
        if done.returncode != 0 and "jq: command not found" in done.stderr:
            raise unittest.SkipTest("there is no jq")
        self.assertEqual(done.stdout.split()[-1], "10.9.8.7", done.stderr)


if __name__ == "__main__":
    reason = vc.why_not() or slurm_services.why_not()
    if reason:
        support.skip(reason)
    support.main(("mpirun", "srun"))
