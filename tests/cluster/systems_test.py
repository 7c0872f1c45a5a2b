"""The five systems, healthy, as their profiles describe them: two virtual nodes each, with all ranks that the site documents."""
import os
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
MACHINES = HERE.parent.parent / "machines"
TIMED = ("allreduce", "hello", "p2p", "training")


class Systems(OnSharedNodes):
    NODES = NODES

    def run_on(self, system, machine, ranks, *options, faults=(), edit=None):
        """The default checks, as anybody would start them there, on two nodes that pretend."""
        folder = support.new_folder()
        run = Run(ONLY_A_PROFILE, "--simulated", "--system", system, "--nodes", ",".join(NODES), "--ranks-per-node", str(ranks), "--launcher", "mpirun",
                  *options, folder=folder, wrapper=self.cluster.argv_on_login([]),
                  env={**self.cluster.environment(), "MUSTER_MACHINE": str(folder / "machine"), "MUSTER_STARTUP_TIMEOUT": "120",
                       "MUSTER_DRIVERS": str(support.BUILD.resolve() / "drivers")})
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

    def healthy(self, system, machine, ranks):
        run = self.run_on(system, machine, ranks)
        cases = {case["check"]: case for case in run.report()["cases"]}
        self.assertEqual((run.status, {name: case["reason"] for name, case in cases.items() if case["verdict"] != "pass"}),
                         (0, {}), run.story())
        self.assertEqual(run.report()["simulated"], machine)
        if os.environ.get("MUSTER_TEST_TIMES"):
            print(system, round(run.seconds, 1), {name: round(case["seconds"], 1) for name, case in cases.items()})
        self.assertEqual({case["ranks"] for case in cases.values()}, {2 * ranks})
        self.assertLessEqual({"device_visibility", "network_interfaces", "gpu_mapping", "cpu_affinity", "environment", *TIMED}, set(cases))
        for name in TIMED:
            self.assertIn(f"timing is not judged: simulated machine {machine}", cases[name]["notes"], name)
        said = cases["environment"]["evidence"]
        self.assertTrue([one for one in said if one.startswith("nodes are as the profile says: ")], said)
        self.assertEqual([note for note in cases["environment"]["notes"] if "the profile" in note], [], "as the profile wants it")
        return cases

    def test_lumi(self):
        self.healthy("lumi", "lumi-g", 8)

    def test_frontier(self):
        self.healthy("frontier", "frontier", 8)

    def test_perlmutter(self):
        self.healthy("perlmutter", "perlmutter", 4)

    def test_vista(self):
        self.healthy("vista", "vista", 1)

    def test_zurada(self):
        self.healthy("zurada:gpu1h100", "zurada-gpu1h100", 1)
        self.healthy("zurada:gpu2h100", "zurada-gpu2h100", 2)

    def test_what_is_not_verified_is_a_note(self):
        run = self.run_on("zurada:gpu1h100", "zurada-gpu1h100", 1, "-n", "^environment$",
                          edit=('NCCL_SOCKET_IFNAME       = "bond0"', 'NCCL_SOCKET_IFNAME       = "ib0"'))
        case = run.case("environment")
        self.assertEqual((run.status, case["verdict"]), (0, "pass"), run.story())
        self.assertEqual(len([note for note in case["notes"] if "not verified: the recipe for several nodes" in note]), 1, case)

    def test_what_hangs_jobs_fails(self):
        run = self.run_on("lumi", "lumi-g", 8, "-n", "^environment$", faults=["memhooks"])
        case = run.case("environment")
        self.assertEqual(case["verdict"], "fail", run.story())
        self.assertIn("the profile wants anything but \"memhooks\"", case["reason"])
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
