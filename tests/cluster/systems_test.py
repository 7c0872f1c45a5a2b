"""What the profiles of the five systems say of nodes that are not as they should be: two virtual nodes. Healthy ones: site_jobs_test.py."""
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
from on_nodes import OnSharedNodes  # noqa: E402
from support import Run  # noqa: E402

NODES = ("nid001", "nid002")
# With profiles alone the checks are muster's own.
ONLY_A_PROFILE = '[system]\nname = "nothing"\n[[partition]]\nname = "p"\n'
MACHINES = HERE.parent.parent / "simulation/machines"


class Systems(OnSharedNodes):
    NODES = NODES

    def run_on(self, system, machine, ranks, *options, faults=(), edit=None):
        """Two nodes that pretend to be the machine; nothing binds ranks, for the nodes' own launcher daemons have another topology."""
        folder = support.new_folder()
        run = Run(ONLY_A_PROFILE, "--simulated", "--system", system, "--nodes", ",".join(NODES), "--ranks-per-node", str(ranks), "--launcher", "mpirun",
                  "--bind", "none", *options, folder=folder, wrapper=self.cluster.argv_on_login([]),
                  env={**self.cluster.environment(), "MUSTER_MACHINE": str(folder / "machine"), "MUSTER_STARTUP_TIMEOUT": "120",
                       "MUSTER_DRIVERS": str(support.STAND_INS)})
        self.addCleanup(run.clean)
        words = [word for fault in faults for word in ("--fault", fault)]
        source = machine
        if edit:
            source = folder / f"{machine}.toml"
            source.write_text((MACHINES / source.name).read_text().replace(*edit))
        subprocess.run([support.DRIVER, "machine", source, "--write", folder / "machine", "--nodes", ",".join(NODES), *words],
                       check=True, stdout=subprocess.DEVNULL)
        run.start()
        run.wait(200)
        return run

    def test_what_is_not_verified_is_a_note(self):
        run = self.run_on("zurada:gpu1h100", "zurada-gpu1h100", 1, "-n", "^environment$",
                          edit=('MASTER_ADDR              = "10.10.0.1"', 'MASTER_ADDR              = "192.168.0.1"'))
        case = run.case("environment")
        self.assertEqual((run.status, case["verdict"]), (0, "pass"), run.story())
        self.assertEqual(len([note for note in case["notes"] if "not verified: the recipe for several nodes" in note]), 1, case)

    def test_what_hangs_jobs_fails(self):
        run = self.run_on("lumi", "lumi-g", 8, "-n", "^environment$", faults=["memhooks"])
        case = run.case("environment")
        self.assertEqual(case["verdict"], "fail", run.story())
        self.assertIn("the profile requires anything but \"memhooks\"", case["reason"])
        self.assertEqual([culprit["name"] for culprit in case["culprits"]], ["FI_MR_CACHE_MONITOR"])

    def test_the_nodes_of_another_system(self):
        run = self.run_on("perlmutter", "lumi-g", 8, "-n", "^environment$", "-n", "device_visibility")
        self.assertEqual({case["verdict"] for case in run.report()["cases"]}, {"fail"}, run.story())
        self.assertIn("processors called \"AMD EPYC 7A53", run.case("environment")["reason"])


if __name__ == "__main__":
    reason = vc.why_not()
    if reason:
        support.skip(reason)
    support.main()
